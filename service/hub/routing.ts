/**
 * Where a command goes (AEP-0004 §4): to the one connection that owns its session, or back to its sender with the reason.
 * Never to two, never on a guess. A verdict over what the roster says now; whether the owner does as told is its matter.
 */
import type { Message } from "./message.ts"
import type { Claimant, Roster } from "./roster.ts"

/** Why a command is refused on its target's behalf (AEP-0004 §4.2). */
export type BehalfCode = "unauthorized" | "no-route" | "ambiguous" | "unsupported"

/** The verdict; `detail` is for people. */
export type Routed = { kind: "deliver"; to: Claimant } | { kind: "refused"; code: BehalfCode; detail: string }

/** Decides in this order: may the sender command at all, is there one owner, does it take this type. */
export function routeCommand(
  { event }: Message,
  sender: { isAuthenticated: boolean },
  roster: Pick<Roster, "claimants">,
): Routed {
  if (!sender.isAuthenticated) {
    return refused("unauthorized", "commands need a connection that showed the token")
  }
  const [owner, ...others] = roster.claimants(event.session ?? "")
  if (owner === undefined) {
    return refused("no-route", "nobody who is connected here owns the session; ask the roster who is")
  }
  if (others.length > 0) {
    return refused("ambiguous", "more than one connection claims the session; the roster shows which")
  }
  const accepts = owner.control?.accepts
  if (!Array.isArray(accepts) || !accepts.includes(event.type)) {
    return refused("unsupported", "the owner of the session does not list this command in control.accepts")
  }
  return { kind: "deliver", to: owner }
}

function refused(code: BehalfCode, detail: string): Routed {
  return { kind: "refused", code, detail }
}
