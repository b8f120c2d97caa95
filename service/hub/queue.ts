/**
 * What one subscriber has still to be given, in order: events, marks and its binding's own frames; one queue a connection.
 * A reader that does not keep up first loses `debug` and `info`, counted, and then the connection (AEP-0003 §8.4): nothing
 * else is ever dropped. What is held may come lazily, so that a long replay costs no memory here. Drawn by its binding.
 */
import { DEFAULT_SEVERITY, isAtLeast } from "../../shared/aep.ts"
import type { Message, Position } from "./message.ts"

/**
 * `event`: `text` is what is sent, as received or down-levelled. `exhausted`: events before `earliest` are no longer held.
 * `replayed`: all that was held has been given. `frame`: a binding's own words, in their place among the rest.
 */
export type Item =
  | { kind: "event"; sub: string; message: Message; text: string }
  | { kind: "exhausted"; sub: string; session: string; earliest: Position }
  | { kind: "replayed"; sub: string }
  | { kind: "frame"; text: string }

/** Where a subscription stands. */
export interface Delivered extends Position {
  sub: string
  session: string
}

/** Bounds of a queue, in characters of text, and its binding. */
export interface QueueOptions {
  /** From this backlog on `debug` and `info` are dropped. */
  softBytes: number
  /** From this backlog on nothing more is taken: the subscriber has to go. */
  hardBytes: number
  /** There is something to draw. */
  wake: () => void
  /** The subscriber fell too far behind; called once, and nothing can be drawn after it. */
  overflow: () => void
}

/** What a replay has next; `later` = it needs a rest, after which whoever made it has the queue woken. */
export type Drawn = Item | "later" | undefined

type Replay = { kind: "replay"; next: () => Drawn }

/** Words of a frame that carries no text of its own. */
const MARK_BYTES = 100
/** Sessions remembered for each subscription, the one that was met first goes first. */
const MAX_SESSIONS = 1000
/** Drawn items are let go in pieces of this size. */
const COMPACT_AT = 1024

/** See the head of the file. */
export class Queue {
  /** Events dropped since the start. */
  dropped = 0
  /** The hub's own mark that it will wake this queue at the end of the turn. */
  isDue = false
  private untold = 0
  private bytes = 0
  private items: (Item | Replay | undefined)[] = []
  private at = 0
  private isOver = false
  // Positions and not events, which would be kept in memory long after they went.
  private readonly given = new Map<string, Map<string, { epoch: number; seq: number }>>()

  constructor(private readonly options: QueueOptions) {}

  /** Puts an item behind the others, or drops it as the head of the file says: false when it was dropped. */
  push(item: Item): boolean {
    if (this.isOver) return true
    if (item.kind === "event" && this.bytes >= this.options.softBytes && isMinor(item.message)) {
      this.dropped += 1
      this.untold += 1
      return false
    }
    // Judged by what is there before it: one large event may always come.
    if (this.bytes >= this.options.hardBytes) {
      this.close()
      this.options.overflow()
      return true
    }
    this.bytes += sizeOf(item)
    this.items.push(item)
    return true
  }

  /** Puts something behind the others that makes its items as they are drawn, until it has none. */
  pushReplay(next: () => Drawn): void {
    if (!this.isOver) this.items.push({ kind: "replay", next })
  }

  /** The next item, or nothing for now; whoever draws it answers for its delivery. */
  pull(): Item | undefined {
    for (;;) {
      const head = this.items[this.at]
      if (head === undefined) return undefined
      if (head.kind === "replay") {
        const item = head.next()
        if (item === "later") return undefined
        if (item !== undefined) return this.note(item)
        this.advance()
        continue
      }
      this.advance()
      this.bytes -= sizeOf(head)
      return this.note(head)
    }
  }

  /** Events dropped since this was last asked. */
  takeDropped(): number {
    const count = this.untold
    this.untold = 0
    return count
  }

  /** Whether there is nothing to draw. True for a replay that has nothing more to give, too, once it was drawn. */
  get isEmpty(): boolean {
    return this.at === this.items.length
  }

  /** What waits here, replays left out. */
  get backlogBytes(): number {
    return this.bytes
  }

  /** The last position drawn, for each subscription and session. */
  delivered(): Delivered[] {
    return [...this.given].flatMap(([sub, sessions]) =>
      [...sessions].map(([session, position]) => ({ sub, session, ...position })),
    )
  }

  /** Forgets where a subscription that ended stood. */
  forget(sub: string): void {
    this.given.delete(sub)
  }

  /** Tells the binding that there is something. */
  wake(): void {
    if (!this.isOver) this.options.wake()
  }

  /** Lets go of everything; nothing is taken or drawn any more. May be called twice. */
  close(): void {
    this.isOver = true
    this.items = []
    this.at = 0
    this.bytes = 0
  }

  private note(item: Item): Item {
    if (item.kind !== "event") return item
    const { session, epoch = 0, seq } = item.message.event
    if (session === undefined || seq === undefined) return item
    const known = this.given.get(item.sub)?.get(session)
    if (known === undefined) this.meet(item.sub, session, { epoch, seq })
    else {
      known.epoch = epoch
      known.seq = seq
    }
    return item
  }

  private meet(sub: string, session: string, position: Position): void {
    const sessions = this.given.get(sub) ?? new Map<string, Position>()
    this.given.set(sub, sessions)
    sessions.set(session, position)
    for (const eldest of sessions.keys()) {
      if (sessions.size <= MAX_SESSIONS) return
      sessions.delete(eldest)
    }
  }

  private advance(): void {
    this.items[this.at] = undefined
    this.at += 1
    if (this.at === this.items.length) {
      this.items = []
      this.at = 0
    } else if (this.at >= COMPACT_AT && this.at * 2 >= this.items.length) {
      this.items = this.items.slice(this.at)
      this.at = 0
    }
  }
}

function isMinor({ event }: Message): boolean {
  return !isAtLeast(event.severity ?? DEFAULT_SEVERITY, "notice")
}

function sizeOf(item: Item): number {
  return item.kind === "event" || item.kind === "frame" ? item.text.length : MARK_BYTES
}
