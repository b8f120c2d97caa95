/**
 * What is held of one session for readers that come later (AEP-0003 §5): the last events in order of position, each
 * `(source, id)` once. Knows what it had to let go, since only that makes a reader's position too old: gaps in the count are
 * legal. Part of `buffers.ts`.
 */
import { comparePositions, type Message, type Position, positionOf } from "./message.ts"

/** The text and not the event, which takes four times as much; most of what is held is never asked for. */
interface Entry {
  text: string
  id: string
  source: string
  /** Its position; for an event without one, the highest that was known when it came. */
  at: Position
  hasPosition: boolean
}

/** Before every position. */
const START: Position = { epoch: 0, seq: -1 }
const COMPACT_AT = 1024

/** See the head of the file. */
export class SessionBuffer {
  bytes = 0
  private entries: (Entry | undefined)[] = []
  private head = 0
  private highest: Position | undefined
  private source = ""
  private readonly sources = new Map<string, string>()
  private collisions = 0

  /** `lost`: the highest position that was let go before, where that is known. */
  constructor(private lost?: Position) {
    this.highest = lost
  }

  get size(): number {
    return this.entries.length - this.head
  }

  /** The highest position that ever came; what a whole eviction makes too old. */
  get last(): Position | undefined {
    return this.highest
  }

  /** Takes an event at its place; false when it is held already. */
  add(message: Message): boolean {
    const { source, id } = message.event
    if (this.holds(source, id)) return false
    const position = positionOf(message.event)
    if (position !== undefined) this.meet(message, position)
    const at = position ?? this.highest ?? START
    // One text for all events of a source, however often it was read.
    this.source = source === this.source ? this.source : source
    this.insert({ text: message.text, id, source: this.source, at, hasPosition: position !== undefined })
    this.remember(this.source, id)
    this.bytes += message.text.length
    return true
  }

  /** Lets the first event go; returns the characters freed. */
  drop(): number {
    const first = this.entries[this.head]
    if (first === undefined) return 0
    this.entries[this.head] = undefined
    this.head += 1
    if (this.head >= COMPACT_AT && this.head * 2 >= this.entries.length) {
      this.entries = this.entries.slice(this.head)
      this.head = 0
    }
    if (first.hasPosition && (this.lost === undefined || comparePositions(first.at, this.lost) > 0)) {
      this.lost = first.at
    }
    this.forget(first.source, first.id)
    const bytes = first.text.length
    this.bytes -= bytes
    return bytes
  }

  /** What is held behind a position, all of it without one; `exhausted` is the earliest position held, where events that
   *  the reader lacks were let go. */
  replay(after: Position | undefined): { texts: string[]; exhausted?: Position } {
    const texts: string[] = []
    if (after !== undefined) this.giveUnplaced(texts)
    const from = after === undefined ? this.head : this.firstFrom(after, 0)
    for (let index = from; index < this.entries.length; index += 1) {
      const entry = this.entries[index]
      if (entry === undefined) break
      // An event without a position may have come after the reader left, though its anchor did not.
      if (after !== undefined && entry.hasPosition && comparePositions(entry.at, after) === 0) continue
      texts.push(entry.text)
    }
    if (after === undefined || this.lost === undefined || comparePositions(after, this.lost) >= 0)
      return { texts }
    const earliest = this.earliest()
    return earliest === undefined ? { texts } : { texts, exhausted: earliest }
  }

  /** What came before any position was known may be news to whoever asks. */
  private giveUnplaced(texts: string[]): void {
    for (let index = this.head; index < this.entries.length; index += 1) {
      const entry = this.entries[index]
      if (entry?.at !== START) return
      texts.push(entry.text)
    }
  }

  private earliest(): Position | undefined {
    for (let index = this.head; index < this.entries.length; index += 1) {
      const entry = this.entries[index]
      if (entry?.hasPosition === true) return entry.at
    }
    return undefined
  }

  /** A session that is first met in the middle was somewhere else before, or here before a restart. */
  private meet({ event }: Message, position: Position): void {
    if (this.highest === undefined && event.type !== "session.started") this.lost = lastBefore(position)
    if (this.highest === undefined || comparePositions(position, this.highest) > 0) this.highest = position
  }

  private insert(entry: Entry): void {
    const last = this.entries.at(-1)
    if (this.size === 0 || last === undefined || comparePositions(entry.at, last.at) >= 0) {
      this.entries.push(entry)
      return
    }
    // Backfill: behind whatever stands at the same place.
    this.entries.splice(this.firstFrom(entry.at, 1), 0, entry)
  }

  /** Where what stands at a position or behind it begins, or with 1 only what stands behind it. */
  private firstFrom(position: Position, order: 0 | 1): number {
    let [low, high] = [this.head, this.entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (comparePositions(this.entries[middle]?.at ?? START, position) < order) low = middle + 1
      else high = middle
    }
    return low
  }

  // Ids alone are nearly always unique, so that no key is put together for each event.
  private holds(source: string, id: string): boolean {
    const known = this.sources.get(id)
    if (known === source) return true
    return this.collisions > 0 && this.sources.has(`${id}\0${source}`)
  }

  private remember(source: string, id: string): void {
    if (!this.sources.has(id)) {
      this.sources.set(id, source)
      return
    }
    this.collisions += 1
    this.sources.set(`${id}\0${source}`, source)
  }

  private forget(source: string, id: string): void {
    if (this.sources.get(id) === source) this.sources.delete(id)
    else if (this.sources.delete(`${id}\0${source}`)) this.collisions -= 1
  }
}

/** The last place before a position; `undefined` before the very first. */
function lastBefore({ epoch, seq }: Position): Position | undefined {
  if (seq > 0) return { epoch, seq: seq - 1 }
  return epoch > 0 ? { epoch: epoch - 1, seq: Number.MAX_SAFE_INTEGER } : undefined
}
