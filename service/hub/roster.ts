/**
 * Who speaks for which session here (AEP-0003 §4.1): one entry for each claim of each connection, as its hello declared it.
 * Two claims of one session both stand: nothing is merged and nobody is chosen. A claim ends with its connection.
 */
import type { Message } from "./message.ts"

/** A connection that owns sessions; members as its hello gave them, the blocks verbatim. */
export interface Claimant {
  readonly agent: string
  readonly instance: string | undefined
  readonly control: Record<string, unknown> | undefined
  readonly emits: unknown
  /** Hands over a command for one of its sessions. */
  take(command: Message): void
}

/** One line of the roster frame. */
export interface RosterEntry {
  session: string
  agent: string
  instance?: string
  control?: Record<string, unknown>
  emits?: unknown
}

/** Most sessions one connection may claim. */
export const MAX_CLAIMS = 10_000

/** See the head of the file. */
export class Roster {
  private readonly bySession = new Map<string, Set<Claimant>>()
  private readonly byClaimant = new Map<Claimant, Set<string>>()
  private claims = 0

  /** The claimant speaks for the session from now on; false when it has as many claims as one may have. */
  claim(session: string, claimant: Claimant): boolean {
    const own = this.byClaimant.get(claimant) ?? new Set()
    if (own.has(session)) return true
    if (own.size >= MAX_CLAIMS) return false
    own.add(session)
    this.byClaimant.set(claimant, own)
    const holders = this.bySession.get(session) ?? new Set()
    holders.add(claimant)
    this.bySession.set(session, holders)
    this.claims += 1
    return true
  }

  /** All its claims end. May be called twice. */
  release(claimant: Claimant): void {
    for (const session of this.byClaimant.get(claimant) ?? []) this.drop(session, claimant)
    this.byClaimant.delete(claimant)
  }

  /** One of its claims ends. */
  releaseSession(session: string, claimant: Claimant): void {
    const own = this.byClaimant.get(claimant)
    if (own?.delete(session) !== true) return
    if (own.size === 0) this.byClaimant.delete(claimant)
    this.drop(session, claimant)
  }

  /** Who speaks for a session. */
  claimants(session: string): readonly Claimant[] {
    return [...(this.bySession.get(session) ?? [])]
  }

  /** Every claim, in no order that means anything. */
  entries(): RosterEntry[] {
    return [...this.bySession].flatMap(([session, holders]) =>
      [...holders].map(({ agent, instance, control, emits }) => ({
        session,
        agent,
        ...(instance === undefined ? {} : { instance }),
        ...(control === undefined ? {} : { control }),
        ...(emits === undefined ? {} : { emits }),
      })),
    )
  }

  /** Claims that stand. */
  get size(): number {
    return this.claims
  }

  private drop(session: string, claimant: Claimant): void {
    const holders = this.bySession.get(session)
    if (holders?.delete(claimant) !== true) return
    this.claims -= 1
    if (holders.size === 0) this.bySession.delete(session)
  }
}
