/**
 * An answer given from elsewhere, judged against the request it is for (AEP-0002 §5.3, AEP-0006, AEP-0008): what it does, or
 * why it does nothing. Pure. Never permissive beyond doubt: a text that names no option allows nothing.
 */
import { type Json, objectOf, textOf } from "../map/members.ts"
import type { Way } from "../map/request.ts"
import { judgeForm } from "./form.ts"
import { type Answerable, type AnswerField, invalid, type Judged, MAX_TEXT, withText } from "./judged.ts"
import { type Entry, namedBy } from "./naming.ts"

export type { Answerable, Applied, Deed } from "./judged.ts"

/**
 * Consents that name no option. Taken as a reason they would refuse what their sender meant to allow: better asked again. The
 * options of other roads are among them, for who knows one of them may well try them on the next.
 */
const CONSENTS: ReadonlySet<string> = new Set([
  ...["y", "yes", "yes please", "yes to all", "yeah", "yep", "ok", "okay", "sure", "fine", "lgtm"],
  ...["once", "always", "allow", "allow it", "allow this", "allow all", "allow once", "allow always"],
  ...["always allow", "approve", "approve all", "approved", "accept", "accepted"],
  ...["go", "go ahead", "go on", "do it", "proceed", "continue"],
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
  if (option !== undefined) {
    if (!request.options.some((offered) => offered.id === option)) {
      return invalid("option", `data.answer.option: the options are ${idsOf(request)}`)
    }
    return permission(option, text, request)
  }
  const named = namedBy(text, request.options)
  if (named.kind === "one") return permission(named.entry.id, "", request)
  if (named.kind !== "none") {
    return invalid("text", `data.answer.text: could be several options; the options are ${idsOf(request)}`)
  }
  if (isNoReason(text)) {
    return invalid("text", `data.answer.text: names no option; the options are ${idsOf(request)}`)
  }
  // AEP-0002 §5.3: what names no option refuses, and is the reason.
  return permission(request.way === "hook" ? "deny" : "reject", text, request)
}

/** A bare consent, or nothing that was said in words: a thumb, a number from somebody's list. */
function isNoReason(text: string): boolean {
  const words = text
    .toLowerCase()
    .replace(/[^\p{L}]+/gu, " ")
    .trim()
  return words === "" || CONSENTS.has(words)
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

function idsOf({ options }: Answerable): string {
  return options.map(({ id }) => id).join(", ")
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

function listed(value: unknown): Entry[] {
  return (Array.isArray(value) ? value : []).flatMap((entry) => {
    const { id, label } = objectOf(entry)
    const name = textOf(id)
    return name === undefined ? [] : [{ id: name, label: textOf(label) ?? name }]
  })
}
