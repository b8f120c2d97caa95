/**
 * Steers a running agent for one project, over its own HTTP API, the way any client of it would. Answers given by
 * these calls are the local user's; the plugin is not involved. The process is `serve.ts`.
 */
import { type Bus, openBus } from "./bus.ts"
import type { Sandbox } from "./sandbox.ts"
import { waitFor } from "./wait.ts"

const CALL_MS = 20_000
const QUIET_MS = 30_000

export interface Client {
  bus: Bus
  /** A new session; its id. */
  createSession: (title?: string) => Promise<string>
  /** Sends a user message and returns at once. */
  prompt: (session: string, text: string) => Promise<void>
  abort: (session: string) => Promise<void>
  remove: (session: string) => Promise<void>
  /** The id of the `nth` ask of the session, answered ones included, once the agent raised it. */
  ask: (session: string, deadlineMs: number, nth?: number) => Promise<string>
  answerAsk: (
    session: string,
    request: string,
    reply: "once" | "always" | "reject",
    message?: string,
  ) => Promise<void>
  /** The id of the first question of the session, once the agent raised it. */
  question: (session: string, deadlineMs: number) => Promise<string>
  answerQuestion: (request: string, answers: string[][]) => Promise<void>
  rejectQuestion: (request: string) => Promise<void>
  summarize: (session: string) => Promise<void>
  /** A copy of the session; its id. */
  fork: (session: string) => Promise<string>
  command: (session: string, name: string, args: string) => Promise<void>
  shell: (session: string, command: string) => Promise<void>
  /** Resolves once the agent has said nothing of anything for so long. */
  quiet: (forMs: number) => Promise<void>
  /** Any other call; throws when the status is none of 2xx. */
  call: (method: string, path: string, body?: unknown) => Promise<unknown>
  /** The same agent, steered for another of its projects, which is loaded by the first such call. */
  at: (other: Sandbox) => Promise<Client>
  /** Lets go of the agent's event stream, and of those opened by `at`. */
  close: () => void
}

/** One request to the agent, for the project; throws when the status is none of 2xx. */
export async function callAgent(
  url: string,
  { project }: Sandbox,
  method: string,
  path: string,
  body?: unknown,
  deadlineMs = CALL_MS,
): Promise<unknown> {
  const response = await fetch(`${url}${path}?directory=${encodeURIComponent(project)}`, {
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

/** Opens the project's event stream on an agent that is up. */
export async function connect(url: string, sandbox: Sandbox): Promise<Client> {
  const { features } = sandbox.agent
  const call: Client["call"] = (method, path, body) => callAgent(url, sandbox, method, path, body)
  const bus = await openBus(`${url}/event?directory=${encodeURIComponent(sandbox.project)}`)
  const others: Client[] = []
  const nth = async (session: string, types: string[], deadlineMs: number, count: number) => {
    const event = await bus.until(
      `${types[0]} ${count} of ${session}`,
      deadlineMs,
      ({ type, properties }) => types.includes(type) && properties.sessionID === session,
      count,
    )
    return String(event.properties.id)
  }
  const made = (answer: unknown) => (answer as { id: string }).id

  return {
    bus,
    call,
    createSession: async (title) =>
      made(await call("POST", "/session", title === undefined ? {} : { title })),
    prompt: async (session, text) => {
      await call("POST", `/session/${session}/prompt_async`, { parts: [{ type: "text", text }] })
    },
    abort: async (session) => void (await call("POST", `/session/${session}/abort`)),
    remove: async (session) => void (await call("DELETE", `/session/${session}`)),
    ask: (session, deadlineMs, count = 1) =>
      nth(session, ["permission.asked", "permission.updated"], deadlineMs, count),
    answerAsk: async (session, request, reply, message) => {
      if (features.reply === "permission") {
        const words = message === undefined ? {} : { message }
        await call("POST", `/permission/${request}/reply`, { reply, ...words })
      } else {
        await call("POST", `/session/${session}/permissions/${request}`, { response: reply })
      }
    },
    question: (session, deadlineMs) => nth(session, ["question.asked"], deadlineMs, 1),
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
    quiet: async (forMs) => {
      await waitFor(`quiet of ${forMs} ms`, QUIET_MS, () => bus.quietMs() > forMs)
    },
    at: async (other) => {
      const client = await connect(url, other)
      others.push(client)
      return client
    },
    close: () => {
      bus.close()
      for (const other of others) other.close()
    },
  }
}
