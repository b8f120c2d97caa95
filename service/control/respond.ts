/**
 * Whether a `control.attention.respond` can be done (AEP-0004 §5, AEP-0002 §5.3): a verdict over the command and what is known
 * of the request it names. Pure.
 */
import * as v from "valibot"
import type { AepEvent } from "../../shared/aep.ts"
import { type Applied, type Deed, judgeAnswer } from "../attention/answer.ts"
import { identifierOf } from "../map/identifier.ts"
import type { EndedAsk, OpenAsk } from "../session/state.ts"
import type { Refusal } from "./decisions.ts"

/** What is known of the request that a command names, by the id of its event. */
export type NamedAsk =
  | { kind: "open"; ask: string; state: OpenAsk }
  | { kind: "ended"; how: EndedAsk["how"] }
  /** No request of the session has this id. */
  | { kind: "unknown" }

/** `dispatch`: the agent is to be told about its request `ask`. */
export type RespondVerdict =
  | { kind: "dispatch"; ask: string; deed: Deed; applied: Applied; expiresAt: number | undefined }
  | { kind: "reject"; refusal: Refusal }

const payloadSchema = v.looseObject({ answer: v.looseObject({}) })

/** What to say of a request that has its terminal. */
export const ENDED: Readonly<Record<EndedAsk["how"], { why: string; detail: string }>> = {
  settled: { why: "answered", detail: "subject: this request was answered already" },
  void: { why: "withdrawn", detail: "subject: the agent does not wait for this any more" },
  expired: { why: "expired", detail: "subject: nobody answered this request in time" },
}

/** The verdict; `isUnderWay` tells whether another command's answer to the request is on its way to the agent. */
export function judgeRespond(event: AepEvent, named: NamedAsk, isUnderWay: boolean): RespondVerdict {
  const payload = v.safeParse(payloadSchema, event.data)
  if (!payload.success) {
    return reject({
      reason: "invalid",
      why: "answer",
      detail: "data.answer: give an option, a text or values",
    })
  }
  if (event.subject === undefined) {
    return reject({ reason: "invalid", why: "subject", detail: "subject: give the id of the request" })
  }
  switch (named.kind) {
    case "unknown":
      return reject({
        reason: "invalid",
        why: "subject",
        detail: "subject: the session made no such request",
      })
    case "ended":
      return reject({ reason: "refused", ...ENDED[named.how] })
    case "open":
      break
    default:
      named satisfies never
  }
  const { ask, state } = named
  if (!state.isAnswerable) {
    return reject({
      reason: "refused",
      why: "oob",
      detail: "respond_via: this request can be answered in the agent's own dialog only",
    })
  }
  const judged = judgeAnswer(payload.output.answer, state)
  if (judged.kind === "invalid") {
    return reject({ reason: "invalid", why: judged.why, detail: judged.detail })
  }
  if (isUnderWay) {
    return reject({
      reason: "busy",
      why: "underway",
      detail: "subject: another answer is on its way to the agent",
    })
  }
  const applied = { answer: judged.answer, by: identifierOf(event.agent) }
  return { kind: "dispatch", ask, deed: judged.deed, applied, expiresAt: state.expiresAt }
}

function reject(refusal: Refusal): RespondVerdict {
  return { kind: "reject", refusal }
}
