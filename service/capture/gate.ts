/**
 * The capture gate: a draft and a ceiling in, the payload that may be told out (AEP-0002 §5.1, AEP-0003 §9).
 * It runs for every event, so what each type loses at each ceiling is worked out when the module loads. Pure;
 * redaction itself is handed in. Not the down-leveling of events that already left an emitter.
 */
import {
  type Capture,
  type Field,
  type Fields,
  fieldsOf,
  isAboveCeiling,
  registry,
} from "../../shared/aep.ts"
import { type FieldSpec, isObject } from "../../shared/aep-payloads.ts"
import type { Draft } from "../map/draft.ts"
import { gateValues } from "./values.ts"

/** What the gate needs beside the draft. */
export interface GateOptions {
  /** The most that may be told. */
  ceiling: Capture
  /** Logical name of the emitter, for prompts put together from structure (AEP-0003 §9.2). */
  agent: string
  /** The redaction pipeline (AEP-0003 §9.4); called for redacted-gated text at ceiling `redacted` only. */
  redact: (text: string) => string
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

/** Objects nested deeper than this in redacted-gated content are left out: dropping more is always legal. */
const MAX_DEPTH = 64

/** What happens to one member; members without a step are kept as they are. */
type Step =
  | { kind: "drop" | "redact" | "prompt" | "label" | "values" }
  | { kind: "object"; plan: Plan; required: boolean }
  | { kind: "list"; plan: Plan }
type Plan = ReadonlyMap<string, Step>

const isBelowRedacted = (ceiling: Capture) => isAboveCeiling("redacted", ceiling)

function stepFor(field: Field, ceiling: Capture): Step | undefined {
  if (isAboveCeiling(field.level, ceiling)) return { kind: "drop" }
  if (field.exception === "values") return { kind: "values" }
  if (field.exception !== undefined && isBelowRedacted(ceiling)) return { kind: field.exception }
  if (ceiling === "redacted" && (field.level === "redacted" || field.exception !== undefined)) {
    return { kind: "redact" }
  }
  const inner = field.members ?? field.item
  const plan = inner === undefined ? undefined : planFor(inner, ceiling)
  if (plan === undefined) return undefined
  return field.item === undefined
    ? { kind: "object", plan, required: field.required }
    : { kind: "list", plan }
}

function planFor(fields: Fields, ceiling: Capture): Plan | undefined {
  const plan = new Map<string, Step>()
  for (const [name, field] of fields) {
    const step = stepFor(field, ceiling)
    if (step !== undefined) plan.set(name, step)
  }
  return plan.size === 0 ? undefined : plan
}

function plansAt(ceiling: Capture): ReadonlyMap<string, Plan> {
  const found = new Map<string, Plan>()
  for (const [type, { fields }] of registry) {
    const plan = fields === undefined ? undefined : planFor(fields, ceiling)
    if (plan !== undefined) found.set(type, plan)
  }
  return found
}

/** What each type loses at each ceiling; types that lose nothing are not listed. */
const plans = {
  metadata: plansAt("metadata"),
  redacted: plansAt("redacted"),
  full: plansAt("full"),
}

/**
 * What of a draft may be told under a ceiling. Core types lose every field above it, at any depth; where a
 * container is not of the shape its field says, it goes as a whole, since nothing inside can be judged.
 * `[metadata*]` members (AEP-0002 §5.3) become structure below `redacted`. Vendor types keep `data`, and get
 * `content` from `redacted` on. Core types without annotations (reserved, unknown) keep nothing below `full`.
 * The result may share structure with the draft; neither is ever changed.
 */
export function gateDraft(draft: Draft, options: GateOptions): Gated {
  const { ceiling } = options
  if (ceiling === "none") return { capture: ceiling }
  if (draft.type.startsWith("x.")) return { capture: ceiling, data: gateVendor(draft, options) }
  const plan = plans[ceiling].get(draft.type)
  if (plan !== undefined) return { capture: ceiling, data: prune(draft.data, plan, { draft, options }, 0) }
  if (fieldsOf(draft.type) === undefined && ceiling !== "full") return { capture: ceiling }
  return { capture: ceiling, data: draft.data }
}

function gateVendor(draft: Draft, { ceiling, redact }: GateOptions): Record<string, unknown> {
  if (draft.content === undefined || isBelowRedacted(ceiling)) return draft.data
  const content = ceiling === "full" ? draft.content : redactDeep(draft.content, redact, 0)
  return isObject(content) ? { ...draft.data, ...content } : draft.data
}

interface Context {
  draft: Draft
  options: GateOptions
}

function prune(
  source: Record<string, unknown>,
  plan: Plan,
  context: Context,
  index: number,
): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(source)) {
    // Assigning this one would set the prototype; no legal payload has such a member.
    if (name === "__proto__") continue
    const step = plan.get(name)
    const value = step === undefined ? source[name] : take(step, source[name], source, context, index)
    if (value !== undefined) kept[name] = value
  }
  return kept
}

/** What is left of one member; undefined where nothing is. */
function take(
  step: Step,
  value: unknown,
  parent: Record<string, unknown>,
  context: Context,
  index: number,
): unknown {
  switch (step.kind) {
    case "drop":
      return undefined
    case "redact":
      return redactDeep(value, context.options.redact, 0)
    case "prompt":
      return structuralPrompt(context)
    case "label":
      return typeof parent.id === "string" ? parent.id : String(index + 1)
    case "values":
      return isObject(value) ? gateAnswer(value, context.options) : undefined
    case "object":
      return isObject(value) ? takeObject(value, step, context) : undefined
    case "list":
      if (!Array.isArray(value)) return undefined
      return value.filter(isObject).map((item, position) => prune(item, step.plan, context, position))
    default:
      return step satisfies never
  }
}

/** An optional container that lost all it held says nothing more and goes too: the pins have no empty `task`. */
function takeObject(
  value: Record<string, unknown>,
  step: Extract<Step, { kind: "object" }>,
  context: Context,
): Record<string, unknown> | undefined {
  const kept = prune(value, step.plan, context, 0)
  return step.required || hasMembers(kept) || !hasMembers(value) ? kept : undefined
}

function hasMembers(value: Record<string, unknown>): boolean {
  for (const _ in value) return true
  return false
}

/** A prompt that tells structure only: the reference adapter's wording (AEP-0003 §9.2, AEP-0006). */
function structuralPrompt({ draft, options }: Context): string {
  const { kind, fields } = draft.data
  if (kind === "form" && Array.isArray(fields) && fields.length > 0) {
    return `${options.agent} asks ${fields.length} question${fields.length === 1 ? "" : "s"}`
  }
  const request = `${options.agent} requests ${typeof kind === "string" ? kind : "other"}`
  return draft.subject === undefined ? request : `${request}: ${draft.subject}`
}

function gateAnswer(values: Record<string, unknown>, options: GateOptions): Record<string, unknown> {
  const { ceiling, fields, redact } = options
  return gateValues(values, {
    ...(fields === undefined ? {} : { fields }),
    ...(isBelowRedacted(ceiling) ? {} : { tell: ceiling === "full" ? (text) => text : redact }),
  })
}

/** The value with every text in it redacted; keys, numbers and booleans stay. Undefined below `MAX_DEPTH`. */
function redactDeep(value: unknown, redact: GateOptions["redact"], depth: number): unknown {
  if (typeof value === "string") return redact(value)
  if (typeof value !== "object" || value === null) return value
  if (depth === MAX_DEPTH) return undefined
  const inside = (member: unknown) => redactDeep(member, redact, depth + 1)
  if (Array.isArray(value)) return value.map(inside).filter((member) => member !== undefined)
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const told = inside(member)
      return told === undefined ? [] : [[name, told]]
    }),
  )
}
