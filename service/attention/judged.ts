/**
 * The words of an answer: what is asked, what was answered, and what it does. Judged by `answer.ts`, told and carried out by
 * session and control.
 */
import type { Json } from "../map/members.ts"
import type { Way } from "../map/request.ts"
import type { Entry } from "./naming.ts"

/** What a command answered, as the record shall tell it; also who sent it. */
export interface Applied {
  answer: { option?: string; text?: string; values?: Json }
  by: string | undefined
}

/** A request as far as answering needs it: what its event told. */
export interface Answerable {
  way: Way
  options: readonly Entry[]
  /** Of a form. */
  fields: readonly AnswerField[]
}

/** A question of a form; choices are known by their place from 1, which is their id. */
export interface AnswerField {
  id: string
  multi: boolean
  other: boolean
  required: boolean
  choices: readonly Entry[]
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

/** A verdict that nothing is done; never repeats what was given. */
export function invalid(why: Extract<Judged, { kind: "invalid" }>["why"], detail: string): Judged {
  return { kind: "invalid", why, detail }
}

/** An option as the record tells it, with the words beside it if there are any. */
export function withText(option: string, text: string): Applied["answer"] {
  return text === "" ? { option } : { option, text }
}
