/**
 * Readers that resume in sessions of which nothing is held (AEP-0003 §5): there is no earliest position to name for them yet. It
 * is known once the session speaks, and is told then, before that event. Part of `hub.ts`.
 */
import type { Subscription } from "./hub.ts"
import type { Position } from "./message.ts"
import type { From } from "./resume.ts"

/** See the head of the file. */
export class Unmet {
  private readonly asked = new Map<Subscription, Map<string, Position>>()

  /** Whether nobody waits, which is nearly always so. */
  get isEmpty(): boolean {
    return this.asked.size === 0
  }

  /** Remembers what a subscription asked for and was given nothing of. */
  note(subscription: Subscription, from: From, isHeld: (session: string) => boolean): void {
    if (from.kind !== "positions") return
    const unmet = [...from.positions].filter(([session]) => !isHeld(session))
    if (unmet.length > 0) this.asked.set(subscription, new Map(unmet))
  }

  /** What the subscription asked for in a session that speaks now; once. */
  take(subscription: Subscription, session: string): Position | undefined {
    const sessions = this.asked.get(subscription)
    const position = sessions?.get(session)
    if (sessions === undefined || position === undefined) return undefined
    sessions.delete(session)
    if (sessions.size === 0) this.asked.delete(subscription)
    return position
  }

  /** The subscription ended. */
  forget(subscription: Subscription): void {
    this.asked.delete(subscription)
  }
}
