/**
 * One request as people read it: who asks for what, until when, what can be answered, and the call that does it. Everything comes
 * from outside and is shown through `visible.ts`. Pure.
 */
import type { AepEvent } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import { takesCommands } from "./requests.ts"
import { visible } from "./visible.ts"

/** A choice: an option of a request, or a choice of a field. */
export interface Choice {
  id: string
  label: string
}

/** A question of a form. */
export interface Field extends Choice {
  multi: boolean
  other: boolean
  required: boolean
  choices: Choice[]
}

/** What of the request can be chosen. */
export function optionsOf({ data = {} }: AepEvent): Choice[] {
  return choicesIn(data.options)
}

/** Its questions, where it is a form. */
export function fieldsOf({ data = {} }: AepEvent): Field[] {
  return entriesIn(data.fields).map((field) => ({
    ...choiceOf(field),
    multi: field.multi === true,
    other: field.other === true,
    required: field.required === true,
    choices: choicesIn(field.choices),
  }))
}

/** The lines, without a line feed. `now`: epoch milliseconds. */
export function requestLines(request: AepEvent, now: number): string[] {
  const { id, agent, session, data = {} } = request
  const kind = text(data.kind)
  return [
    [session ?? "", agent, kind, leftOf(data.expires_at, now)].filter((part) => part !== "").join("  "),
    ...pathOf(request),
    ...indented(text(data.prompt)),
    ...fieldsOf(request).flatMap(fieldLines),
    ...columns(optionsOf(request)),
    takesCommands(request)
      ? `  $ opencode-aep respond ${id} ${exampleOf(request)}`
      : "  to be answered in the agent's own dialog only",
  ].map((line) => visible(line))
}

/** The shortest call that answers it, as an example. */
function exampleOf(request: AepEvent): string {
  const fields = fieldsOf(request)
  if (fields.length === 0) return optionsOf(request)[0]?.id ?? "--text 'your words'"
  return fields.map((field) => `--value ${field.id}=${field.choices[0]?.id ?? "'your words'"}`).join(" ")
}

/** Of a sub-agent: the way to it from the session that a person knows. */
function pathOf(request: AepEvent): string[] {
  const path: unknown = Object.getOwnPropertyDescriptor(request, `${request.agent}path`)?.value
  return typeof path === "string" ? [`  a sub-agent: ${path.split("/").join(" > ")}`] : []
}

function fieldLines(field: Field): string[] {
  const how = [field.multi ? "several" : "one", ...(field.other ? ["or own words"] : [])].join(", ")
  return [`  ${field.id}  ${field.label}  (${how})`, ...columns(field.choices).map((line) => `  ${line}`)]
}

function columns(choices: readonly Choice[]): string[] {
  const width = Math.min(24, Math.max(0, ...choices.map(({ id }) => id.length)))
  return choices.map(({ id, label }) => `  ${id.padEnd(width)}  ${label}`)
}

function indented(prompt: string): string[] {
  return prompt === "" ? [] : prompt.split("\n").map((line) => `  ${line}`)
}

function leftOf(expiresAt: unknown, now: number): string {
  const left = Date.parse(text(expiresAt)) - now
  if (Number.isNaN(left)) return ""
  if (left <= 0) return "about to lapse"
  if (left < 60_000) return `${Math.ceil(left / 1000)} s left`
  return left < 3_600_000 ? `${Math.round(left / 60_000)} min left` : `${Math.round(left / 3_600_000)} h left`
}

function choicesIn(value: unknown): Choice[] {
  return entriesIn(value).map(choiceOf)
}

function choiceOf({ id, label }: Record<string, unknown>): Choice {
  return { id: text(id), label: text(label) === "" ? text(id) : text(label) }
}

function entriesIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function text(value: unknown): string {
  return typeof value === "string" ? value : ""
}
