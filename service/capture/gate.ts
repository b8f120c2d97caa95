/**
 * The capture gate: a draft and a ceiling in, the payload that may be told out (AEP-0002 §5.1, AEP-0003 §9). Runs for
 * every event. Pure; the redaction pipeline is handed in. Not the down-leveling of events that already left an
 * emitter (`downlevel.ts`): the gate still has the source, and words what a hop can only cut.
 */
import { type Capture, fieldsOf } from "../../shared/aep.ts"
import { type FieldSpec, isObject } from "../../shared/aep-payloads.ts"
import type { Draft } from "../map/draft.ts"
import { isBelowRedacted, prunePayload } from "./prune.ts"
import type { Redactor } from "./redact.ts"
import { gateValues } from "./values.ts"

/** What the gate needs beside the draft. */
export interface GateOptions {
  /** The most that may be told. */
  ceiling: Capture
  /** Logical name of the emitter, for prompts put together from structure (AEP-0003 §9.2). */
  agent: string
  /** The redaction pipeline (AEP-0003 §9.4); called for redacted-gated content at ceiling `redacted` only. */
  redactor: Redactor
  /** For answers to a form: the fields of its request, by which `answer.values` is judged. */
  fields?: readonly FieldSpec[]
}

/** What may be told of a draft. */
export interface Gated {
  /** The level honoured, for the event's `capture` (AEP-0003 §9.5). */
  capture: Capture
  /** Absent at `none`, and for core types of which nothing is annotated. An emptied payload stays as `{}`. */
  data?: Record<string, unknown>
}

/**
 * What of a draft may be told under a ceiling. `[metadata*]` members (AEP-0002 §5.3) become structure below `redacted`.
 * Vendor types keep `data`, and get `content` from `redacted` on. Core types without annotations (reserved, unknown)
 * keep nothing below `full`. The result may share structure with the draft; neither is ever changed.
 */
export function gateDraft(draft: Draft, options: GateOptions): Gated {
  const { ceiling, redactor } = options
  if (ceiling === "none") return { capture: ceiling }
  if (draft.type.startsWith("x.")) return gateVendor(draft, ceiling, redactor)
  if (fieldsOf(draft.type) === undefined && ceiling !== "full") return { capture: ceiling }
  const data = prunePayload(draft.type, draft.data, ceiling, {
    prompt: () => structuralPrompt(draft, options.agent),
    redact: redactor.value,
    values: (values) => gateAnswer(values, options),
  })
  return { capture: ceiling, data }
}

/**
 * A vendor event without content says `metadata` whatever its ceiling: a hop strips the payload of a vendor type that
 * claims more than its reader may have (AEP-0001 §8.2), and this one holds nothing that would need it.
 */
function gateVendor(draft: Draft, ceiling: Exclude<Capture, "none">, redactor: Redactor): Gated {
  const { data, content } = draft
  if (content === undefined || isBelowRedacted(ceiling) || Object.keys(content).length === 0) {
    return { capture: "metadata", data }
  }
  const told = ceiling === "full" ? content : redactor.value(content)
  // What the mapping calls structure is not overwritten by what it calls content.
  return { capture: ceiling, data: isObject(told) ? { ...told, ...data } : data }
}

/** A prompt that tells structure only: the reference adapter's wording (AEP-0003 §9.2, AEP-0006). */
function structuralPrompt({ data, subject }: Draft, agent: string): string {
  const { kind, fields } = data
  if (kind === "form" && Array.isArray(fields) && fields.length > 0) {
    return `${agent} asks ${fields.length} question${fields.length === 1 ? "" : "s"}`
  }
  return requestPrompt(agent, kind, subject)
}

/** `{agent} requests {kind}`, and what it is about when there is a subject: how a hop words it too (AEP-0001 §8.2). */
export function requestPrompt(agent: string, kind: unknown, subject: string | undefined): string {
  const request = `${agent} requests ${typeof kind === "string" ? kind : "other"}`
  return subject === undefined ? request : `${request}: ${subject}`
}

function gateAnswer(values: Record<string, unknown>, options: GateOptions): Record<string, unknown> {
  const { ceiling, fields, redactor } = options
  return gateValues(values, {
    ...(fields === undefined ? {} : { fields }),
    ...(isBelowRedacted(ceiling) ? {} : { tell: ceiling === "full" ? (text) => text : redactor.text }),
  })
}
