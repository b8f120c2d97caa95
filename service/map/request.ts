/**
 * What a person needs to decide from elsewhere: the request event of an ask as the running service says it, over the rows of
 * the annex (`attention.ts`). Pure.
 *
 * D-09 The pins name `control` alone, with fixed labels. Here `respond_via` says what is true of this very request: `oob` where
 * the agent's own dialog is open, `control` where an answer can be brought to it. `always` says what it will cover and `reject`
 * what it takes along (surface.md §6): a person must know before the answer, not after. A question can be dismissed, which the
 * pins have no option for.
 */
import { type Ask, askDraft, type Question, questionDraft } from "./attention.ts"
import type { Draft } from "./draft.ts"
import { type Json, listOf, objectOf, textOf } from "./members.ts"
import type { AskOption, Profile } from "./profile.ts"

/**
 * The road by which an answer reaches the agent. `reply`: its reply route, which carries a reason and where one reject takes
 * the session's other asks along; `legacy`: that of OpenCode 1.0, which does neither; `hook`: the held `permission.ask` of 1.0;
 * `question`: the reply route of questions.
 */
export type Way = "reply" | "legacy" | "hook" | "question"

/** What the moment alone does not say. */
export interface Circumstances {
  way: Way
  /** Name of the tool whose call asks; absent where it is not known. */
  tool: string | undefined
  /** Whether an answer can be brought to the agent. */
  isAnswerable: boolean
  /** Epoch milliseconds at which the request lapses. */
  expiresAt: number
  /** Dotted paths that the plugin cut from the moment. */
  cut: readonly string[] | undefined
}

/** The option that dismisses a question; no choice of a form has such an id. */
export const DISMISS: AskOption = { id: "reject", label: "Dismiss without an answer" }

/** Longest list of patterns in a label, characters. */
const MAX_PATTERNS = 160

/** The request event of a permission ask. */
export function permissionRequest(ask: Ask, value: Json, profile: Profile, about: Circumstances): Draft {
  const { way, tool } = about
  const options = way === "hook" ? profile.hookOptions : profile.askOptions
  const draft = askDraft(ask, options.map(labelled(value, way)), respondVia(about))
  const { prompt } = draft.data
  // `edit` asks for `write` as well, `external_directory` for any tool: the rule alone does not say who is at work.
  const isTold = tool === undefined || tool === ask.permission
  return {
    ...draft,
    data: {
      ...draft.data,
      ...(isTold ? {} : { prompt: `${prompt} (tool: ${tool})` }),
      expires_at: new Date(about.expiresAt).toISOString(),
      context: contextOf(ask, value, about),
    },
  }
}

/** The request event of a question. */
export function questionRequest(question: Question, profile: Profile, about: Circumstances): Draft {
  const draft = questionDraft(question, profile, respondVia(about))
  return {
    ...draft,
    data: {
      ...draft.data,
      options: [{ ...DISMISS }],
      expires_at: new Date(about.expiresAt).toISOString(),
    },
  }
}

function respondVia({ way, isAnswerable }: Circumstances): string[] {
  // While the hook is held the agent shows no dialog of its own.
  return [...(isAnswerable ? ["control"] : []), ...(way === "hook" ? [] : ["oob"])]
}

function labelled(value: Json, way: Way): (option: AskOption) => AskOption {
  const scope = scopeOfAlways(value, way)
  return ({ id, label }) => {
    if (id === "always" && scope !== undefined) return { id, label: `${label} ${scope}` }
    if (id === "reject" && way === "reply")
      return { id, label: `${label}, and all other asks of this session` }
    return { id, label }
  }
}

/** What `always` covers, and for how long. 1.0 remembers the ask's own pattern, in its session (recording permission-always). */
function scopeOfAlways(value: Json, way: Way): string | undefined {
  if (way === "legacy") {
    const patterns = textsOf(value.pattern)
    const covered =
      patterns.length > 0 ? patterns.join(", ") : `everything of ${textOf(value.type) ?? "its kind"}`
    return `in this session: ${shortened(covered)}`
  }
  const patterns = textsOf(value.always ?? value.save)
  return patterns.length === 0 ? undefined : `until the agent restarts: ${shortened(patterns.join(", "))}`
}

/** Cut between words: half a secret has no form by which redaction would know it, and half a character is no text. */
function shortened(text: string): string {
  if (text.length <= MAX_PATTERNS) return text
  return `${text.slice(0, MAX_PATTERNS + 1).replace(/\S+$/, "")}…`
}

/** Verbatim, for those who may read everything; what was cut on the way is named. */
function contextOf(ask: Ask, value: Json, { tool, cut }: Circumstances): Json {
  const metadata = objectOf(value.metadata)
  const prefix = /^(?:event\.properties|permission)\.metadata\./
  const cuts = (cut ?? []).flatMap((path) => (prefix.test(path) ? [path.replace(prefix, "")] : []))
  return {
    permission: ask.permission,
    ...(tool === undefined ? {} : { tool }),
    ...texts("patterns", value.patterns ?? value.resources ?? value.pattern),
    ...texts("always", value.always ?? value.save),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(cuts.length === 0 ? {} : { cut: cuts }),
  }
}

function texts(name: string, value: unknown): Json {
  const list = textsOf(value)
  return list.length === 0 ? {} : { [name]: list }
}

/** One text or several; whatever else stands among them is left out. */
function textsOf(value: unknown): string[] {
  return (typeof value === "string" ? [value] : listOf(value)).flatMap((text) => textOf(text) ?? [])
}
