/**
 * The other end of the relay binding for tests that stand still: sockets that do what the test says, and a
 * binding in a temporary log root with a clock. Files, database and binding are real.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openStore } from "../../service/emit/database.ts"
import type { Connect, RelaySocket, SocketHandlers } from "../../service/emit/relay/socket.ts"
import type { RelayTable } from "../../service/emit/relay/table.ts"
import { RelayBinding, type RelayOptions } from "../../service/emit/relay.ts"
import type { Store } from "../../service/session/store.ts"
import { Clock } from "../clock.ts"

/** One connection attempt, moved by the test. */
export class PeerSocket implements RelaySocket {
  readonly sent: string[] = []
  bufferedAmount = 0
  end: "closed" | "abandoned" | undefined

  constructor(
    readonly url: string,
    readonly headers: Readonly<Record<string, string>>,
    readonly handlers: SocketHandlers,
  ) {}

  send(text: string): void {
    this.sent.push(text)
  }

  close(): void {
    this.end = "closed"
  }

  abandon(): void {
    this.end ??= "abandoned"
  }

  /** Opens, and says hello unless told otherwise. */
  open(hello = true): this {
    this.handlers.opened()
    if (hello) this.say({ type: "hello", versions: ["0.1"] })
    return this
  }

  say(frame: Record<string, unknown>): void {
    this.handlers.message(JSON.stringify(frame))
  }

  /** Answers every ping that stands unanswered, or only the first `most`. */
  pong(most = Number.POSITIVE_INFINITY): void {
    const pings = this.pings.slice(this.answered, this.answered + most)
    this.answered += pings.length
    for (const t of pings) this.say({ type: "pong", t })
  }

  get pings(): number[] {
    return this.sent.map((text) => JSON.parse(text)).flatMap(({ type, t }) => (type === "ping" ? [t] : []))
  }

  /** Ids of the events that arrived, in order. */
  get ids(): string[] {
    return this.sent.flatMap((text) => {
      const { type, id } = JSON.parse(text)
      return type.includes(".") ? [String(id)] : []
    })
  }

  private answered = 0
}

/** All attempts, the last one at hand. */
export class Peer {
  readonly sockets: PeerSocket[] = []
  readonly connect: Connect = (url, { headers }, handlers) => {
    const socket = new PeerSocket(url, headers, handlers)
    this.sockets.push(socket)
    return socket
  }

  get last(): PeerSocket {
    const last = this.sockets.at(-1)
    if (last === undefined) throw new Error("nobody connected yet")
    return last
  }
}

/** One event line without its line feed. */
export function line(id: string, extra: Record<string, unknown> = {}): string {
  return JSON.stringify({ type: "progress.status", id, ...extra })
}

/** A log root with a database beside it, and bindings on both. */
export class RelayHome {
  readonly root = mkdtempSync(join(tmpdir(), "aep-relay-"))
  readonly clock = new Clock()
  readonly peer = new Peer()
  readonly told: string[] = []
  readonly commands: string[] = []
  live: string[] = []
  store: Store
  table: RelayTable

  constructor() {
    const opened = openStore(join(this.root, "x.db"), { boot: "b", suspect: false, nowMs: 0 })
    if (opened.kind !== "opened") throw new Error(opened.detail)
    this.store = opened.store
    this.table = opened.relays
  }

  binding(extra: Partial<RelayOptions> = {}): RelayBinding {
    return new RelayBinding({
      url: "ws://relay/socket",
      token: "relay-token",
      instance: "here",
      agents: ["opencode", "kilocode"],
      control: { accepts: ["control.cancel"], ackWindowMs: 9000 },
      logRoot: this.root,
      table: this.table,
      memoryLost: false,
      liveSessions: (agent) => this.live.filter((file) => file.startsWith(`${agent}/`)),
      onCommand: (text) => this.commands.push(text),
      tell: (text) => this.told.push(text),
      connect: this.peer.connect,
      timers: this.clock.timers,
      now: this.clock.now,
      random: () => 0.999999,
      ...extra,
    })
  }

  /** A binding that is connected and has nothing to do. */
  connected(extra: Partial<RelayOptions> = {}): RelayBinding {
    const binding = this.binding(extra)
    binding.start()
    this.peer.last.open().pong()
    return binding
  }

  /** Appends lines to a log as one group; returns what the emitter would say. */
  append(file: string, ...lines: string[]): [file: string, start: number, end: number] {
    const path = join(this.root, file)
    mkdirSync(join(path, ".."), { recursive: true })
    const start = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    appendFileSync(path, `${lines.join("\n")}\n`)
    return [file, start, statSync(path).size]
  }

  /** Puts the row of a session where the scan at a start would put it. */
  row(file: string, extra: { open?: boolean; size?: number } = {}): void {
    const size = extra.size ?? statSync(join(this.root, file)).size
    const [agent = "", name = ""] = file.split("/")
    const key = { agent, session: name.replace(".jsonl", "") }
    const row = { key, file, epoch: 0, seq: 1, size, bump: false, open: extra.open ?? false, state: {} }
    this.store.save({ sessions: [row], instances: [], nowMs: 0 })
  }

  remove(): void {
    this.store.close(false)
    rmSync(this.root, { recursive: true, force: true })
  }
}
