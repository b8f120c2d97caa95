/**
 * Reads a proven decision. What it says was written by the service, maybe one of another version: a kind or a shape that is not
 * known here is none.
 */
import type { CommandTag, Decision } from "../../shared/moments.ts"
import { asFields, asText, type Fields } from "./fields.ts"

/** The decision, or undefined when this version knows no such. */
export function readDecision(text: string): Decision | undefined {
  const fields = parse(text)
  const session = asText(fields.session)
  if (session === undefined) return undefined
  if (fields.kind === "cancel") {
    const run = asText(fields.run)
    return run === undefined ? undefined : { kind: "cancel", session, run }
  }
  const ask = asText(fields.ask)
  return ask === undefined ? undefined : readAbout(fields, { session, ask })
}

function readAbout(fields: Fields, about: { session: string; ask: string }): Decision | undefined {
  const { kind, ms } = fields
  if (kind === "lapse") return { kind, ...about }
  if (kind === "pending") return typeof ms === "number" && ms >= 0 ? { kind, ...about, ms } : undefined
  const by = readTag(fields.by)
  if (by === undefined) return undefined
  switch (kind) {
    case "reply": {
      const { reply } = fields
      if (reply !== "once" && reply !== "always" && reply !== "reject") return undefined
      const message = asText(fields.message)
      return { kind, ...about, reply, ...(message === undefined ? {} : { message }), by }
    }
    case "answers": {
      const answers = readAnswers(fields.answers)
      return answers === undefined ? undefined : { kind, ...about, answers, by }
    }
    case "dismiss":
      return { kind, ...about, by }
    case "hook": {
      const { status } = fields
      return status === "allow" || status === "deny" ? { kind, ...about, status, by } : undefined
    }
    default:
      return undefined
  }
}

function readAnswers(value: unknown): (number | string)[][] | undefined {
  if (!Array.isArray(value)) return undefined
  const answers: (number | string)[][] = []
  for (const parts of value) {
    if (!Array.isArray(parts)) return undefined
    if (!parts.every((part) => typeof part === "string" || Number.isInteger(part))) return undefined
    answers.push(parts)
  }
  return answers
}

function readTag(value: unknown): CommandTag | undefined {
  const { command, mark } = asFields(value)
  return typeof command === "string" && typeof mark === "string" ? { command, mark } : undefined
}

function parse(text: string): Fields {
  try {
    return asFields(JSON.parse(text))
  } catch {
    // Proven and no JSON: a service of another make. Nothing of it is known.
    return {}
  }
}
