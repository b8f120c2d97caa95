/**
 * The answer that a call of `opencode-aep respond` gives: option, text and values held against what the request offers, so that
 * a slip of the hand is told before anything is sent. What an answer means is for the session's owner to judge. Pure.
 */
import type { AepEvent } from "../../shared/aep.ts"
import { type Choice, type Field, fieldsOf, optionsOf } from "./request-lines.ts"

/** What was given, absent where it was not. */
export interface AnswerCall {
  option: string | undefined
  text: string | undefined
  /** Each as `field=choice`. */
  values: readonly string[] | undefined
}

/** `data.answer` of the command, and what it may be kept as; `detail` says what is offered. */
export type ReadAnswer =
  | { kind: "answer"; answer: Record<string, unknown>; capture: "metadata" | "redacted" }
  | { kind: "wrong"; detail: string }

/** Reads it for a request. */
export function readAnswer({ option, text, values }: AnswerCall, request: AepEvent): ReadAnswer {
  const options = optionsOf(request)
  const fields = fieldsOf(request)
  if (option === undefined && text === undefined && values === undefined) {
    return wrong(`give ${offer(options, fields)}, or --text with your words`)
  }
  if (values !== undefined) {
    if (option !== undefined || text !== undefined)
      return wrong("give either --value, or an option or --text")
    return readValues(values, fields)
  }
  const [only, ...more] = fields
  const choices = more.length === 0 ? [...options, ...(only?.choices ?? [])] : options
  const chosen = option === undefined ? undefined : choiceNamed(option, choices)
  if (option !== undefined && chosen === undefined)
    return wrong(`no option ${option}; give ${offer(options, fields)}`)
  return {
    kind: "answer",
    answer: {
      ...(chosen === undefined ? {} : { option: chosen.id }),
      ...(text === undefined ? {} : { text }),
    },
    capture: text === undefined ? "metadata" : "redacted",
  }
}

function readValues(given: readonly string[], fields: readonly Field[]): ReadAnswer {
  if (fields.length === 0) return wrong("the request is no form; give an option or --text")
  const values = new Map<string, string[]>()
  for (const pair of given) {
    const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(pair) ?? []
    const field = fields.find(({ id }) => id === name)
    if (name === undefined || value === undefined || field === undefined) {
      return wrong(`--value ${pair} names no question; give ${offer([], fields)}`)
    }
    const choice = choiceNamed(value, field.choices)?.id
    if (choice === undefined && !field.other) {
      return wrong(`question ${name} has no choice ${value}; its choices are ${idsOf(field.choices)}`)
    }
    values.set(name, [...(values.get(name) ?? []), choice ?? value])
  }
  const missing = fields.find(({ id, required }) => required && !values.has(id))
  if (missing !== undefined)
    return wrong(`question ${missing.id} needs an answer; give ${offer([], [missing])}`)
  const answer: Record<string, unknown> = {}
  for (const [name, chosen] of values) {
    const isMulti = fields.find(({ id }) => id === name)?.multi === true
    if (!isMulti && chosen.length > 1) return wrong(`question ${name} takes one answer`)
    answer[name] = isMulti ? chosen : chosen[0]
  }
  // Choice ids are as structural as options are, but a person's own words are not, and a value may be either.
  return { kind: "answer", answer: { values: answer }, capture: "redacted" }
}

/** By its id or its label, where that names one alone: choices are numbered, and a label may be a number too. */
function choiceNamed(text: string, choices: readonly Choice[]): Choice | undefined {
  const folded = text.trim().toLowerCase()
  const named = choices.filter(({ id, label }) => id === text || label.trim().toLowerCase() === folded)
  return named.length === 1 ? named[0] : undefined
}

function offer(options: readonly Choice[], fields: readonly Field[]): string {
  const asked = fields.map(({ id, choices }) => `--value ${id}=... (${idsOf(choices)})`)
  const offered = [...(options.length === 0 ? [] : [`one of ${idsOf(options)}`]), ...asked]
  return offered.length === 0 ? "an option" : offered.join(" or ")
}

function idsOf(choices: readonly Choice[]): string {
  return choices.length === 0 ? "own words" : choices.map(({ id }) => id).join(", ")
}

function wrong(detail: string): ReadAnswer {
  return { kind: "wrong", detail }
}
