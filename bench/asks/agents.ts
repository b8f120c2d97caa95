/**
 * Four real agents, alive together and taking turns: with the shipped plugin and with an empty one, each with many asks open and
 * with the same calls allowed. How long their model calls take, and whether every ask can be answered in the end. What the agent
 * itself pays for open asks is seen where the plugin is empty, and so is not taken for ours.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { DROP_IN, openSandbox, type Sandbox } from "../../test/agent/sandbox.ts"
import { begin } from "../../test/agent/scenarios/steps.ts"
import { type Served, startServe } from "../../test/agent/serve.ts"
import { type Service, startService } from "../../test/agent/service.ts"
import { PLAIN, type Setup } from "../../test/agent/setup.ts"
import { agentOf } from "../../test/agent/versions.ts"
import { suitePort } from "../../test/ports.ts"
import { alternate } from "../sample.ts"
import { openCommandSocket } from "./socket.ts"
import { startWatchedModel, type WatchedModel } from "./watched-model.ts"

const AGENT = agentOf("1.18.33")
const EMPTY_PLUGIN = "export const OpencodeAep = async () => ({})\n"
/** Asks of one answer of the model, which the agent raises side by side. */
const EACH = 3
/** Sessions that are begun at once. */
const ABREAST = 5
const WARM = 5
const ASK_MS = 30_000
const ANSWERED_MS = 120_000
const ALLOWED: Setup = { name: PLAIN.name, permission: { bash: "allow", edit: "allow" } }

/** One of the four. */
export interface Cell {
  plugin: "ours" | "empty"
  asks: "open" | "allowed"
}

/** The four. */
export const CELLS: readonly [Cell, Cell, Cell, Cell] = [
  { plugin: "ours", asks: "open" },
  { plugin: "ours", asks: "allowed" },
  { plugin: "empty", asks: "open" },
  { plugin: "empty", asks: "allowed" },
]

/** A prompt of two model calls, milliseconds. */
export interface Timed {
  /** From one request at the model to the next, the tool between them included. */
  call: number
  /** From the prompt to its end. */
  whole: number
}

/** What was measured. */
export interface AgentFigures {
  label: string
  /** By cell, one a round. */
  timed: ReadonlyMap<Cell, readonly Timed[]>
  open: number
  /** Connections of both plugins to the service while the asks were open. */
  connections: number
  /** Asks that were answered over the protocol afterwards, and sessions whose run came to its end by it. */
  answered: number
  finished: number
  sessions: number
}

interface Running {
  cell: Cell
  served: Served
}

/** Measures. Throws, with nothing left running, when a part does not start or a model call hangs. */
export async function playAgents(asks: number, prompts: number): Promise<AgentFigures> {
  const ends: (() => unknown)[] = []
  try {
    const watched = startWatchedModel(suitePort("bench", 9), suitePort("bench", 0))
    ends.push(() => watched.stop())
    const folder = mkdtempSync(join(tmpdir(), "aep-empty-"))
    ends.push(() => rmSync(folder, { recursive: true, force: true }))
    const empty = join(folder, basename(DROP_IN))
    writeFileSync(empty, EMPTY_PLUGIN)
    const sandboxes = CELLS.map((cell) => {
      const setup = cell.asks === "open" ? PLAIN : ALLOWED
      const plugin = cell.plugin === "ours" ? {} : { plugin: empty }
      const sandbox = openSandbox({ agent: AGENT, model: watched.model, setup, ...plugin })
      ends.push(sandbox.remove)
      return sandbox
    })
    const [first] = sandboxes as [Sandbox]
    // One service for both plugins: what it does for the asks of the one costs both alike.
    for (const sandbox of sandboxes) sandbox.env.AEP_HOME = first.aepHome
    const service = await startService(first, suitePort("bench", 2))
    ends.push(() => service.stop())
    const token = readFileSync(join(first.aepHome, "token"), "utf8").trim()
    const commander = await openCommandSocket(service.url, token)
    ends.push(() => commander.close())
    const running: Running[] = []
    for (const [nth, cell] of CELLS.entries()) {
      const sandbox = sandboxes[nth]
      const port = [1, 3, 4, 5][nth]
      if (sandbox === undefined || port === undefined) throw new Error("no place for an agent")
      const served = await startServe(sandbox, suitePort("bench", port))
      ends.push(served.stop)
      running.push({ cell, served })
    }

    const opened = new Map<Cell, Opened>()
    for (const { cell, served } of running) opened.set(cell, await open(served, cell, asks / EACH))
    const ours = opened.get(CELLS[0]) ?? { sessions: [], asks: [] }
    await commander.requests(ours.asks.length)

    const timed = new Map<Cell, Timed[]>(CELLS.map((cell) => [cell, []]))
    await alternate(WARM + prompts, running, async ({ cell, served }, round) => {
      const one = await timePrompt(served, watched, `mark-${CELLS.indexOf(cell)}-${round}`)
      if (round >= WARM) timed.get(cell)?.push(one)
    })
    const connections = connectionsTo(join(first.aepHome, "opencode.sock"))

    for (const ask of ours.asks) commander.answer(ask)
    await Promise.race([commander.applied(ours.asks.length), Bun.sleep(ANSWERED_MS)])
    // What is missing then is told by the figures.
    await Promise.race([commander.finished(ours.sessions), Bun.sleep(ANSWERED_MS)])
    return {
      label: AGENT.label,
      timed,
      open: ours.asks.length,
      connections,
      answered: answeredOf(service, ours.sessions),
      finished: finishedOf(service, ours.sessions),
      sessions: ours.sessions.length,
    }
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

interface Opened {
  sessions: string[]
  /** The agent's ids of asks. */
  asks: string[]
}

/** The same calls in as many sessions, up to their asks, or to their end where none is asked for. */
async function open(served: Served, { asks }: Cell, sessions: number): Promise<Opened> {
  const opened: Opened = { sessions: [], asks: [] }
  const one = async (nth: number): Promise<void> => {
    const calls = Array.from({ length: EACH }, (_, of) => {
      const args = JSON.stringify({ command: `true ${nth} ${of}`, description: "nothing" })
      return `${of === 0 ? "RUN" : "AND"}: bash ${args}`
    })
    if (asks === "allowed") {
      opened.sessions.push(await promptWhole(served, "calls", calls.join("\n")))
      return
    }
    const session = await begin(served, "calls", calls.join("\n"))
    opened.sessions.push(session)
    for (let of = 1; of <= EACH; of += 1) opened.asks.push(await served.ask(session, ASK_MS, of))
  }
  for (let at = 0; at < sessions; at += ABREAST) {
    await Promise.all(Array.from({ length: Math.min(ABREAST, sessions - at) }, (_, nth) => one(at + nth)))
  }
  return opened
}

/** A prompt over the route that answers at its end; the new session. */
async function promptWhole(served: Served, title: string, text: string): Promise<string> {
  const session = await served.createSession(title)
  await served.call("POST", `/session/${session}/message`, { parts: [{ type: "text", text }] })
  return session
}

async function timePrompt(served: Served, watched: WatchedModel, mark: string): Promise<Timed> {
  const began = performance.now()
  await promptWhole(served, "timed", `RUN: read {"filePath":"notes.txt"}\nSAY: ${mark}`)
  const whole = performance.now() - began
  const [first, second, ...more] = watched.arrivals(mark)
  if (first === undefined || second === undefined || more.length > 0) {
    throw new Error(`a prompt of two model calls made ${watched.arrivals(mark).length}`)
  }
  return { call: second - first, whole }
}

/** Connections that a Unix socket's server holds now; Linux only. */
function connectionsTo(socket: string): number {
  const CONNECTED = "03"
  return readFileSync("/proc/net/unix", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[5] === CONNECTED && fields[7] === socket).length
}

function answeredOf(service: Service, sessions: readonly string[]): number {
  return sessions
    .flatMap((session) => service.events(session))
    .filter(({ type, data }) => type === "attention.answered" && data?.via === "control").length
}

function finishedOf(service: Service, sessions: readonly string[]): number {
  return sessions.filter((session) => service.events(session).some(({ type }) => type === "run.finished"))
    .length
}
