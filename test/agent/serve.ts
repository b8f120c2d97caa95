/**
 * Drives `serve`: the agent as a server, steered over its own HTTP API the way any client of it would. Answers
 * given by these calls are the local user's; the plugin is not involved.
 */
import { type Bus, openBus } from "./bus.ts"
import { startChild } from "./child.ts"
import type { Sandbox } from "./sandbox.ts"
import { waitFor } from "./wait.ts"

/** A first start unpacks, migrates its database and loads the plugin. */
const START_MS = 60_000
const CALL_MS = 20_000

export interface Served {
  url: string
  pid: number
  bus: Bus
  /** A new session; its id. */
  createSession: (title?: string) => Promise<string>
  /** Sends a user message and returns at once. */
  prompt: (session: string, text: string) => Promise<void>
  abort: (session: string) => Promise<void>
  remove: (session: string) => Promise<void>
  /** The id of the first open ask of the session, once the agent raised it. */
  ask: (session: string, deadlineMs: number) => Promise<string>
  answerAsk: (session: string, request: string, reply: "once" | "always" | "reject") => Promise<void>
  /** The id of the first question of the session, once the agent raised it. */
  question: (session: string, deadlineMs: number) => Promise<string>
  answerQuestion: (request: string, answers: string[][]) => Promise<void>
  rejectQuestion: (request: string) => Promise<void>
  summarize: (session: string) => Promise<void>
  /** A copy of the session; its id. */
  fork: (session: string) => Promise<string>
  command: (session: string, name: string, args: string) => Promise<void>
  shell: (session: string, command: string) => Promise<void>
  /** Any other call; throws when the status is none of 2xx. */
  call: (method: string, path: string, body?: unknown) => Promise<unknown>
  /** Ends the agent; what it printed. */
  stop: () => Promise<string>
}

/** Starts the server on a port of the caller's suite and waits until it answers and the plugin is loaded. */
export async function startServe(sandbox: Sandbox, port: number): Promise<Served> {
  const child = startChild({
    command: [sandbox.binary, "serve", "--port", String(port), "--hostname", "127.0.0.1", "--print-logs"],
    cwd: sandbox.project,
    env: sandbox.env,
  })
  const url = `http://127.0.0.1:${port}`
  const output = () => `${child.stdout()}\n${child.stderr()}`.trim().slice(-4_000)

  const call = async (method: string, path: string, body?: unknown, deadlineMs = CALL_MS) => {
    const response = await fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.timeout(deadlineMs),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`)
    return text === "" ? undefined : (JSON.parse(text) as unknown)
  }

  const isUp = () => {
    if (!child.isRunning()) throw new Error(`${sandbox.agent.label} ended at its start\n${output()}`)
    return child.stdout().includes("listening on")
  }
  try {
    // Not by trying: a request that comes a moment too early is accepted and never answered (1.18.33).
    await waitFor(`start of ${sandbox.agent.label}`, START_MS, isUp, output)
    // The first request of a directory loads the plugin.
    await call("GET", "/session", undefined, START_MS)
  } catch (error) {
    await child.stop()
    throw error
  }
  const bus = await openBus(url)
  const first = async (session: string, types: string[], deadlineMs: number) => {
    const event = await bus.until(
      `${types[0]} of ${session}`,
      deadlineMs,
      ({ type, properties }) => types.includes(type) && properties.sessionID === session,
    )
    return String(event.properties.id)
  }
  const made = (answer: unknown) => (answer as { id: string }).id

  return {
    url,
    pid: child.pid,
    bus,
    call,
    createSession: async (title) =>
      made(await call("POST", "/session", title === undefined ? {} : { title })),
    prompt: async (session, text) => {
      await call("POST", `/session/${session}/prompt_async`, { parts: [{ type: "text", text }] })
    },
    abort: async (session) => void (await call("POST", `/session/${session}/abort`)),
    remove: async (session) => void (await call("DELETE", `/session/${session}`)),
    ask: (session, deadlineMs) => first(session, ["permission.asked", "permission.updated"], deadlineMs),
    answerAsk: async (session, request, reply) => {
      if (sandbox.agent.features.reply === "permission") {
        await call("POST", `/permission/${request}/reply`, { reply })
      } else {
        await call("POST", `/session/${session}/permissions/${request}`, { response: reply })
      }
    },
    question: (session, deadlineMs) => first(session, ["question.asked"], deadlineMs),
    answerQuestion: async (request, answers) => {
      await call("POST", `/question/${request}/reply`, { answers })
    },
    rejectQuestion: async (request) => void (await call("POST", `/question/${request}/reject`)),
    summarize: async (session) => {
      await call("POST", `/session/${session}/summarize`, { providerID: "fake", modelID: "m1" })
    },
    fork: async (session) => made(await call("POST", `/session/${session}/fork`, {})),
    command: async (session, name, args) => {
      await call("POST", `/session/${session}/command`, { command: name, arguments: args })
    },
    shell: async (session, command) => {
      await call("POST", `/session/${session}/shell`, { agent: "build", command })
    },
    stop: async () => {
      bus.close()
      await child.stop()
      return output()
    },
  }
}
