/**
 * The real service in a sandbox: started from source as a user starts it, its log read back from disk. What it
 * answers over HTTP is not looked at here, apart from being up.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { startChild } from "./child.ts"
import type { Sandbox } from "./sandbox.ts"
import { waitFor } from "./wait.ts"

const MAIN = resolve(import.meta.dir, "../../service/main.ts")
const START_MS = 15_000

/** A line of a session's log: an AEP event, as far as the suite looks at it. */
export interface LoggedEvent {
  id: string
  type: string
  agent: string
  session: string
  seq: number
  epoch?: number
  run?: string
  subject?: string
  cause?: string
  severity?: string
  data?: Record<string, unknown>
  [attribute: string]: unknown
}

export interface Service {
  url: string
  pid: number
  /** Ids of the sessions with a log, the instances' own left out; in no order. */
  sessions: () => string[]
  /** The events of a session so far; a line still being written is left out. Throws on a line that is no JSON. */
  events: (session: string) => LoggedEvent[]
  /** Every line of every log, as text, by file name. */
  lines: () => Map<string, string[]>
  /** The session's events once they fit. Throws with their types when the deadline passes. */
  until: (
    session: string,
    what: string,
    deadlineMs: number,
    fits: (events: LoggedEvent[]) => boolean,
  ) => Promise<LoggedEvent[]>
  /** SIGTERM, once; all that the service printed. Throws when it did not end with 0. */
  stop: () => Promise<string>
}

/** Starts the service of the sandbox's `AEP_HOME` on a port of the caller's suite and waits until it is up. */
export async function startService(
  sandbox: Pick<Sandbox, "agent" | "home" | "aepHome" | "env">,
  port: number,
  extra: Record<string, string> = {},
): Promise<Service> {
  const child = startChild({
    command: [process.execPath, MAIN],
    cwd: sandbox.home,
    env: {
      PATH: sandbox.env.PATH ?? "",
      HOME: sandbox.home,
      AEP_HOME: sandbox.aepHome,
      AEP_OPENCODE_HOST: "127.0.0.1",
      AEP_OPENCODE_PORT: String(port),
      ...extra,
    },
  })
  const url = `http://127.0.0.1:${port}`
  const output = () => `${child.stdout()}\n${child.stderr()}`.trim().slice(-4_000)
  const isUp = async () => {
    if (!child.isRunning()) throw new Error(`the service ended at its start\n${output()}`)
    // The port may be another's: ours is up once it has written its process id.
    if (!existsSync(join(sandbox.aepHome, "service.pid"))) return false
    return fetch(`${url}/healthz`, { signal: AbortSignal.timeout(1_000) }).then(
      async (response) => ((await response.json()) as { relay: boolean }).relay,
      () => false,
    )
  }
  try {
    await waitFor("answer of the service", START_MS, isUp, output)
  } catch (error) {
    await child.stop()
    throw error
  }
  const folder = join(sandbox.aepHome, "logs", sandbox.agent.agent)
  const events = (session: string) => readLines(join(folder, `${session}.jsonl`)).map(parse)
  return {
    url,
    pid: child.pid,
    sessions: () => logFiles(folder).filter((name) => !name.startsWith("instance-")),
    events,
    lines: () => new Map(logFiles(folder).map((name) => [name, readLines(join(folder, `${name}.jsonl`))])),
    until: (session, what, deadlineMs, fits) => {
      const seen = () => {
        const now = events(session)
        return fits(now) ? now : undefined
      }
      return waitFor(what, deadlineMs, seen, () => `logged: ${types(events(session))}\n${output()}`)
    },
    stop: async () => {
      const code = await child.stop()
      if (code !== 0) throw new Error(`the service ended with ${code}\n${output()}`)
      return `${child.stdout()}\n${child.stderr()}`
    },
  }
}

function logFiles(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => name.slice(0, -".jsonl".length))
}

function readLines(file: string): string[] {
  if (!existsSync(file)) return []
  const text = readFileSync(file, "utf8")
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .slice(0, -1)
}

function parse(line: string): LoggedEvent {
  return JSON.parse(line) as LoggedEvent
}

const types = (events: LoggedEvent[]) => events.map(({ type }) => type).join(" ")
