/**
 * What a payload loses under a ceiling, by the level of each field in `shared/aep.ts` (AEP-0002 §5). Worked out once, when
 * the module loads, because it runs for every event. How the `[metadata*]` members (AEP-0002 §5.3) are told below
 * `redacted`, and what redaction is, differs between an emitter and a hop and is handed in. Pure.
 */
import { type Capture, type Field, type Fields, isAboveCeiling, registry } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"

/** How members are told that may not stand as they are. */
export interface Telling {
  /** The structural prompt, below `redacted`. */
  prompt: () => string
  /** A redacted-gated value at `redacted`; undefined where nothing is left of it. */
  redact: (value: unknown) => unknown
  /** `answer.values`, at every ceiling. */
  values: (values: Record<string, unknown>) => Record<string, unknown>
}

/** What happens to one member; members without a step are kept as they are. */
type Step =
  | { kind: "drop" | "redact" | "prompt" | "label" | "values" }
  | { kind: "object"; plan: Plan; required: boolean }
  | { kind: "list"; plan: Plan }
/** `twins`: members at `full` that only repeat a sibling: `args_redacted` beside `args`. */
interface Plan {
  steps: ReadonlyMap<string, Step>
  twins: readonly { redacted: string; full: string }[]
}

/** Whether text may not stand under a ceiling at all. */
export const isBelowRedacted = (ceiling: Capture): boolean => isAboveCeiling("redacted", ceiling)

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
  const steps = new Map<string, Step>()
  for (const [name, field] of fields) {
    const step = stepFor(field, ceiling)
    if (step !== undefined) steps.set(name, step)
  }
  const twins = ceiling === "full" ? twinsOf(fields) : []
  return steps.size === 0 && twins.length === 0 ? undefined : { steps, twins }
}

function twinsOf(fields: Fields): Plan["twins"] {
  return [...fields.keys()].flatMap((name) => {
    const full = name.endsWith("_redacted") ? name.slice(0, -"_redacted".length) : name
    return full !== name && fields.get(full)?.level === "full" ? [{ redacted: name, full }] : []
  })
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
 * The payload of a registered type under a ceiling. Loses every field above it, at any depth; where a container is not
 * of the shape its field says, it goes as a whole, since nothing inside can be judged. The result may share structure
 * with `data`, which is never changed. A type without annotations loses nothing here: its caller decides.
 */
export function prunePayload(
  type: string,
  data: Record<string, unknown>,
  ceiling: Exclude<Capture, "none">,
  telling: Telling,
): Record<string, unknown> {
  const plan = plans[ceiling].get(type)
  return plan === undefined ? data : prune(data, plan, telling, 0)
}

function prune(
  source: Record<string, unknown>,
  plan: Plan,
  telling: Telling,
  index: number,
): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(source)) {
    // Assigning this one would set the prototype; no legal payload has such a member.
    if (name === "__proto__") continue
    const step = plan.steps.get(name)
    const value = step === undefined ? source[name] : take(step, source[name], source, telling, index)
    if (value !== undefined) kept[name] = value
  }
  for (const { redacted, full } of plan.twins) {
    if (kept[redacted] !== undefined && kept[redacted] === kept[full]) delete kept[redacted]
  }
  return kept
}

/** What is left of one member; undefined where nothing is. */
function take(
  step: Step,
  value: unknown,
  parent: Record<string, unknown>,
  telling: Telling,
  index: number,
): unknown {
  switch (step.kind) {
    case "drop":
      return undefined
    case "redact":
      return telling.redact(value)
    case "prompt":
      return telling.prompt()
    case "label":
      return typeof parent.id === "string" ? parent.id : String(index + 1)
    case "values":
      return isObject(value) ? telling.values(value) : undefined
    case "object":
      return isObject(value) ? takeObject(value, step, telling) : undefined
    case "list":
      if (!Array.isArray(value)) return undefined
      return value.filter(isObject).map((item, position) => prune(item, step.plan, telling, position))
    default:
      return step satisfies never
  }
}

/** An optional container that lost all it held says nothing more and goes too: the pins have no empty `task`. */
function takeObject(
  value: Record<string, unknown>,
  step: Extract<Step, { kind: "object" }>,
  telling: Telling,
): Record<string, unknown> | undefined {
  const kept = prune(value, step.plan, telling, 0)
  return step.required || hasMembers(kept) || !hasMembers(value) ? kept : undefined
}

function hasMembers(value: Record<string, unknown>): boolean {
  for (const _ in value) return true
  return false
}
