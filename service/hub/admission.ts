/**
 * Whether an event from outside may enter the hub. A session has exactly one owner (AEP-0001 §5.2), so nobody else speaks as
 * the owner in a session of ours; and names that are kept as keys are bounded. What a binding itself does not carry is that
 * binding's matter.
 */
import { placementOf } from "../../shared/aep.ts"
import type { Message } from "./message.ts"

/** Why an event stays out; `detail` says what to do. */
export interface NotAdmitted {
  code: "invalid-event" | "unauthorized"
  detail: string
}

/** Longest name that is kept as a key, characters; vendor ids have some thirty. */
const MAX_NAME = 1024

/** The verdict over one event; `undefined` = it may enter. Commands and `attention.routed` may enter our sessions. */
export function judgeAdmission(
  { event }: Message,
  isOurs: (session: string) => boolean,
): NotAdmitted | undefined {
  for (const name of ["session", "source", "id"] as const) {
    if ((event[name]?.length ?? 0) > MAX_NAME) {
      return { code: "invalid-event", detail: `${name}: expected at most ${MAX_NAME} characters` }
    }
  }
  if (event.session === undefined || placementOf(event.type) !== "sequenced" || !isOurs(event.session)) {
    return undefined
  }
  return {
    code: "unauthorized",
    detail: "session: this service owns the session and alone speaks in it; send under a session of your own",
  }
}
