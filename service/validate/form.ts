/**
 * Answers against what was asked: the option that was on offer, the values of a form (AEP-0002 §5.3, AEP-0006), and
 * what of them may be told at `metadata`. A command carries what somebody typed: only what it tells is judged there,
 * whether it is a good answer is the target's to say.
 */
import { isAboveCeiling } from "../../shared/aep.ts"
import { type FieldSpec, isObject } from "../../shared/aep-payloads.ts"
import { objectOf } from "../map/members.ts"
import type { Asks } from "./asks.ts"
import type { Rule, Tell } from "./event.ts"

const PATH = "data.answer.values"

/** The answer rule; the request is found by `subject`. */
export function answers(asks: Asks): Rule {
  return (event, tell) => {
    const isAnswer = event.type === "attention.answered"
    if (!isAnswer && event.type !== "control.attention.respond") return
    const { option, values } = objectOf(event.data?.answer)
    const ask = asks.find(event)
    if (isAnswer && typeof option === "string" && ask?.options?.has(option) === false) {
      tell(
        "attention.option",
        "data.answer.option is none of the options of the request",
        "data.answer.option",
      )
    }
    if (!isObject(values)) return
    const isBelowRedacted = event.capture !== undefined && isAboveCeiling("redacted", event.capture)
    if (isBelowRedacted) judgeCapture(values, ask?.fields, tell)
    if (isAnswer && ask?.fields !== undefined) judgeValues(values, ask.fields, isBelowRedacted, tell)
  }
}

/** At `metadata` a value is a number, a boolean or a choice; without the form a text may be either. */
function judgeCapture(
  values: Record<string, unknown>,
  fields: readonly FieldSpec[] | undefined,
  tell: Tell,
): void {
  for (const [id, value] of Object.entries(values)) {
    if (typeof value === "number" || typeof value === "boolean") continue
    const field = fields?.find((each) => each.id === id)
    if (field === undefined) {
      const why = fields === undefined ? "the form is not in this file" : "the form has no such field"
      tell(
        "capture.values-unjudged",
        `${PATH} holds text and ${why}; at metadata only choices may stand`,
        PATH,
      )
    } else if (field.type !== "select" || !elements(value).every((each) => isChoice(field, each))) {
      tell(
        "capture.values",
        `${PATH} holds free text, which needs redacted, and the event declares less`,
        PATH,
      )
    }
  }
}

/** The values of an answer against the fields of its request. Below `redacted` text was left out: that is no gap. */
function judgeValues(
  values: Record<string, unknown>,
  fields: readonly FieldSpec[],
  isBelowRedacted: boolean,
  tell: Tell,
): void {
  fields.forEach((field, index) => {
    const which = `question ${index + 1} of the form`
    if (!Object.hasOwn(values, field.id)) {
      const isLeftOut = isBelowRedacted && (field.type === "string" || field.type === "select")
      if (field.required === true && !isLeftOut)
        tell("form.required", `${which} is required and has no value`, PATH)
      return
    }
    const value = values[field.id]
    if (field.type === "select") judgeSelect(value, field, which, tell)
    else if (typeof value !== field.type) tell("form.value", `${which} wants a ${field.type}`, PATH)
    else if (typeof value === "number" && (value < (field.min ?? value) || value > (field.max ?? value))) {
      tell("form.value", `${which} has a value outside its bounds`, PATH)
    }
  })
  const known = new Set(fields.map(({ id }) => id))
  const foreign = Object.keys(values).filter((id) => !known.has(id)).length
  if (foreign > 0) tell("form.value", `${foreign} of the values belong to no question of the form`, PATH)
}

function judgeSelect(value: unknown, field: FieldSpec, which: string, tell: Tell): void {
  if (Array.isArray(value) && field.multi !== true)
    tell("form.value", `${which} takes one choice, not a list`, PATH)
  const isAccepted = elements(value).every(
    (each) => isChoice(field, each) || (field.other === true && typeof each === "string"),
  )
  if (isAccepted) return
  const instead = field.other === true ? ", nor a text" : ", and takes no other text"
  tell("form.choice", `${which} has a value that is none of its choices${instead}`, PATH)
}

const elements = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

const isChoice = (field: FieldSpec, value: unknown): boolean =>
  field.choices?.some((choice) => choice.id === value) === true
