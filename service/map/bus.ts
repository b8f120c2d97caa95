/**
 * The bus half of the mapping (AEP-0002 A.7, A.8) as a table: one row a bus type, beside the annex. A row sees one
 * event and nothing else; when a run opens, which ask a reply belongs to and what is a repeat are decided by the
 * session rules. Pure.
 */
import { askDraft, questionDraft, readAsk, readQuestion } from "./attention.ts"
import type { Draft } from "./draft.ts"
import { identifierOf, idOf, qualifiedNameOf } from "./identifier.ts"
import { countOf, type Json, objectOf, textOf } from "./members.ts"
import type { Profile } from "./profile.ts"
import { vendorType } from "./vendor-type.ts"

/** A row: the draft, or nothing where the annex says so. */
type Row = (properties: Json, profile: Profile) => Draft | undefined

/**
 * D-03 The annex carries asks in the held hook and keeps the bus silent. OpenCode 1.18 declares that hook and never
 * calls it (surface.md §3), and publishes `permission.asked` and `question.asked` instead: the Kilo >= 7.4.6 rows
 * of A.8 therefore hold for every vendor, and 1.18's `v2` twins read the same.
 */
const ASKED: Row = (properties, profile) => {
  const ask = readAsk(properties)
  return ask && askDraft(ask, profile.askOptions, ["control"])
}

const QUESTION_ASKED: Row = (properties, profile) => {
  const question = readQuestion(properties)
  return question && questionDraft(question, profile, ["control"])
}

/** Both spellings of the vendor id; the session rules put our request's id in its place (AEP-0002 §7.1). */
const settled =
  (resolution: "answered" | "dismissed"): Row =>
  (properties) => ({
    type: "attention.resolved",
    ...subject(idOf(properties.requestID) ?? idOf(properties.permissionID)),
    data: { resolution },
  })

const MESSAGE_UPDATED: Row = (properties, profile) => {
  const info = objectOf(properties.info)
  if (info.role === "user") return { type: "run.started", data: { trigger: "user" } }
  return {
    type: `x.${profile.namespace}.message.updated`,
    data: { ...name("role", info.role), ...usage(objectOf(info.tokens)) },
  }
}

const ROWS: Readonly<Record<string, Row>> = {
  "session.created": (properties, profile) => startedDraft(objectOf(properties.info), profile),
  "session.deleted": () => ({ type: "session.ended", data: { reason: "normal" } }),
  "session.idle": () => ({ type: "run.finished", data: {} }),
  "session.compacted": () => ({ type: "session.compacted", data: {} }),
  "session.status": (properties) => {
    const status = objectOf(properties.status)
    return {
      type: "progress.status",
      ...subject(identifierOf(status.type)),
      data: text("message", status.message),
    }
  },
  "session.error": (properties, profile) => {
    const error = objectOf(properties.error)
    return {
      type: `x.${profile.namespace}.session.error`,
      severity: "error",
      data: textOf(error.name) === undefined ? {} : { type: errorNameOf(error.name) },
      content: text("message", objectOf(error.data).message),
    }
  },
  "message.updated": MESSAGE_UPDATED,
  "permission.updated": () => undefined,
  "permission.asked": ASKED,
  "permission.v2.asked": ASKED,
  "permission.replied": settled("answered"),
  "permission.v2.replied": settled("answered"),
  "question.asked": QUESTION_ASKED,
  "question.v2.asked": QUESTION_ASKED,
  "question.replied": settled("answered"),
  "question.v2.replied": settled("answered"),
  "question.rejected": settled("dismissed"),
  "question.v2.rejected": settled("dismissed"),
  "todo.updated": () => undefined,
  "file.edited": (properties, profile) => ({
    type: `x.${profile.namespace}.file.edited`,
    data: {},
    content: text("file", properties.file),
  }),
  "command.executed": (properties, profile) => {
    const command = qualifiedNameOf(properties.name)
    return {
      type: `x.${profile.namespace}.command.executed`,
      data: command === undefined ? {} : { name: command },
      content: {
        ...(command === undefined ? text("name", properties.name) : {}),
        ...text("arguments", properties.arguments),
      },
    }
  },
}

/** Maps one bus event; unknown names take the mechanical fallback, with empty data. */
export function mapBusEvent(type: string, properties: Json, profile: Profile): Draft | undefined {
  const row = Object.hasOwn(ROWS, type) ? ROWS[type] : undefined
  return row === undefined
    ? { type: vendorType(profile.namespace, type), data: {} }
    : row(properties, profile)
}

/** Bus types with a row of their own, for the table test. */
export const MAPPED_BUS_TYPES: readonly string[] = Object.keys(ROWS)

/** `session.started` from whatever the agent tells about a session. Title and directory are content. */
export function startedDraft(info: Json, profile: Profile): Draft {
  const parent = identifierOf(info.parentID)
  return {
    type: "session.started",
    data: {
      client: { name: profile.agent, ...name("version", info.version) },
      ...(parent === undefined ? {} : { parent: { session: parent } }),
      ...text("label", info.title),
      ...text("cwd", info.directory),
    },
  }
}

/**
 * Token counts as the annex reads them. Both 0 says nothing (every message begins so, and providers that do not
 * count report it): absent then. The pinned row has counts, so it is met either way.
 */
export function usage(tokens: Json): Json {
  const input = countOf(tokens.input)
  const output = countOf(tokens.output)
  if ((input ?? 0) === 0 && (output ?? 0) === 0) return {}
  return {
    ...(input === undefined ? {} : { "gen_ai.usage.input_tokens": input }),
    ...(output === undefined ? {} : { "gen_ai.usage.output_tokens": output }),
  }
}

function subject(value: string | undefined): { subject?: string } {
  return value === undefined ? {} : { subject: value }
}

/** An error's class, by which runs are judged: that there was one must not get lost with an odd name. */
export function errorNameOf(value: unknown): string {
  return identifierOf(value) ?? "error"
}

/** A member that is structure, and so told only if it is an identifier. */
function name(member: string, value: unknown): Json {
  const found = identifierOf(value)
  return found === undefined ? {} : { [member]: found }
}

function text(name: string, value: unknown): Json {
  const found = textOf(value)
  return found === undefined ? {} : { [name]: found }
}
