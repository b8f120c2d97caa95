/**
 * Down-leveling at a hop (AEP-0001 §8.2, AEP-0002 §5.1): an event that already left its emitter, for a reader who may have
 * less of it. Only ever takes away; never redacts and never claims `redacted`. Pure. For whatever passes events on;
 * an emitter's own events go through the gate.
 */
import { type AepEvent, type Capture, DEFAULT_CAPTURE, fieldsOf, isAboveCeiling } from "../../shared/aep.ts"
import { requestPrompt } from "./gate.ts"
import { prunePayload } from "./prune.ts"
import { gateValues } from "./values.ts"

/**
 * The event as a reader under `ceiling` may have it; the same object where nothing changes. A full event at ceiling
 * `redacted` lands on `metadata`: `redacted` says that text went through the pipeline, which cutting cannot bring about
 * (AEP-0001 §8.2e). Types without annotations lose their payload as a whole.
 */
export function downlevel(event: AepEvent, ceiling: Capture): AepEvent {
  const have = event.capture ?? DEFAULT_CAPTURE
  if (!isAboveCeiling(have, ceiling)) return event
  const target = ceiling === "redacted" ? "metadata" : ceiling
  const { data, ...envelope } = event
  const told = { ...envelope, capture: target }
  if (data === undefined || target === "none" || (fieldsOf(event.type)?.size ?? 0) === 0) return told
  return { ...told, data: pruned(event, data, target) }
}

function pruned(
  event: AepEvent,
  data: Record<string, unknown>,
  target: Exclude<Capture, "none">,
): Record<string, unknown> {
  return prunePayload(event.type, data, target, {
    prompt: () => requestPrompt(event.agent, data.kind, event.subject),
    // Not reached: a hop never keeps a redacted-gated value that it would have to redact.
    redact: () => undefined,
    // Without the request's form a hop cannot tell a choice from a text: numbers and booleans stay.
    values: (values) => gateValues(values, {}),
  })
}
