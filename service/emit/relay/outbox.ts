/**
 * What one agent's relay does not have yet. The log is the queue: memory holds offsets per log, and the texts
 * of those few events that no log holds. Hands out batches in turns, each log in its own order; what is not
 * confirmed is handed out again after a loss. Knows neither sockets nor time; `lane.ts` is its only user.
 */
import type { RelayCounts } from "./counts.ts"
import type { RelayLimits } from "./limits.ts"
import type { ReadsLines } from "./lines.ts"
import { type Unlogged, UnloggedBound } from "./unlogged.ts"

/** One log with something to send or to be confirmed; offsets in bytes. */
interface Entry {
  readonly file: string
  confirmed: number
  sent: number
  end: number
  /** Not confirmed yet, in order. */
  readonly unlogged: Unlogged[]
  /** How many unlogged events were confirmed, and how many handed out, since the entry was made. */
  unloggedConfirmed: number
  unloggedSent: number
}

/** Part of a batch: when its pong comes, `entry` is confirmed to byte `end` and its first `unlogged`
 *  events. */
interface Mark {
  readonly entry: Entry
  readonly end: number
  readonly unlogged: number
}

/** Texts to be sent in this order, and what a pong behind them confirms. */
export interface Batch {
  texts: string[]
  bytes: number
  marks: Mark[]
}

/** What an outbox is made of. */
export interface OutboxParts {
  lines: ReadsLines
  limits: RelayLimits
  counts: RelayCounts
  /** The relay has everything of `file` before this byte; also called, with a lower one, for a log that began
   *  anew. */
  onConfirmed: (file: string, confirmed: number) => void
  /** A log holds less than was said: what is missing can never be sent. */
  onCut: () => void
  onDropped: () => void
}

/** See the head of the file. */
export class Outbox {
  private readonly entries = new Map<string, Entry>()
  /** Entries with something unsent, the next one first. */
  private readonly ring = new Set<Entry>()
  /** Entries whose log could not be read; see `retry`. */
  private readonly unreadable = new Set<Entry>()
  private readonly bound: UnloggedBound

  constructor(private readonly parts: OutboxParts) {
    const { unloggedEvents, unloggedBytes } = parts.limits
    this.bound = new UnloggedBound({ events: unloggedEvents, bytes: unloggedBytes })
  }

  /** Bytes `start` to `end` of a log were written just now; or, at a start, are what the relay does not
   *  have. */
  said(file: string, start: number, end: number): void {
    let entry = this.entries.get(file) ?? this.enter(file, start)
    if (start < entry.end) entry = this.cut(entry, start)
    if (entry.confirmed === entry.end) {
      entry.confirmed = start
      entry.sent = start
      // Should this process die before the first pong, the old cursor of a log that began anew would hide its
      // lines.
      if (start === 0) this.parts.onConfirmed(file, 0)
    }
    entry.end = end
    this.settle(entry)
  }

  /** An event that no log holds. It goes out behind what its log held by now. */
  missed(file: string, text: string): void {
    const entry = this.entries.get(file) ?? this.enter(file, 0)
    const event: Unlogged = { text, at: entry.end, state: "waiting" }
    const lost = this.bound.admit(event)
    if (lost > 0) this.parts.onDropped()
    this.parts.counts.dropped += lost
    if (event.state !== "gone") entry.unlogged.push(event)
    this.settle(entry)
  }

  /** Whether anything of this log is unsent or unconfirmed. */
  has(file: string): boolean {
    return this.entries.has(file)
  }

  /** Logs with something unsent or unconfirmed. */
  get files(): number {
    return this.entries.size
  }

  /** Bytes that the relay does not have for certain. */
  get bytes(): number {
    let sum = 0
    for (const { end, confirmed, unlogged } of this.entries.values()) {
      sum += end - confirmed
      for (const { text } of unlogged) sum += text.length
    }
    return sum
  }

  /** Logs that could not be read wait until `retry`. */
  get isStuck(): boolean {
    return this.unreadable.size > 0
  }

  /** Has the logs that could not be read tried again. */
  retry(): void {
    const waiting = [...this.unreadable]
    this.unreadable.clear()
    for (const entry of waiting) this.settle(entry)
  }

  /** The next batch of at most so many events and (one line aside) bytes; `undefined` = nothing can be sent
   *  now. Whoever takes it sends it, or calls `rewind`. */
  take(events: number, bytes: number): Batch | undefined {
    const batch: Batch = { texts: [], bytes: 0, marks: [] }
    while (batch.texts.length < events && batch.bytes < bytes) {
      const [entry] = this.ring
      if (entry === undefined) break
      this.ring.delete(entry)
      const room = { events: events - batch.texts.length, bytes: bytes - batch.bytes }
      this.visit(entry, batch, room)
    }
    return batch.marks.length === 0 ? undefined : batch
  }

  /** The relay has this batch and everything taken before it. */
  confirm(batch: Batch): void {
    for (const { entry, end, unlogged } of batch.marks) {
      // A log that was cut since has a new entry: these offsets mean nothing in it.
      if (this.entries.get(entry.file) !== entry) continue
      const known = entry.unlogged.splice(0, unlogged - entry.unloggedConfirmed)
      for (const event of known) if (event.state === "sent") this.bound.leave(event)
      entry.unloggedConfirmed = unlogged
      if (end > entry.confirmed) {
        entry.confirmed = end
        this.parts.onConfirmed(entry.file, end)
      }
      this.settle(entry)
    }
  }

  /** Nothing that is unconfirmed can be relied on: all of it is taken again. */
  rewind(): void {
    this.retry()
    for (const entry of this.entries.values()) {
      entry.sent = entry.confirmed
      for (const event of entry.unlogged) if (event.state === "sent") this.bound.again(event)
      entry.unloggedSent = entry.unloggedConfirmed
      this.settle(entry)
    }
  }

  private enter(file: string, at: number): Entry {
    const entry: Entry = {
      file,
      confirmed: at,
      sent: at,
      end: at,
      unlogged: [],
      unloggedConfirmed: 0,
      unloggedSent: 0,
    }
    this.entries.set(file, entry)
    return entry
  }

  /** The log ends at `size`, which is less than was said. What it still holds beyond the confirmed is
   *  sent. */
  private cut(entry: Entry, size: number): Entry {
    this.parts.onCut()
    for (const event of entry.unlogged) event.at = Math.min(event.at, size)
    if (size >= entry.sent) {
      entry.end = size
      return entry
    }
    this.drop(entry)
    const anew = this.enter(entry.file, Math.min(entry.confirmed, size))
    anew.end = size
    for (const event of entry.unlogged) {
      if (event.state === "gone") continue
      if (event.state === "sent") this.bound.again(event)
      anew.unlogged.push(event)
    }
    if (anew.confirmed < entry.confirmed) this.parts.onConfirmed(entry.file, anew.confirmed)
    return anew
  }

  /** Lets an entry go that has nothing left, and gives one with something unsent its place in the ring. */
  private settle(entry: Entry): void {
    if (entry.confirmed === entry.end && entry.unlogged.length === 0) this.drop(entry)
    else if (!this.unreadable.has(entry) && (entry.sent < entry.end || nextUnlogged(entry) !== undefined)) {
      this.ring.add(entry)
    }
  }

  private drop(entry: Entry): void {
    this.entries.delete(entry.file)
    this.ring.delete(entry)
    this.unreadable.delete(entry)
  }

  /** Takes what fits from one log, and puts it behind the others when there is more. */
  private visit(entry: Entry, batch: Batch, room: Room): void {
    const before = batch.texts.length
    this.takeUnlogged(entry, batch, room)
    const next = nextUnlogged(entry)
    const to = next === undefined ? entry.end : Math.min(entry.end, next.at)
    const left = room.events - (batch.texts.length - before)
    if (entry.sent < to && left > 0) {
      const { visitBytes } = this.parts.limits
      const portion = { bytes: Math.min(visitBytes, room.bytes), lines: left }
      const read = this.parts.lines.read(entry.file, entry.sent, to, portion)
      if (read.kind === "lines") {
        batch.texts.push(...read.texts)
        batch.bytes += read.end - entry.sent
        entry.sent = read.end
        this.parts.counts.skipped += read.skipped
      } else if (read.kind === "failed") this.unreadable.add(entry)
      else {
        const kept = this.cut(entry, read.size)
        this.settle(kept)
        if (kept !== entry) return
      }
    }
    batch.marks.push({ entry, end: entry.sent, unlogged: entry.unloggedSent })
    this.settle(entry)
  }

  private takeUnlogged(entry: Entry, batch: Batch, room: Room): void {
    for (let left = room.events; left > 0; ) {
      const next = nextUnlogged(entry)
      if (next === undefined || next.at > entry.sent) return
      entry.unloggedSent += 1
      if (next.state === "gone") continue
      this.bound.sent(next)
      batch.texts.push(next.text)
      batch.bytes += next.text.length
      left -= 1
    }
  }
}

interface Room {
  events: number
  bytes: number
}

function nextUnlogged(entry: Entry): Unlogged | undefined {
  return entry.unlogged[entry.unloggedSent - entry.unloggedConfirmed]
}
