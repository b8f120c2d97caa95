/**
 * How far sessions had come of which nothing is held any more, so that a reader who asks for what is gone is told so when the
 * session speaks again (AEP-0003 §5). Bounded in sessions and in characters, since names come from outside. Part of
 * `buffers.ts`.
 */
import type { Position } from "./message.ts"

/** Characters of a name, on average, before sessions are forgotten early. */
const NAME_LENGTH = 256

/** See the head of the file. */
export class Tombstones {
  private readonly positions = new Map<string, Position>()
  private length = 0

  constructor(private readonly most: number) {}

  /** Sessions remembered. */
  get size(): number {
    return this.positions.size
  }

  /** Remembers a session; those that went longest ago are forgotten for it. */
  put(session: string, position: Position): void {
    this.take(session)
    this.positions.set(session, position)
    this.length += session.length
    for (const eldest of this.positions.keys()) {
      if (this.positions.size <= this.most && this.length <= this.most * NAME_LENGTH) return
      this.take(eldest)
    }
  }

  /** Gives back how far a session had come, and forgets it. */
  take(session: string): Position | undefined {
    const position = this.positions.get(session)
    if (this.positions.delete(session)) this.length -= session.length
    return position
  }
}
