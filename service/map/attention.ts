/**
 * Asks and questions of the agent as attention requests (AEP-0002 A.7 and A.8, AEP-0006). Pure. Reads all
 * spellings one ask comes in: `permission.asked`, its `permission.v2.asked` twin, 1.0's `permission.updated` and
 * hook, `question.asked` and its twin.
 */
import type { Draft } from "./draft.ts"
import { identifierOf, idOf } from "./identifier.ts"
import { type Json, listOf, objectOf, textOf } from "./members.ts"
import type { AskOption, Profile } from "./profile.ts"

/** An ask, whatever family of events it came in. */
export interface Ask {
  /** The vendor's request id: one ask, one id, in every family. */
  id: string
  /** The rule that asked (`bash`, `edit`, `external_directory`), not the tool. */
  permission: string
  /** What it is about, in the agent's words; content. */
  title: string | undefined
  callID: string | undefined
}

/** Reads an ask; absent when it has no id to answer to. */
export function readAsk(value: Json): Ask | undefined {
  const id = idOf(value.id)
  if (id === undefined) return undefined
  const metadata = objectOf(value.metadata)
  const call = objectOf(value.tool ?? value.source)
  return {
    id,
    permission: identifierOf(textOf(value.permission) ?? textOf(value.type) ?? value.action) ?? "permission",
    title:
      textOf(value.title) ??
      textOf(metadata.command) ??
      textOf(metadata.filepath) ??
      patternText(value.patterns ?? value.resources ?? value.pattern),
    callID: idOf(value.callID) ?? idOf(call.callID),
  }
}

function patternText(value: unknown): string | undefined {
  if (typeof value === "string") return textOf(value)
  return textOf(
    listOf(value)
      .filter((item) => typeof item === "string")
      .join(", "),
  )
}

/** The request event of an ask. Prompt text is gated by `capture`; at `metadata` it is synthesised. */
export function askDraft(ask: Ask, options: readonly AskOption[], respondVia: readonly string[]): Draft {
  return {
    type: "attention.requested",
    subject: ask.permission,
    data: {
      kind: "permission",
      prompt:
        ask.title === undefined
          ? `Permission requested: ${ask.permission}`
          : `Permission requested: ${ask.permission} — ${ask.title}`,
      options: options.map((option) => ({ ...option })),
      respond_via: [...respondVia],
    },
  }
}

/** A question of the agent: one request, one form, however many questions it holds. */
export interface Question {
  id: string
  callID: string | undefined
  fields: readonly QuestionField[]
}

export interface QuestionField {
  label: string
  multi: boolean
  other: boolean
  choices: readonly string[]
}

/** Reads a question; absent when it has no id or asks nothing. */
export function readQuestion(value: Json): Question | undefined {
  const id = idOf(value.id)
  const fields = listOf(value.questions).map((entry): QuestionField => {
    const question = objectOf(entry)
    const text = textOf(question.question) ?? ""
    const header = textOf(question.header)
    return {
      label: header === undefined ? text : `${header}: ${text}`,
      multi: question.multiple === true,
      // The vendor's default: absent means that own text is welcome.
      other: question.custom !== false,
      choices: listOf(question.options).map((option) => textOf(objectOf(option).label) ?? ""),
    }
  })
  if (id === undefined || fields.length === 0) return undefined
  return { id, fields, callID: idOf(objectOf(value.tool).callID) }
}

/** Field and choice ids are 1-based indexes, structural at every ceiling (AEP-0002 A.1, A.8). */
export function formFields(question: Question): Json[] {
  return question.fields.map((field, index) => ({
    id: String(index + 1),
    type: "select",
    label: field.label === "" ? String(index + 1) : field.label,
    required: true,
    ...(field.multi ? { multi: true } : {}),
    other: field.other,
    choices: field.choices.map((label, choice) => ({
      id: String(choice + 1),
      label: label === "" ? String(choice + 1) : label,
    })),
  }))
}

/** The request event of a question. */
export function questionDraft(question: Question, profile: Profile, respondVia: readonly string[]): Draft {
  const count = question.fields.length
  return {
    type: "attention.requested",
    subject: question.id,
    data: {
      kind: "form",
      prompt: `${profile.agent} asks ${count} question${count === 1 ? "" : "s"}`,
      fields: formFields(question),
      respond_via: [...respondVia],
    },
  }
}

/**
 * The agent's own answer (`answers: [[label, ...], ...]`, one list a question) as form values: labels become choice
 * ids, own text stays text (and is gated as such), a question without an answer has no value. `choices` may hold
 * the labels in another form; `keyOf` then brings an answered label into it.
 */
export function formValues(
  choices: readonly QuestionField[],
  answers: unknown,
  keyOf: (label: string) => string = (label) => label,
): Json {
  const values: Json = {}
  listOf(answers).forEach((answer, index) => {
    const field = choices[index]
    if (field === undefined) return
    const ids = listOf(answer).flatMap((label) => {
      if (typeof label !== "string") return []
      const choice = field.choices.indexOf(keyOf(label))
      return [choice >= 0 ? String(choice + 1) : label]
    })
    const [only] = ids
    if (only === undefined) return
    values[String(index + 1)] = field.multi ? ids : only
  })
  return values
}
