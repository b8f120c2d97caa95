/**
 * Which moments already have their lines in which log. After a kill the stored cursor of a plugin instance may lie
 * behind the logs; the plugin then sends moments again, and each must be skipped in the sessions that have it and
 * applied in those that do not. Filled while logs are read at start, asked while resent moments are mapped.
 */
import type { SessionKey } from "../session/store.ts"
import type { LineMarks } from "./groups.ts"

/** A plugin holds far fewer unacknowledged moments; older ones are never sent again. */
const WINDOW = 50_000
/** Bound over all instances: a rebuild from months of logs meets many that ended long ago. */
const MAX_TOTAL = 500_000

interface Known {
  highest: number
  count: number
  /** Moment indexes by session (`sessionId`). */
  moments: Map<string, Set<number>>
}

/** One string per session; the agent's own log has one too. Asked for with every moment, hence so plain. */
export function sessionId({ agent, session }: SessionKey): string {
  return session === undefined ? agent : `${agent}\u0000${session}`
}

/** The moments found in logs at or above their instance's cursor. */
export class AppliedMoments {
  private readonly instances = new Map<string, Known>()
  private total = 0

  /** Notes one group of lines of a session. `cursor` is the stored one: what is below is never resent. */
  note(marks: LineMarks, session: string, cursor: number | undefined): void {
    if (cursor !== undefined && marks.moment < cursor) return
    const known = this.touch(marks.instance)
    if (marks.moment <= known.highest - WINDOW) return
    known.highest = Math.max(known.highest, marks.moment)
    let moments = known.moments.get(session)
    if (moments === undefined) {
      moments = new Set()
      known.moments.set(session, moments)
    }
    if (moments.has(marks.moment)) return
    moments.add(marks.moment)
    known.count += 1
    this.total += 1
    if (known.count > 2 * WINDOW) this.prune(known)
    if (this.total > MAX_TOTAL) this.dropEldest(marks.instance)
  }

  /** Whether anything is noted of an instance: nearly always nothing is, and nothing more need be asked. */
  knows(instance: string): boolean {
    return this.instances.has(instance)
  }

  /** Whether the lines of this moment are in this session's log. */
  has(instance: string, moment: number, session: string): boolean {
    return this.instances.get(instance)?.moments.get(session)?.has(moment) ?? false
  }

  /** The highest moment found for an instance. */
  highest(instance: string): number | undefined {
    return this.instances.get(instance)?.highest
  }

  /** Forgets an instance once everything found is acknowledged. Returns whether it did. */
  release(instance: string, next: number): boolean {
    const known = this.instances.get(instance)
    if (known === undefined || next <= known.highest) return false
    this.drop(instance, known)
    return true
  }

  /** Ids of the instances with moments noted. */
  ids(): string[] {
    return [...this.instances.keys()]
  }

  /** What is known of one instance, in a form to be stored; `undefined` = nothing. */
  snapshot(instance: string): unknown {
    return this.instances.get(instance)
  }

  /** Takes back a stored snapshot; anything else is ignored, the scan of the logs finds most of it again. */
  restore(instance: string, stored: unknown): void {
    if (!isKnown(stored)) return
    this.instances.set(instance, stored)
    this.total += stored.count
  }

  // Eldest first: a Map keeps the order of insertion, and logs are read in the order of their last write.
  private touch(instance: string): Known {
    const known = this.instances.get(instance) ?? { highest: -1, count: 0, moments: new Map() }
    this.instances.delete(instance)
    this.instances.set(instance, known)
    return known
  }

  private prune(known: Known): void {
    for (const [session, moments] of known.moments) {
      for (const moment of moments) {
        if (moment > known.highest - WINDOW) continue
        moments.delete(moment)
        known.count -= 1
        this.total -= 1
      }
      if (moments.size === 0) known.moments.delete(session)
    }
  }

  private dropEldest(except: string): void {
    for (const [instance, known] of this.instances) {
      if (instance === except) continue
      this.drop(instance, known)
      return
    }
  }

  private drop(instance: string, known: Known): void {
    this.instances.delete(instance)
    this.total -= known.count
  }
}

function isKnown(value: unknown): value is Known {
  return (
    typeof value === "object" &&
    value !== null &&
    "highest" in value &&
    "count" in value &&
    "moments" in value &&
    typeof value.highest === "number" &&
    typeof value.count === "number" &&
    value.moments instanceof Map
  )
}
