/**
 * The plugin instances that are alive: their leases, the sessions each speaks for, and the presence of an agent as
 * a whole. A lease is renewed by every batch; agents vanish without a word (surface.md §10), so silence is an end.
 */
import type { Instance } from "../../shared/moments.ts"
import { type Profile, profileOf } from "../map/profile.ts"

/** A lease not renewed for this long lapses. The plugin speaks at least every 15 s. */
export const LEASE_MS = 45_000
/** Asks of a lapsed instance stay open this long: the process may only have been asleep. */
export const LAPSED_ASKS_MS = 600_000

export interface LiveInstance {
  instance: Instance
  readonly profile: Profile
  /** D-15 The instance's own session, for moments that name none: the pins give them no session, but only agent-scoped
   *  events may lack one (AEP-0001 §5.2). */
  readonly ownSession: string
  readonly sessions: Set<string>
  /** Epoch milliseconds of the last batch, by our clock. */
  renewedAt: number
  lapsedAt?: number
  /** Met at start through its open sessions; not heard from since. */
  recovered: boolean
  /** The last report of dropped moments, so that a resent batch does not tell of it twice. */
  lastDropped?: string
}

/** The name of an instance's own session. */
export function ownSessionOf(instance: string): string {
  return `instance-${instance}`
}

export class Instances {
  private readonly live = new Map<string, LiveInstance>()

  get(id: string): LiveInstance | undefined {
    return this.live.get(id)
  }

  add(instance: Instance, profile: Profile, now: number, recovered: boolean): LiveInstance {
    const live: LiveInstance = {
      instance,
      profile,
      ownSession: ownSessionOf(instance.id),
      sessions: new Set(),
      renewedAt: now,
      recovered,
    }
    this.live.set(instance.id, live)
    return live
  }

  remove(id: string): void {
    this.live.delete(id)
  }

  all(): LiveInstance[] {
    return [...this.live.values()]
  }

  /** Whether another instance of the agent is there: its lease holds, and it was heard of since we started. */
  isHeard(agent: string, except: string): boolean {
    return this.holders(agent, except).some((live) => !live.recovered)
  }

  /** Whether another instance of the agent may be there: its lease holds, heard of or not. */
  isExpected(agent: string, except: string): boolean {
    return this.holders(agent, except).length > 0
  }

  private holders(agent: string, except: string): LiveInstance[] {
    return this.all().filter(
      (live) => live.profile.agent === agent && live.instance.id !== except && live.lapsedAt === undefined,
    )
  }

  /** Instances whose lease holds, and sessions they speak for. */
  get population(): { instances: number; sessions: number } {
    const live = this.all().filter((one) => one.lapsedAt === undefined)
    return { instances: live.length, sessions: live.reduce((sum, one) => sum + one.sessions.size, 0) }
  }

  /** The living instance that a session's own record names as its speaker. */
  speakerOf(
    session: string,
    stateOf: (agent: string) => { instance?: string | undefined } | undefined,
  ): LiveInstance | undefined {
    return this.all().find((live) => {
      if (live.lapsedAt !== undefined || live.recovered) return false
      if (session === live.ownSession) return true
      return live.sessions.has(session) && stateOf(live.profile.agent)?.instance === live.instance.id
    })
  }

  /** Leases that ran out by `now`. */
  overdue(now: number): LiveInstance[] {
    return this.all().filter((live) => live.lapsedAt === undefined && now - live.renewedAt >= LEASE_MS)
  }

  /** Lapsed instances whose asks have waited long enough. */
  forgotten(now: number): LiveInstance[] {
    return this.all().filter((live) => live.lapsedAt !== undefined && now - live.lapsedAt >= LAPSED_ASKS_MS)
  }

  /** This machine slept: nobody could renew anything, so every lease starts anew. */
  renewAll(now: number): void {
    for (const live of this.live.values()) live.renewedAt = now
  }
}

/** The profile of an agent the door let in; throws for any other. */
export function requireProfile(agent: string): Profile {
  const profile = profileOf(agent)
  if (profile === undefined) throw new Error("an instance of an unknown agent passed the door")
  return profile
}
