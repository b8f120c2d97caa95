/**
 * Our own sessions in the roster: the embedded target counts as one connection for each plugin instance, and a session
 * is claimed while the lease of the instance that speaks for it lives. Also tells which sessions are ours, so that no
 * outsider speaks in them. Called by the intake, through plain functions, and by the doors.
 */
import type { Message } from "./message.ts"
import type { Claimant, Roster } from "./roster.ts"

/** The instance that speaks for a session. */
export interface Speaker {
  id: string
  agent: string
}

/** What the claims are made of. */
export interface OwnSessionsParts {
  roster: Roster
  /** The control block we declare, verbatim in the roster (AEP-0003 §4.1). */
  control: () => Record<string, unknown>
  /** Takes a command for a session of ours. */
  take: (command: Message) => void
  /** Whether a log of ours is kept for this session, claimed or not; may read the database. */
  isLogged: (session: string) => boolean
}

/** Claims held at once; the one not renewed for longest goes first. */
const MAX_HELD = 10_000
/** Sessions remembered as not ours. */
const MAX_FOREIGN = 10_000

interface Held {
  instance: string
  claimant: Claimant
}

/** See the head of the file. */
export class OwnSessions {
  private readonly held = new Map<string, Held>()
  private readonly claimants = new Map<string, Claimant>()
  private readonly foreign = new Set<string>()

  constructor(private readonly parts: OwnSessionsParts) {}

  /** The instance speaks for the session from now on; whoever did before no longer does. Cheap when it did: false. */
  hold(session: string, speaker: Speaker): boolean {
    const before = this.held.get(session)
    if (before?.instance === speaker.id) return false
    if (before !== undefined) this.drop(session, before)
    for (const [eldest, held] of this.held) {
      if (this.held.size < MAX_HELD) break
      this.drop(eldest, held)
    }
    const claimant = this.claimantOf(speaker)
    this.held.set(session, { instance: speaker.id, claimant })
    this.foreign.delete(session)
    this.parts.roster.claim(session, claimant)
    return true
  }

  /** The instance no longer speaks for the session: it ended. */
  free(session: string, instance: string): void {
    const held = this.held.get(session)
    if (held?.instance === instance) this.drop(session, held)
  }

  /** The instance is gone, and all its claims with it. */
  freeAll(instance: string): void {
    const claimant = this.claimants.get(instance)
    if (claimant === undefined) return
    for (const [session, held] of this.held) if (held.instance === instance) this.held.delete(session)
    this.claimants.delete(instance)
    this.parts.roster.release(claimant)
  }

  /** Whether only we may speak as the owner of this session. */
  owns(session: string): boolean {
    if (this.held.has(session)) return true
    if (this.foreign.has(session)) return false
    if (this.parts.isLogged(session)) return true
    if (this.foreign.size >= MAX_FOREIGN) this.foreign.clear()
    this.foreign.add(session)
    return false
  }

  /** Whether a living instance speaks for the session now. */
  holds(session: string): boolean {
    return this.held.has(session)
  }

  /** The sessions that living instances of an agent speak for. */
  sessionsOf(agent: string): string[] {
    return [...this.held].flatMap(([session, { claimant }]) => (claimant.agent === agent ? [session] : []))
  }

  /** Sessions claimed now. */
  get size(): number {
    return this.held.size
  }

  private drop(session: string, held: Held): void {
    this.held.delete(session)
    this.parts.roster.releaseSession(session, held.claimant)
  }

  private claimantOf({ id, agent }: Speaker): Claimant {
    const known = this.claimants.get(id)
    if (known !== undefined) return known
    const claimant: Claimant = {
      agent,
      instance: id,
      control: this.parts.control(),
      emits: undefined,
      take: this.parts.take,
    }
    this.claimants.set(id, claimant)
    return claimant
  }
}
