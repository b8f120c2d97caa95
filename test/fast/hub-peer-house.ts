/**
 * Connections without a socket: peers over a host of a few lines, on a real hub and a real roster. The clock is the test's,
 * and a turn of the hub ends when a test says so, or has said something.
 */
import { Hub } from "../../service/hub/hub.ts"
import type { Message } from "../../service/hub/message.ts"
import { Peer, type PeerLimits } from "../../service/hub/peer.ts"
import { Roster } from "../../service/hub/roster.ts"
import { Clock } from "../clock.ts"

/** The session that is ours, in which no peer may speak. */
export const OURS = "ses_ours"
/** What the server says of itself beside type and versions. */
export const SERVER = { role: "both", identity: { agent: "endpoint" }, capabilities: { roster: {} } }

export const HELLO = { type: "hello", versions: ["0.1"] }
export const EMITTER = { ...HELLO, role: "emitter", identity: { agent: "em", instance: "em-1" } }
export const BOTH = { ...EMITTER, role: "both" }

/** More than a peer hands a socket before its reader takes some. */
const FULL = 2 * 1024 * 1024

export class PeerHouse {
  readonly clock = new Clock()
  readonly roster = new Roster()
  readonly hub: Hub
  /** What the peers gave the hub. */
  readonly published: Message[] = []
  private readonly limits: PeerLimits
  private due: (() => void)[] = []

  constructor(limits: Partial<PeerLimits> = {}, depth = 1000) {
    this.limits = { maxFrom: 1024, maxSubscriptions: 10, softBytes: 500_000, hardBytes: 1_000_000, ...limits }
    this.hub = new Hub({
      bounds: { depth, sessions: 100, bytes: 10_000_000 },
      defer: (run) => this.due.push(run),
    })
  }

  /** A connection that has said nothing yet. */
  open(isAuthenticated = true): Line {
    return new Line(this, isAuthenticated)
  }

  /** A connection whose hello was answered. */
  greeted(hello: object = HELLO, isAuthenticated = true): Line {
    const line = this.open(isAuthenticated)
    line.says(hello)
    line.heard()
    return line
  }

  /** Gives the hub events and ends the turn. */
  publish(messages: readonly Message[]): void {
    this.hub.publish(messages)
    this.endTurn()
  }

  endTurn(): void {
    const due = this.due
    this.due = []
    for (const run of due) run()
  }

  /** Time in steps of a second, each a turn of its own. */
  pass(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.advance(1000)
      this.endTurn()
    }
  }

  /** A peer over a host. */
  peer(host: ConstructorParameters<typeof Peer>[0], isAuthenticated: boolean): Peer {
    return new Peer(host, {
      hub: this.hub,
      roster: this.roster,
      access: { isAuthenticated },
      hello: () => SERVER,
      isOurs: (session) => session === OURS,
      publish: (messages) => {
        this.published.push(...messages)
        this.hub.publish(messages)
      },
      timers: this.clock.timers,
      limits: this.limits,
    })
  }
}

/** One connection seen from the client's side. */
export class Line {
  readonly peer: Peer
  /** How the server closed it, each time. */
  readonly closes: { code: number; reason: string }[] = []
  /** The client reads nothing, and the socket is full. */
  isStalled = false
  /** Whether what is sent has to wait in the socket. */
  hasToWait = false
  /** The client is gone, and the server was not told yet: what is sent is lost. */
  isGone = false
  private waiting = 0
  private out: string[] = []

  constructor(
    private readonly house: PeerHouse,
    isAuthenticated: boolean,
  ) {
    const host = {
      send: (text: string) => {
        if (this.isGone) return 0
        this.out.push(text)
        if (this.hasToWait) this.waiting += text.length
        return this.isStalled || this.hasToWait ? -1 : text.length
      },
      buffered: () => (this.isStalled ? FULL : this.waiting),
      cork: (run: () => void) => run(),
      close: (code: number, reason: string) => void this.closes.push({ code, reason }),
    }
    this.peer = house.peer(host, isAuthenticated)
  }

  /** Sends frames, all in one turn: objects as JSON, texts and bytes as they are. */
  says(...frames: (object | string | Uint8Array)[]): void {
    for (const frame of frames) {
      const isRaw = typeof frame === "string" || frame instanceof Uint8Array
      this.peer.message(isRaw ? frame : JSON.stringify(frame))
    }
    this.house.endTurn()
  }

  /** The texts that came since this was last asked. */
  texts(): string[] {
    const out = this.out
    this.out = []
    return out
  }

  /** The same, parsed. */
  heard(): Record<string, unknown>[] {
    return this.texts().map((text) => JSON.parse(text))
  }

  /** Sends frames and returns what came for them. */
  asks(...frames: (object | string | Uint8Array)[]): Record<string, unknown>[] {
    this.heard()
    this.says(...frames)
    return this.heard()
  }

  /** The client reads again. */
  reads(): void {
    this.isStalled = false
    this.hasToWait = false
    this.waiting = 0
    this.peer.drained()
  }

  /** Whether the connection lives, shown by an answer that comes. */
  get lives(): boolean {
    return this.asks({ type: "ping", t: "lives" }).some(({ type, t }) => type === "pong" && t === "lives")
  }
}
