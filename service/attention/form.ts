/**
 * An answer to the questions of a form, judged (AEP-0006): a value for each, or the form's dismissal. Who knows no forms may
 * answer a single question by option or text. Pure.
 */
import type { Json } from "../map/members.ts"
import { type Answerable, type AnswerField, invalid, type Judged, MAX_TEXT, withText } from "./judged.ts"
import { namedBy } from "./naming.ts"

/** Judges an answer to a request that is a form. */
export function judgeForm(
  option: string | undefined,
  text: string | undefined,
  values: unknown,
  request: Answerable,
): Judged {
  if (values === undefined) return judgeWord(option, text?.trim() ?? "", request)
  // Either would be the whole answer, and the other one would be lost.
  return option === undefined
    ? judgeValues(values, request)
    : invalid("option", "data.answer: give either an option or values")
}

function judgeWord(option: string | undefined, typed: string, request: Answerable): Judged {
  const { fields, options } = request
  if (option !== undefined && options.some(({ id }) => id === option)) return dismissed(option, typed)
  const [only, ...more] = fields
  if (only === undefined || more.length > 0) {
    const named = namedBy(typed, options)
    if (option === undefined && named.kind === "one") return dismissed(named.entry.id, "")
    return invalid(
      "form",
      "data.answer.values: this form has several questions; give a value for each of them",
    )
  }
  if (option === undefined) return judgeText(typed, only, request)
  return only.choices.some(({ id }) => id === option)
    ? judgeValues({ [only.id]: option }, request)
    : invalid("option", `data.answer.option: the choices are ${only.choices.map(({ id }) => id).join(", ")}`)
}

function judgeText(typed: string, field: AnswerField, request: Answerable): Judged {
  const named = namedBy(typed, [...field.choices, ...request.options])
  switch (named.kind) {
    case "one":
      return request.options.includes(named.entry)
        ? dismissed(named.entry.id, "")
        : judgeValues({ [field.id]: named.entry.id }, request)
    // Choices are numbered, and a label may be a number too: to take the wrong one would be an answer that nobody gave.
    case "clash":
      return invalid(
        "text",
        "data.answer.text: is the id of one choice and the label of another; give an id in data.answer.values",
      )
    // A label that two have goes as it was typed: the agent knows no more than labels either.
    case "twins":
    case "none":
      return judgeValues({ [field.id]: typed }, request)
    default:
      return named satisfies never
  }
}

function dismissed(option: string, reason: string): Judged {
  return { kind: "apply", answer: withText(option, reason), deed: { kind: "dismiss" } }
}

function judgeValues(given: unknown, { fields }: Answerable): Judged {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return invalid("values", "data.answer.values: expected an object with a value for each question")
  }
  const values: Json = {}
  const answers: (number | string)[][] = []
  const known = new Set(fields.map(({ id }) => id))
  for (const id of Object.keys(given)) {
    if (!known.has(id))
      return invalid("values", "data.answer.values: has a value for a question the form does not have")
  }
  for (const field of fields) {
    const value: unknown = Object.getOwnPropertyDescriptor(given, field.id)?.value
    const path = `data.answer.values.${field.id}`
    if (value === undefined || (Array.isArray(value) && value.length === 0)) {
      if (field.required) return invalid("values", `${path}: this question needs an answer`)
      answers.push([])
      continue
    }
    if (Array.isArray(value) && !field.multi)
      return invalid("values", `${path}: takes one choice, not a list`)
    const chosen = new Map<string, number | string>()
    for (const element of Array.isArray(value) ? value : [value]) {
      const read = elementOf(element, field)
      if (read === undefined) {
        const instead = field.other ? ` or a text of at most ${MAX_TEXT} characters` : ""
        return invalid(
          "values",
          `${path}: expected one of ${field.choices.map(({ id }) => id).join(", ")}${instead}`,
        )
      }
      chosen.set(String(element), read)
    }
    answers.push([...chosen.values()])
    values[field.id] = field.multi ? [...chosen.keys()] : [...chosen.keys()][0]
  }
  return { kind: "apply", answer: { values }, deed: { kind: "answers", answers } }
}

/** A choice by its place, or the person's own words where the question takes some. */
function elementOf(value: unknown, field: AnswerField): number | string | undefined {
  if (typeof value !== "string" || value.length > MAX_TEXT) return undefined
  const at = field.choices.findIndex(({ id }) => id === value)
  if (at >= 0) return at + 1
  return field.other && value.trim() !== "" ? value : undefined
}
