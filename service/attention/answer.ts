/**
 * An answer given from elsewhere, judged against the request it is for (AEP-0002 §5.3, AEP-0006, AEP-0008): what it does, or
 * why it does nothing. Pure. Never permissive beyond doubt: a text that names no option allows nothing.
 */

import { type Json, objectOf, textOf } from "../map/members.ts"
import type { Way } from "../map/request.ts"

/** What a command answered, as the record shall tell it; also who sent it. */
export interface Applied {
  answer: { option?: string; text?: string; values?: Json }
  by: string | undefined
}

/** A request as far as answering needs it: what its event told. */
export interface Answerable {
  way: Way
  options: readonly { id: string; label: string }[]
  /** Of a form. */
  fields: readonly AnswerField[]
}

/** A question of a form; choices are known by their place from 1, which is their id. */
export interface AnswerField {
  id: string
  multi: boolean
  other: boolean
  required: boolean
  choices: readonly { id: string; label: string }[]
}

/** What the agent is to be told. */
export type Deed =
  | { kind: "reply"; reply: "once" | "always" | "reject"; message?: string }
  | { kind: "answers"; answers: (number | string)[][] }
  | { kind: "dismiss" }
  | { kind: "hook"; status: "allow" | "deny" }

/** The verdict. `why` is a word for programs, `detail` a sentence without content. */
export type Judged =
  | { kind: "apply"; answer: Applied["answer"]; deed: Deed }
  | { kind: "invalid"; why: "answer" | "option" | "text" | "values" | "form"; detail: string }

/** Longest text or value, characters. */
export const MAX_TEXT = 4096

/** Consents that name no option. Taken as a reason they would refuse what their sender meant to allow: better asked again. */
const CONSENTS: ReadonlySet<string> = new Set([
  "y",
  "yes",
  "yes please",
  "ok",
  "okay",
  "sure",
  "allow",
  "allow all",
  "approve",
  "approved",
  "go",
  "go ahead",
])

/** Judges `data.answer` of a `control.attention.respond`. */
export function judgeAnswer(given: unknown, request: Answerable): Judged {
  const answer = objectOf(given)
  const { option, text, values } = answer
  if (option === undefined && text === undefined && values === undefined) {
    return invalid("answer", "data.answer: give an option, a text or values")
  }
  if (option !== undefined && typeof option !== "string")
    return invalid("option", "data.answer.option: expected a text")
  if (text !== undefined && typeof text !== "string")
    return invalid("text", "data.answer.text: expected a text")
  if (typeof text === "string" && text.length > MAX_TEXT) {
    return invalid("text", `data.answer.text: at most ${MAX_TEXT} characters`)
  }
  if (request.way === "question") return judgeForm(option, text, values, request)
  if (values !== undefined)
    return invalid("values", "data.answer.values: this request is no form; give an option")
  return judgePermission(option, text?.trim() ?? "", request)
}

function judgePermission(option: string | undefined, text: string, request: Answerable): Judged {
  const id = option ?? optionNamed(text, request.options)
  if (id === undefined) {
    if (text === "" || CONSENTS.has(text.toLowerCase().replace(/[.!]+$/, ""))) {
      return invalid("text", `data.answer.text: names no option; the options are ${idsOf(request)}`)
    }
    // AEP-0002 §5.3: what names no option refuses, and is the reason.
    return permission(request.way === "hook" ? "deny" : "reject", text, request)
  }
  if (!request.options.some((offered) => offered.id === id)) {
    return invalid("option", `data.answer.option: the options are ${idsOf(request)}`)
  }
  return permission(id, option === undefined ? "" : text, request)
}

function permission(option: string, reason: string, { way }: Answerable): Judged {
  switch (option) {
    case "allow":
      return { kind: "apply", answer: { option }, deed: { kind: "hook", status: "allow" } }
    case "deny":
      return { kind: "apply", answer: withText(option, reason), deed: { kind: "hook", status: "deny" } }
    case "once":
    case "always":
      return { kind: "apply", answer: { option }, deed: { kind: "reply", reply: option } }
    case "reject":
      return {
        kind: "apply",
        answer: withText(option, reason),
        deed: {
          kind: "reply",
          reply: option,
          ...(reason === "" || way !== "reply" ? {} : { message: reason }),
        },
      }
    default:
      return invalid("option", "data.answer.option: the agent knows no such decision")
  }
}

function withText(option: string, text: string): Applied["answer"] {
  return text === "" ? { option } : { option, text }
}

function judgeForm(
  option: string | undefined,
  text: string | undefined,
  values: unknown,
  request: Answerable,
): Judged {
  if (values !== undefined) return judgeValues(values, request)
  const { fields, options } = request
  if (option !== undefined && options.some(({ id }) => id === option)) return dismissed(option)
  const [only, ...more] = fields
  if (only === undefined || more.length > 0) {
    return invalid(
      "form",
      "data.answer.values: this form has several questions; give a value for each of them",
    )
  }
  if (option !== undefined) {
    return only.choices.some(({ id }) => id === option)
      ? judgeValues({ [only.id]: option }, request)
      : invalid(
          "option",
          `data.answer.option: the choices are ${only.choices.map(({ id }) => id).join(", ")}`,
        )
  }
  const typed = text?.trim() ?? ""
  const choice = optionNamed(typed, only.choices) ?? optionNamed(typed, options)
  if (choice !== undefined && options.some(({ id }) => id === choice)) return dismissed(choice)
  return judgeValues({ [only.id]: choice ?? typed }, request)
}

function dismissed(option: string): Judged {
  return { kind: "apply", answer: { option }, deed: { kind: "dismiss" } }
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

/** The option that a text names: its id, or the label of exactly one (AEP-0002 §5.3). */
function optionNamed(text: string, options: readonly { id: string; label: string }[]): string | undefined {
  const typed = text.trim().toLowerCase()
  if (typed === "") return undefined
  const byId = options.filter(({ id }) => id.toLowerCase() === typed)
  const found = byId.length > 0 ? byId : options.filter(({ label }) => label.trim().toLowerCase() === typed)
  return found.length === 1 ? found[0]?.id : undefined
}

function idsOf({ options }: Answerable): string {
  return options.map(({ id }) => id).join(", ")
}

function invalid(why: Extract<Judged, { kind: "invalid" }>["why"], detail: string): Judged {
  return { kind: "invalid", why, detail }
}

/** Reads options and fields back from what a request's event told; tolerant, since it may stand in a log. */
export function answerableOf(way: Way, data: Json): Answerable {
  return { way, options: listed(data.options), fields: fieldsIn(data.fields) }
}

function fieldsIn(value: unknown): AnswerField[] {
  return (Array.isArray(value) ? value : []).flatMap((entry) => {
    const { id, multi, other, required, choices } = objectOf(entry)
    const name = textOf(id)
    if (name === undefined) return []
    return [
      {
        id: name,
        multi: multi === true,
        other: other === true,
        required: required === true,
        choices: listed(choices),
      },
    ]
  })
}

function listed(value: unknown): { id: string; label: string }[] {
  return (Array.isArray(value) ? value : []).flatMap((entry) => {
    const { id, label } = objectOf(entry)
    const name = textOf(id)
    return name === undefined ? [] : [{ id: name, label: textOf(label) ?? name }]
  })
}
