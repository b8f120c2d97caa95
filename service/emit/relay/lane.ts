/**
 * One agent's way to the relay: takes from the outbox what its link may carry, and confirms by the pongs.
 * Holds the window (what is unconfirmed is bounded) and the claims after each connect. Neither a protocol nor
 * a file is seen from here; made by `relay.ts`, one for each agent.
 */
import type { Timers } from "../shelf.ts"
import type { RelayCounts } from "./counts.ts"
import type { RelayLimits } from "./limits.ts"
import type { ReadsLines } from "./lines.ts"
import { Link, type LinkParts } from "./link.ts"
import { type Batch, Outbox, type OutboxParts } from "./outbox.ts"

/** What a lane is made of. */
export interface LaneParts {
  link: Omit<LinkParts, "onReady" | "onLost" | "onPong">
  outbox: OutboxParts
  lines: ReadsLines
  timers: Timers
  limits: RelayLimits
  counts: RelayCounts
  /** Logs of the sessions of this agent that are alive. */
  liveSessions: () => readonly string[]
}

/** A batch on its way. Texts are not kept: the log has them. */
interface Sent {
  readonly t: number
  readonly batch: Batch
  readonly events: number
}

/** A log that cannot be read is tried again after this. */
const RETRY_MS = 1000
/** A turn that says something ends before its events are sent, so that they leave together. */
const AT_ONCE_MS = 0

/** See the head of the file. */
export class Lane {
  readonly outbox: Outbox
  private readonly link: Link
  private readonly window: Sent[] = []
  private windowEvents = 0
  private windowBytes = 0
  private claims: string[] = []
  private timer: { handle: unknown; afterMs: number } | undefined
  private idle: (() => void) | undefined

  constructor(private readonly parts: LaneParts) {
    this.outbox = new Outbox(parts.outbox)
    this.link = new Link({
      ...parts.link,
      onReady: () => {
        this.claims = [...parts.liveSessions()]
        this.pump()
      },
      onLost: () => this.lost(),
      onPong: (t) => this.confirmed(t),
    })
  }

  /** Begins to connect. */
  start(): void {
    this.link.start()
  }

  /** There is something new in the outbox. */
  notify(): void {
    if (this.link.isReady) this.pumpAfter(AT_ONCE_MS)
  }

  /** A session whose log this is has come alive again: it is claimed, unless it says something itself in this turn. */
  claim(file: string): void {
    if (!this.link.isReady) return
    this.claims.push(file)
    this.notify()
  }

  /** From the relay's hello to its loss. */
  get isReady(): boolean {
    return this.link.isReady
  }

  /** Resolves when the relay has everything, or is gone. Goes on sending meanwhile. */
  drained(): Promise<void> {
    this.pump()
    if (!this.link.isReady || this.isIdle) return Promise.resolve()
    return new Promise((resolve) => {
      this.idle = resolve
    })
  }

  /** Ends the connection. May be called twice. */
  close(): void {
    this.clearTimer()
    this.link.close()
  }

  private get isIdle(): boolean {
    return this.outbox.files === 0 && this.window.length === 0
  }

  private pumpAfter(afterMs: number): void {
    if (this.timer !== undefined && this.timer.afterMs <= afterMs) return
    this.clearTimer()
    const run = (): void => {
      this.timer = undefined
      this.outbox.retry()
      this.pump()
    }
    this.timer = { handle: this.parts.timers.set(run, afterMs), afterMs }
  }

  private clearTimer(): void {
    if (this.timer !== undefined) this.parts.timers.clear(this.timer.handle)
    this.timer = undefined
  }

  private pump(): void {
    const { limits } = this.parts
    while (this.link.isOpen && this.link.bufferedAmount <= limits.bufferedBytes) {
      const events = Math.min(limits.batchEvents, limits.windowEvents - this.windowEvents)
      const bytes = Math.min(limits.batchBytes, limits.windowBytes - this.windowBytes)
      if (events <= 0 || bytes <= 0) break
      const batch = this.takeClaims(events, bytes) ?? this.outbox.take(events, bytes)
      if (batch === undefined) break
      this.send(batch)
    }
    if (this.outbox.isStuck) this.pumpAfter(RETRY_MS)
  }

  private send(batch: Batch): void {
    const events = batch.texts.length
    for (const text of batch.texts) this.link.send(text)
    const t = this.link.ping()
    this.window.push({ t, batch: { ...batch, texts: [] }, events })
    this.windowEvents += events
    this.windowBytes += batch.bytes
    this.parts.counts.sent += events
  }

  /** A session is claimed by its first event on a connection (AEP-0003 §4.1.3). One that has something to
   *  send is claimed by that; the others by their last line, which the relay has already: a duplicate is
   *  legal. */
  private takeClaims(events: number, bytes: number): Batch | undefined {
    const batch: Batch = { texts: [], bytes: 0, marks: [] }
    while (batch.texts.length < events && batch.bytes < bytes) {
      const file = this.claims.pop()
      if (file === undefined) break
      const text = this.outbox.has(file) ? undefined : this.parts.lines.last(file)
      if (text === undefined) continue
      batch.texts.push(text)
      batch.bytes += text.length
    }
    this.parts.counts.claimed += batch.texts.length
    return batch.texts.length === 0 ? undefined : batch
  }

  private confirmed(t: number): void {
    // Pings stand in the window in their order; one that only kept the connection alive is not there.
    for (let next = this.window[0]; next !== undefined && next.t <= t; next = this.window[0]) {
      this.window.shift()
      this.windowEvents -= next.events
      this.windowBytes -= next.batch.bytes
      this.parts.counts.confirmed += next.events
      this.outbox.confirm(next.batch)
    }
    this.pump()
    if (this.isIdle) this.idle?.()
  }

  private lost(): void {
    this.parts.counts.resent += this.windowEvents
    this.window.length = 0
    this.windowEvents = 0
    this.windowBytes = 0
    this.claims = []
    this.outbox.rewind()
    this.idle?.()
  }
}
