/**
 * How far a reader of a stream has come, session by session, so that it goes on where it was (AEP-0003 §7) and shows nothing
 * twice (AEP-0001 §7.4). Holds the sessions seen last and the ids of the events seen last, both bounded. Pure. Used by
 * `tail.ts`.
 */
import type { AepEvent } from "../../shared/aep.ts"
import { comparePositions, type Position, positionOf } from "../hub/message.ts"
import type { From } from "../hub/resume.ts"

/** What a request says of where to begin: `text` as `from` takes it, absent for what happens next. `left`: sessions for
 *  which there was no room. */
export interface Start {
  text: string | undefined
  left: number
}

/** Bounds; others only in tests. */
export interface ProgressBounds {
  sessions: number
  ids: number
  /** Characters of `from` in an address: servers take 16 KiB of address and headers, many 8. */
  characters: number
}

const BOUNDS: ProgressBounds = { sessions: 1000, ids: 20_000, characters: 6 * 1024 }

/** See the head of the file. */
export class Progress {
  /** Highest position shown, the session shown last at the end. */
  private readonly reached = new Map<string, Position>()
  private readonly ids = new Set<string>()
  /** Where sessions stood when a connection began that replays everything. */
  private readonly behind = new Map<string, Position>()
  private maxPositions = Number.POSITIVE_INFINITY
  private sent = 0

  constructor(
    private readonly from: From,
    private readonly bounds: ProgressBounds = BOUNDS,
  ) {
    if (from.kind !== "positions") return
    for (const [session, position] of from.positions) this.reached.set(session, position)
  }

  /** Whether an event has not been seen before; it has been from now on. */
  take(event: AepEvent): boolean {
    const { source, id, session } = event
    // No source holds a space, so that no two pairs make one key.
    const key = `${source} ${id}`
    if (this.ids.has(key)) return false
    const position = positionOf(event)
    if (session !== undefined && position !== undefined) {
      const behind = this.behind.get(session)
      if (behind !== undefined && comparePositions(position, behind) <= 0) return false
      // The replay has passed what was shown; what comes late from here on, out of order, is new.
      this.behind.delete(session)
      this.reach(session, position)
    }
    this.ids.add(key)
    trim(this.ids, this.bounds.ids)
    return true
  }

  /** Where the first connection begins: just as it was asked for. */
  first(): Start {
    return { text: startText(this.from), left: 0 }
  }

  /** Where a later connection begins. One that began with everything that is held asks for all of it again, so as not to
   *  miss sessions that began meanwhile, and `take` passes over what was shown. */
  resume(): Start {
    if (this.from.kind === "all") {
      this.behind.clear()
      for (const [session, position] of this.reached) this.behind.set(session, position)
      return { text: "all", left: 0 }
    }
    const items: string[] = []
    let characters = encodeURIComponent("[]").length
    for (const [session, position] of [...this.reached].reverse()) {
      const item = JSON.stringify({ session, ...position })
      characters += encodeURIComponent(`${item},`).length
      if (items.length >= this.maxPositions || characters > this.bounds.characters) break
      items.push(item)
    }
    this.sent = items.length
    return {
      text: items.length === 0 ? undefined : `[${items.reverse().join(",")}]`,
      left: this.reached.size - items.length,
    }
  }

  /** Has `resume` send half as many positions, since the server took no more; false when there is nothing to halve. */
  shrink(): boolean {
    if (this.sent < 2) return false
    this.maxPositions = Math.floor(this.sent / 2)
    return true
  }

  private reach(session: string, position: Position): void {
    const before = this.reached.get(session)
    this.reached.delete(session)
    this.reached.set(
      session,
      before === undefined || comparePositions(position, before) > 0 ? position : before,
    )
    trim(this.reached, this.bounds.sessions)
  }
}

function startText(from: From): string | undefined {
  switch (from.kind) {
    case "live":
      return undefined
    case "all":
      return "all"
    case "positions":
      return JSON.stringify([...from.positions].map(([session, position]) => ({ session, ...position })))
    default:
      return from satisfies never
  }
}

function trim(held: Map<string, unknown> | Set<string>, most: number): void {
  for (const eldest of held.keys()) {
    if (held.size <= most) break
    held.delete(eldest)
  }
}
