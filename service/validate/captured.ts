/**
 * Whether an event keeps to the capture level it declares (AEP-0001 §8.2, AEP-0002 §5.1): no member above it, and at
 * `metadata` no text in the four places where only structure may stand. What was redacted, and what a member that no
 * schema knows holds, cannot be seen from here. Answers to forms are judged with their form, in `form.ts`.
 */
import { type Capture, type Fields, fieldsOf, isAboveCeiling } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import type { Read, Rule, Tell } from "./event.ts"

/** No payload at `none`, and no member whose level is above the declared one. */
export const judgeLevels: Rule = ({ type, data, capture }, tell) => {
  if (data === undefined || capture === undefined) return
  if (capture === "none") {
    tell("capture.none", "data is present, and the event declares none, which is the envelope alone", "data")
    return
  }
  const fields = fieldsOf(type)
  if (fields !== undefined) walk(data, fields, capture, "data", tell)
}

function walk(
  value: Record<string, unknown>,
  fields: Fields,
  capture: Capture,
  path: string,
  tell: Tell,
): void {
  for (const [name, field] of fields) {
    if (!Object.hasOwn(value, name)) continue
    const member = value[name]
    const where = `${path}.${name}`
    if (isAboveCeiling(field.level, capture)) {
      tell("capture.above", `${where} needs ${field.level}, and the event declares ${capture}`, where)
    } else if (field.members !== undefined && isObject(member)) {
      walk(member, field.members, capture, where, tell)
    } else if (field.item !== undefined && Array.isArray(member)) {
      const { item } = field
      member.forEach((entry, index) => {
        if (isObject(entry)) walk(entry, item, capture, `${where}[${index}]`, tell)
      })
    }
  }
}

/**
 * Prompt and labels of a request at `metadata`. Held for structure: a prompt put together from agent, kind and subject
 * or from the number of questions, and a label that is its id or its 1-based index. Anything else may be structural in
 * a way that only the emitter knows, so it is doubtful, not wrong.
 */
export const judgeStructure: Rule = (event, tell) => {
  if (event.type !== "attention.requested" || event.data === undefined) return
  if (event.capture === undefined || !isAboveCeiling("redacted", event.capture)) return
  const { prompt, options, fields } = event.data
  if (typeof prompt === "string" && !structuralPrompts(event).includes(prompt)) {
    tell(
      "capture.prompt",
      "data.prompt is not put together from agent, kind and subject; at metadata no other text is allowed",
      "data.prompt",
    )
  }
  judgeLabels(options, "data.options", tell)
  judgeLabels(fields, "data.fields", tell)
  if (!Array.isArray(fields)) return
  fields.forEach((field, index) => {
    if (isObject(field)) judgeLabels(field.choices, `data.fields[${index}].choices`, tell)
  })
}

function structuralPrompts({ agent, subject, data }: Read): string[] {
  const request = `${agent} requests ${String(data?.kind)}`
  const count = Array.isArray(data?.fields) ? data.fields.length : 0
  return [
    request,
    ...(subject === undefined ? [] : [`${request}: ${subject}`]),
    ...(count === 0 ? [] : [`${agent} asks ${count} question${count === 1 ? "" : "s"}`]),
  ]
}

function judgeLabels(entries: unknown, path: string, tell: Tell): void {
  if (!Array.isArray(entries)) return
  entries.forEach((entry, index) => {
    if (!isObject(entry) || typeof entry.label !== "string") return
    if (entry.label === entry.id || entry.label === String(index + 1)) return
    const where = `${path}[${index}].label`
    tell("capture.label", `${where} is neither its id nor its index; at metadata no text is allowed`, where)
  })
}
