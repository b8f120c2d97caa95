/**
 * A relay that fails on purpose: a process of its own with a real WebSocket server, which can be absent,
 * killed, frozen, mute, late, short of breath or refusing. It writes down every event before it answers the
 * ping behind it. `startFaultRelay` is for tests; the file itself is the program it starts. No faithful
 * relay: it stores, filters and routes nothing but a command to the connection that claims its session.
 */
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Server, ServerWebSocket } from "bun"
import { type Child, startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"

/** `mute`: opens the WebSocket and never says hello. `late`: says it after a while. `short`: closes every
 *  connection 200 ms after its hello. `refusing`: 401 to every upgrade. */
export const MANNERS = ["good", "mute", "late", "short", "refusing"] as const
export type Manner = (typeof MANNERS)[number]

/** What the program writes into its journal, one word a line. */
export type Happening = "listens" | "upgrade" | "refused" | "hello" | "closed"

/** Everything that relays of one test received, on disk. */
export class Reception {
  readonly folder = mkdtempSync(join(tmpdir(), "aep-reception-"))
  private relays = 0

  /** Paths for the next relay process: what one wrote last before a kill must not run into another's first
   *  line. */
  next(): { events: string; journal: string } {
    this.relays += 1
    const name = String(this.relays).padStart(4, "0")
    return { events: join(this.folder, `${name}.jsonl`), journal: join(this.folder, `${name}.journal`) }
  }

  /** Texts of all events in the order in which they arrived. */
  texts(): string[] {
    const names = readdirSync(this.folder).filter((name) => name.endsWith(".jsonl"))
    return names.sort().flatMap((name) => linesOf(join(this.folder, name)))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A relay process that listens. */
export interface FaultRelay {
  readonly child: Child
  /** How often something happened so far. */
  count(what: Happening): number
  /** How many events it wrote down. */
  events(): number
  /** Waits until something happened at least `times`. */
  seen(what: Happening, times: number): Promise<void>
  /** Waits until it wrote down at least `count` events. */
  received(count: number): Promise<void>
  /** Sends a command to the connection that claims its session; the HTTP status, 404 = nobody does. */
  command(text: string): Promise<number>
  /** Accepts and never reads: the process stands still, the system goes on taking connections for it. */
  freeze(): void
  thaw(): void
  /** `kill -9`, and its end. */
  kill(): Promise<void>
}

/** The token that it wants to see. */
export const RELAY_TOKEN = "fault-relay-token"

const START_MS = 15_000
const SEEN_MS = 60_000
const LATE_MS = 700
const SHORT_MS = 200

/** Starts a relay of that manner on `port` and waits until it listens. */
export async function startFaultRelay(
  port: number,
  manner: Manner,
  reception: Reception,
): Promise<FaultRelay> {
  const { events, journal } = reception.next()
  const child = startChild({
    command: [process.execPath, import.meta.path, String(port), manner, events, journal],
    cwd: reception.folder,
    env: { PATH: process.env.PATH ?? "" },
  })
  const count = (what: Happening) => linesOf(journal).filter((word) => word === what).length
  await waitFor(
    `${manner} relay`,
    START_MS,
    () => {
      if (!child.isRunning()) throw new Error(`the relay ended at its start\n${child.stderr()}`)
      return count("listens") > 0
    },
    child.stderr,
  )
  const detail = () => `${manner}: ${linesOf(journal).slice(-20).join(" ")}\n${child.stderr()}`
  return {
    child,
    count,
    events: () => linesOf(events).length,
    seen: async (what, times) => {
      await waitFor(`${what} ${times} times`, SEEN_MS, () => count(what) >= times, detail)
    },
    received: async (least) => {
      await waitFor(`${least} events`, SEEN_MS, () => linesOf(events).length >= least, detail)
    },
    command: async (text) =>
      (await fetch(`http://127.0.0.1:${port}/command`, { method: "POST", body: text })).status,
    freeze: () => void process.kill(child.pid, "SIGSTOP"),
    thaw: () => void process.kill(child.pid, "SIGCONT"),
    kill: async () => {
      if (child.isRunning()) process.kill(child.pid, "SIGKILL")
      await child.exited
      await child.stop()
    },
  }
}

function linesOf(file: string): string[] {
  if (!existsSync(file)) return []
  return readFileSync(file, "utf8").split("\n").slice(0, -1)
}

function serve(port: number, manner: Manner, eventsFile: string, journalFile: string): void {
  const events = openSync(eventsFile, "a")
  const journal = openSync(journalFile, "a")
  const note = (what: Happening): void => void writeSync(journal, `${what}\n`)
  const claims = new Map<unknown, ServerWebSocket<unknown>>()

  const greet = (socket: ServerWebSocket<unknown>): void => {
    if (manner === "mute") return
    socket.send(JSON.stringify({ type: "hello", versions: ["0.1"], capabilities: {} }))
    note("hello")
    if (manner === "short") setTimeout(() => socket.close(1001), SHORT_MS)
  }
  const command = async (request: Request): Promise<Response> => {
    const text = await request.text()
    const to = claims.get(JSON.parse(text).session)
    to?.send(text)
    return new Response(null, { status: to === undefined ? 404 : 202 })
  }
  const upgrade = (request: Request, server: Server<unknown>): Response | undefined => {
    const isKnown = request.headers.get("authorization") === `Bearer ${RELAY_TOKEN}`
    if (manner === "refusing" || !isKnown) {
      note("refused")
      return new Response("who are you", { status: 401 })
    }
    note("upgrade")
    return server.upgrade(request, { data: undefined }) ? undefined : new Response(null, { status: 400 })
  }
  Bun.serve<unknown>({
    hostname: "127.0.0.1",
    port,
    fetch: (request, server) =>
      new URL(request.url).pathname === "/socket" ? upgrade(request, server) : command(request),
    websocket: {
      maxPayloadLength: 32 * 1024 * 1024,
      message(socket, data) {
        const text = String(data)
        const frame = JSON.parse(text)
        if (frame.type.includes(".")) {
          writeSync(events, `${text}\n`)
          if (frame.seq !== undefined) claims.set(frame.session, socket)
        } else if (frame.type === "hello") {
          if (manner === "late") setTimeout(() => greet(socket), LATE_MS)
          else greet(socket)
        } else if (frame.type === "ping") socket.send(JSON.stringify({ type: "pong", t: frame.t }))
      },
      close(socket) {
        note("closed")
        for (const [session, claimant] of claims) if (claimant === socket) claims.delete(session)
      },
    },
  })
  note("listens")
  process.once("exit", () => {
    closeSync(events)
    closeSync(journal)
  })
}

if (import.meta.main) {
  const [port, manner, events, journal] = process.argv.slice(2)
  const known = MANNERS.find((one) => one === manner)
  if (known === undefined || events === undefined || journal === undefined) {
    throw new Error("usage: fault-relay.ts <port> <manner> <events file> <journal file>")
  }
  serve(Number(port), known, events, journal)
}
