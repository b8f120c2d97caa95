/**
 * The held hooks of one instance: each begun with its ask, told as held, and found by that ask when something was decided. Whether
 * one may be held at all is the core's to say.
 */
import type { Ask, Asks } from "./asks.ts"
import type { Drops } from "./drops.ts"
import type { Fields } from "./fields.ts"
import { createHold, type Hold } from "./hold.ts"
import type { Pace } from "./pace.ts"

/** What holding needs. */
export interface HoldingParts {
  asks: Asks
  /** Sends the ask up as held; the moment as JSON. May throw what JSON does. */
  tell(permission: Fields): string
  drops: Drops
  pace: Pace
}

/** The held hooks. */
export interface Holding {
  /** Holds the hook: its promise is for the agent to wait for. Undefined when the ask cannot be followed. */
  begin(permission: Fields, output: unknown): Promise<void> | undefined
  /** The hook that is held for an ask. */
  of(ask: Ask): Hold | undefined
}

/** No hook is held. */
export function createHolding({ asks, tell, drops, pace }: HoldingParts): Holding {
  const holds = new Map<Ask, Hold>()
  return {
    begin(permission, output) {
      const ask = asks.hook(permission)
      if (ask === undefined) return undefined
      const held = createHold({
        output,
        holdMs: pace.holdMs,
        graceMs: pace.holdGraceMs,
        onOver: () => {
          holds.delete(ask)
          asks.close(ask)
        },
        onFault: () => drops.count("fault"),
      })
      holds.set(ask, held)
      ask.onVoid = held.annul
      try {
        asks.keep(ask, tell(permission))
      } catch {
        // It cannot be told, so nobody will answer it.
        drops.count("permission.ask")
        held.release()
      }
      return held.over
    },
    of: (ask) => holds.get(ask),
  }
}
