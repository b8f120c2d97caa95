/**
 * The replay buffers (AEP-0003 §5): for each session that was written to lately its last events, for readers that resume or
 * come late. Bounded in events a session, in sessions and in all; nothing here is durable. Held by the hub.
 */
import type { Message, Position } from "./message.ts"
import type { From } from "./resume.ts"
import { SessionBuffer } from "./session-buffer.ts"
import { Tombstones } from "./tombstones.ts"

/** `depth`: events of one session, the number that is advertised. `bytes`: characters of text in all. */
export interface BufferBounds {
  depth: number
  sessions: number
  bytes: number
  /** Sessions that do not go while others can, such as the running plugin instances' own. */
  isKept?: (session: string) => boolean
}

/** What is held of one session. `exhausted`: the earliest position held, when the reader lacks events before it. */
export interface SessionReplay {
  session: string
  exhausted?: Position
  /** Events as they came, in order. */
  texts: readonly string[]
}

/** Sessions of which nothing is held but how far they had come, for each one that is held. */
const TOMBSTONES = 4

/** See the head of the file. */
export class ReplayBuffers {
  readonly counts = { events: 0, bytes: 0, evicted: 0 }
  private readonly sessions = new Map<string, SessionBuffer>()
  private youngest: string | undefined
  private readonly gone: Tombstones

  constructor(private readonly bounds: BufferBounds) {
    this.gone = new Tombstones(bounds.sessions * TOMBSTONES)
  }

  /** Sessions of which something is held. */
  get size(): number {
    return this.sessions.size
  }

  /** Keeps an event; false when this `(source, id)` is held already. Agent-scoped events are in no session and not kept. */
  admit(message: Message): boolean {
    const { session } = message.event
    if (session === undefined) return true
    const buffer = this.written(session)
    if (!buffer.add(message)) return false
    this.counts.events += 1
    this.counts.bytes += message.text.length
    if (buffer.size > this.bounds.depth) this.dropFirst(buffer)
    if (this.sessions.size > this.bounds.sessions) this.evict(session)
    while (this.counts.bytes > this.bounds.bytes && this.shrink(session));
    return true
  }

  /** What a subscription is given before what happens next: whole sessions one after the other. */
  replay(from: From): SessionReplay[] {
    switch (from.kind) {
      case "live":
        return []
      case "all":
        return [...this.sessions].map(([session, buffer]) => ({
          session,
          texts: buffer.replay(undefined).texts,
        }))
      case "positions":
        return [...from.positions].flatMap(([session, position]) => {
          const buffer = this.sessions.get(session)
          return buffer === undefined ? [] : [{ session, ...buffer.replay(position) }]
        })
    }
  }

  /** Whether something of a session is held. */
  holds(session: string): boolean {
    return this.sessions.has(session)
  }

  /** The earliest position held of a session, where a reader that stood at `after` lacks events before it. */
  lackedBefore(session: string, after: Position): Position | undefined {
    return this.sessions.get(session)?.replay(after).exhausted
  }

  private written(session: string): SessionBuffer {
    const known = this.sessions.get(session)
    if (known === undefined) {
      const made = new SessionBuffer(this.gone.take(session))
      this.sessions.set(session, made)
      this.youngest = session
      return made
    }
    // Events come in rows of one session: the youngest need not be moved.
    if (session !== this.youngest) {
      this.sessions.delete(session)
      this.sessions.set(session, known)
      this.youngest = session
    }
    return known
  }

  private dropFirst(buffer: SessionBuffer): void {
    this.counts.bytes -= buffer.drop()
    this.counts.events -= 1
    this.counts.evicted += 1
  }

  /** The session written to longest ago, none that is kept if there is another, never `except`. */
  private eldest(except: string): [string, SessionBuffer] | undefined {
    let kept: [string, SessionBuffer] | undefined
    for (const entry of this.sessions) {
      if (entry[0] === except) continue
      if (this.bounds.isKept?.(entry[0]) !== true) return entry
      kept ??= entry
    }
    return kept
  }

  private evict(except: string): void {
    const found = this.eldest(except)
    if (found === undefined) return
    const [session, buffer] = found
    while (buffer.size > 0) this.dropFirst(buffer)
    this.bury(session, buffer)
  }

  /** Lets one event go where it is missed least; false when there is none but the last that came. */
  private shrink(except: string): boolean {
    const [session, buffer] = this.eldest(except) ?? [except, this.sessions.get(except)]
    if (buffer === undefined || (session === except && buffer.size <= 1)) return false
    this.dropFirst(buffer)
    if (buffer.size === 0) this.bury(session, buffer)
    return true
  }

  private bury(session: string, buffer: SessionBuffer): void {
    this.sessions.delete(session)
    if (buffer.last !== undefined) this.gone.put(session, buffer.last)
  }
}
