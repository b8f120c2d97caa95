/**
 * One WebSocket connection (AEP-0003 §3.5): hello first, then frames and events in the order they come, until one side ends
 * it. Knows no runtime: whoever owns the socket gives it four functions and calls it back. What goes out goes through one
 * queue, so that answers, marks, commands and events keep their order.
 */
import { AEP_VERSION } from "../../shared/aep.ts"
import {
  closingFrame,
  errorFrame,
  exhaustedFrame,
  type FrameType,
  helloFrame,
  pingFrame,
  readFrame,
} from "./frames.ts"
import { readHello } from "./hello.ts"
import type { Hub } from "./hub.ts"
import type { Message } from "./message.ts"
import { Reading } from "./peer-reading.ts"
import { Speaking } from "./peer-speaking.ts"
import { type Item, Queue } from "./queue.ts"
import type { Roster } from "./roster.ts"

/** The socket as its owner gives it. */
export interface PeerHost {
  /** Bytes sent, -1 when it was taken but has to wait, 0 when it is lost. */
  send: (text: string) => number
  /** Bytes that wait in the socket. */
  buffered: () => number
  /** Runs something whose sends go out together. */
  cork: (run: () => void) => void
  close: (code: number, reason: string) => void
}

/** Delays in milliseconds; `set` returns what `clear` takes. */
export interface PeerTimers {
  set(run: () => void, afterMs: number): unknown
  clear(handle: unknown): void
}

/** What a connection needs of the rest. */
export interface PeerContext {
  hub: Pick<Hub, "subscribe" | "unsubscribe" | "touch">
  roster: Roster
  /** Who the connection belongs to, as judged at its upgrade. */
  access: { isAuthenticated: boolean }
  /** Members of the server's hello beside type and versions. */
  hello: () => Record<string, unknown>
  isOurs: (session: string) => boolean
  publish: (messages: readonly Message[]) => void
  timers: PeerTimers
  limits: PeerLimits
}

/** Bounds of one connection. */
export interface PeerLimits {
  maxFrom: number
  maxSubscriptions: number
  /** See `QueueOptions`. */
  softBytes: number
  hardBytes: number
}

const HELLO_MS = 10_000
const TICK_MS = 10_000
/** A ping every 30 s, an end after 90 s without a word (AEP-0003 §3.5). */
const PING_TICKS = 3
const SILENT_TICKS = 9
/** A backlog that does not move for so long will not. */
const STALLED_TICKS = 3
/** Bytes handed to the socket before its reader takes some. */
const HIGH_WATER = 1024 * 1024

const CLOSE = { goingAway: 1001, protocol: 1002, binary: 1003, policy: 1008, tooSlow: 1013 } as const

/** See the head of the file. */
export class Peer {
  private readonly queue: Queue
  private parties: { reading: Reading; speaking: Speaking } | undefined
  private isClosed = false
  private timer: unknown
  private ticks = 0
  private silentTicks = 0
  private stalledTicks = 0

  constructor(
    private readonly host: PeerHost,
    private readonly context: PeerContext,
  ) {
    const { softBytes, hardBytes } = context.limits
    this.queue = new Queue({
      softBytes,
      hardBytes,
      wake: () => this.flush(),
      overflow: () => this.leave(CLOSE.tooSlow, "too slow"),
    })
    this.timer = context.timers.set(() => this.refuse("hello-required", "no hello within 10 s"), HELLO_MS)
  }

  /** Takes what came in. */
  message(data: string | Uint8Array): void {
    if (this.isClosed) return
    this.silentTicks = 0
    if (typeof data !== "string") {
      this.refuse("invalid-frame", "binary frames are not taken; send text", CLOSE.binary)
      return
    }
    const frame = readFrame(data)
    if (this.parties === undefined) {
      if (frame.kind === "frame" && frame.type === "hello") this.greet(frame.members)
      else this.refuse("hello-required", "the first frame is a hello")
      return
    }
    switch (frame.kind) {
      case "event":
        this.parties.speaking.event(data, frame.value)
        break
      case "frame":
        this.act(frame.type, frame.members, this.parties.reading)
        break
      case "malformed":
        this.answer(errorFrame("invalid-frame", { detail: frame.detail }))
        break
      case "unknown":
        break
      default:
        frame satisfies never
    }
  }

  /** Whether requests reach somebody here who may answer them: control takes the token (AEP-0004 §4.1). */
  get canAnswer(): boolean {
    return this.context.access.isAuthenticated && this.parties?.reading.seesRequests === true
  }

  /** The socket took what had waited in it. That is a sign of life too: our ping may stand behind a long replay. */
  drained(): void {
    this.stalledTicks = 0
    this.silentTicks = 0
    this.flush()
  }

  /** The socket is gone. May be called twice. */
  closed(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.context.timers.clear(this.timer)
    this.parties?.reading.end()
    this.parties?.speaking.end()
    this.queue.close()
  }

  /** Ends the connection on our side: says so, with how far it was served, and closes. May be called twice. */
  end(reason: string): void {
    this.flush()
    this.leave(CLOSE.goingAway, reason)
  }

  private greet(members: Readonly<Record<string, unknown>>): void {
    const read = readHello(members)
    if (read.kind === "refused") {
      this.refuse(read.code, read.detail)
      return
    }
    const { hub, roster, access, isOurs, publish, timers, limits } = this.context
    const answer = (frame: string): void => this.answer(frame)
    this.parties = {
      reading: new Reading({ hub, roster, queue: this.queue, answer, ...limits }, read.hello.role),
      speaking: new Speaking({ roster, access, isOurs, publish, answer }, read.hello),
    }
    timers.clear(this.timer)
    this.timer = timers.set(() => this.tick(), TICK_MS)
    this.answer(helloFrame(this.context.hello()))
  }

  private act(kind: FrameType, members: Readonly<Record<string, unknown>>, reading: Reading): void {
    switch (kind) {
      case "subscribe":
        reading.subscribe(members)
        break
      case "unsubscribe":
        reading.unsubscribe(members)
        break
      case "roster":
        reading.roster(members)
        break
      case "ping":
        this.answer(pingFrame("pong", members.t))
        break
      case "hello":
        this.answer(
          errorFrame("invalid-frame", { detail: "one hello a connection; open another for another role" }),
        )
        break
      // The other side's words about itself: nothing follows for us.
      case "pong":
      case "closing":
      case "error":
        break
      default: {
        kind satisfies never
      }
    }
  }

  private answer(frame: string): void {
    this.queue.push({ kind: "frame", text: frame })
    this.context.hub.touch(this.queue)
  }

  private flush(): void {
    if (this.isClosed) return
    this.host.cork(() => {
      while (this.host.buffered() < HIGH_WATER) {
        const item = this.queue.pull()
        if (item === undefined || !this.give(item)) return
      }
    })
  }

  /** Hands an item to the socket; false when more had better wait in the queue, where the unimportant can still go. */
  private give(item: Item): boolean {
    const text = textOf(item)
    if (text === undefined) return true
    const sent = this.host.send(text)
    // Nothing had to wait: what stood in the queue at a tick was only new.
    if (sent > 0) this.stalledTicks = 0
    if (sent === 0) this.leave(CLOSE.tooSlow, "too slow")
    return sent > 0
  }

  /** Before anything else is closed the reader is told how far it was served. */
  private leave(code: number, reason: string): void {
    if (this.isClosed) return
    const delivered = this.queue.delivered()
    this.closed()
    this.host.send(closingFrame(reason, delivered))
    this.host.close(code, reason)
  }

  /** Ends a connection that does not keep to the protocol. */
  private refuse(code: string, detail: string, close: number = CLOSE.policy): void {
    if (this.isClosed) return
    // What it was answered before comes first.
    this.flush()
    if (this.isClosed) return
    const versions = code === "version-unsupported" ? { versions: [AEP_VERSION] } : {}
    this.closed()
    this.host.send(errorFrame(code, { detail, ...versions }))
    this.host.close(close, code)
  }

  private tick(): void {
    this.timer = this.context.timers.set(() => this.tick(), TICK_MS)
    this.ticks += 1
    this.silentTicks += 1
    const hasBacklog = !this.queue.isEmpty || this.host.buffered() > 0
    this.stalledTicks = hasBacklog ? this.stalledTicks + 1 : 0
    if (this.stalledTicks > STALLED_TICKS) this.leave(CLOSE.tooSlow, "too slow")
    else if (this.silentTicks > SILENT_TICKS) this.leave(CLOSE.goingAway, "no sign of life")
    else if (this.ticks % PING_TICKS === 0) this.answer(pingFrame("ping", this.ticks))
  }
}

function textOf(item: Item): string | undefined {
  switch (item.kind) {
    case "event":
    case "frame":
      return item.text
    case "exhausted":
      return exhaustedFrame(item.sub, item.session, item.earliest)
    // Only asked for where a replay ends the answer, which no subscription of a socket does.
    case "replayed":
      return undefined
    default:
      return item satisfies never
  }
}
