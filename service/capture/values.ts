/**
 * How much of a form's answer may be told (AEP-0002 §5.3, `answer.values`): what a field's type makes
 * structural stays, what a person wrote needs `redacted`. Not the validation of an answer against its form, and
 * not the loss of all `data` at `none`, which is the caller's. Called by the gate.
 */
import type { FieldSpec } from "../../shared/aep-payloads.ts"

/** What decides about the values of one answer. */
export interface ValuesGate {
  /** The fields of the request that is answered; without them nothing but numbers and booleans is structural. */
  fields?: readonly FieldSpec[]
  /** What becomes of written text: redacted, told as it is, or left out when absent (below `redacted`). */
  tell?: (text: string) => string
}

/**
 * The values that may be told. Keys that the form does not have are dropped at every level. A number or
 * boolean stays for a field of that type, a choice id for a select; a multi-select with one element that is
 * no choice is free text as a whole. An answer of the wrong type for its field is treated as free text.
 */
export function gateValues(values: Record<string, unknown>, gate: ValuesGate): Record<string, unknown> {
  const kept: [string, unknown][] = []
  for (const [id, value] of Object.entries(values)) {
    const field = gate.fields?.find((candidate) => candidate.id === id)
    if (gate.fields !== undefined && field === undefined) continue
    const choices = new Set(field?.choices?.map((choice) => choice.id))
    const told = isStructural(value, field, choices) ? value : written(value, choices, gate.tell)
    if (told !== undefined) kept.push([id, told])
  }
  return Object.fromEntries(kept)
}

function isStructural(value: unknown, field: FieldSpec | undefined, choices: Set<unknown>): boolean {
  if (field === undefined) return typeof value === "number" || typeof value === "boolean"
  switch (field.type) {
    case "number":
    case "boolean":
      return typeof value === field.type
    case "select":
      return Array.isArray(value) ? value.every((element) => choices.has(element)) : choices.has(value)
    case "string":
      return false
    default:
      return field.type satisfies never
  }
}

function written(value: unknown, choices: Set<unknown>, tell: ValuesGate["tell"]): unknown {
  if (tell === undefined) return undefined
  if (typeof value === "string") return choices.has(value) ? value : tell(value)
  if (Array.isArray(value)) {
    // An element that is itself a list or an object is no legal answer, so nothing is lost without it.
    return value.flatMap((element) => (typeof element === "object" ? [] : [written(element, choices, tell)]))
  }
  return typeof value === "number" || typeof value === "boolean" ? value : undefined
}
