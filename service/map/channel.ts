/**
 * The two modes of a stream channel (`sse_modes` of the mapping fixtures). `companion`: a plugin may watch the same
 * agent and is the only voice in the core vocabulary, so the channel stays in the vendor's namespace. `primary`:
 * the stream is all there is; asks are mapped, but nothing can answer on it. Pure. The mode is configuration.
 */
import type { MomentBody } from "../../shared/moments.ts"
import { askDraft, readAsk } from "./attention.ts"
import type { Draft } from "./draft.ts"
import { objectOf } from "./members.ts"
import { type MapContext, mapMoment } from "./moment.ts"
import { vendorType } from "./vendor-type.ts"

export type ChannelMode = "companion" | "primary"

/** Maps one bus moment as the channel of the given mode tells it. */
export function mapChannel(
  moment: Extract<MomentBody, { kind: "bus" }>,
  mode: ChannelMode,
  context: MapContext,
): Draft | undefined {
  const { type, properties } = moment.event
  if (mode === "companion") {
    const draft = mapMoment(moment, context)
    if (draft?.type.startsWith("x.")) return draft
    return { type: vendorType(context.profile.namespace, type), data: {} }
  }
  if (type === "permission.updated") {
    const ask = readAsk(objectOf(properties))
    return ask && withoutAnswers(askDraft(ask, context.profile.askOptions, []))
  }
  const draft = mapMoment(moment, context)
  return draft?.type === "attention.requested" ? withoutAnswers(draft) : draft
}

/** A read-only channel sheds what would invite an answer; form fields stay (A.8). */
function withoutAnswers(draft: Draft): Draft {
  const { options: _options, respond_via: _respondVia, ...data } = draft.data
  return { ...draft, data }
}
