/**
 * Which asks and questions of the agent are open, kept from its own events alone: what may be delivered is decided here, whatever
 * the service believes. An ask that became void stays void: the agent would carry a late yes out (surface.md §0.1).
 */
import type { CommandTag } from "../../shared/moments.ts"
import { asFields, asText, type Fields } from "./fields.ts"
import { remember } from "./memory.ts"

/**
 * How an ask is answered: `reply` over the route of its own, `legacy` over the session's (1.0), `question`, or `hook`: in the
 * hook in which the agent waits.
 */
export type Family = "reply" | "legacy" | "question" | "hook"

/** One open ask. */
export interface Ask {
  readonly id: string
  readonly session: string
  readonly call: string | undefined
  readonly family: Family
  /** Of a question: the labels of its choices, for each of its parts. */
  readonly labels: readonly (readonly string[])[]
  /** What is being delivered to it, by which its echo is known. */
  delivering?: { by: CommandTag; says: string }
  /** The moment that told of it, as JSON. */
  told?: string
  /** Told when the ask is void. Must not throw. */
  onVoid?: () => void
}

/** What an event meant: the ask that it opens, or the command whose echo it is. */
export interface Seen {
  opened?: Ask
  by?: CommandTag
}

/** The open asks of one instance. */
export interface Asks {
  /** Takes a bus event. */
  see(event: Fields): Seen
  /** Opens one that the agent asks by its hook; undefined when that cannot be followed. */
  hook(permission: Fields): Ask | undefined
  /** The open ask of this id and session. */
  find(session: string, id: string): Ask | undefined
  /** No event will settle it: it is done with. */
  close(ask: Ask): void
  /** Keeps what was told of an ask, within a bound for all of them. */
  keep(ask: Ask, told: string): void
  /** Whether an event of this session was seen that tells its parent, or that it has none. */
  isPlaced(session: string): boolean
  voidAll(): void
  readonly all: Iterable<Ask>
}

/** Asks followed at once; what comes above is the agent's own dialog's alone. */
const MOST_ASKS = 2_000
/** Characters kept of all that was told. */
const MOST_TOLD = 4 * 1024 * 1024
/** Longest way up that is followed. */
const DEEPEST = 16

/** What to do about events, by their type. */
type Readers = ReadonlyMap<unknown, (properties: Fields) => Seen>

const NOTHING: Seen = {}

/** What an echo of a dismissal says. */
export const DISMISSED = "dismissed"

/** No asks. */
export function createAsks(): Asks {
  const open = new Map<string, Ask>()
  /** Parents by session; empty for a session without one. */
  const parents = new Map<string, string>()
  let kept = 0

  const close = (ask: Ask): void => {
    if (open.get(ask.id) !== ask) return
    open.delete(ask.id)
    kept -= ask.told?.length ?? 0
  }

  const annul = (ask: Ask): void => {
    close(ask)
    ask.onVoid?.()
  }

  const isBelow = (session: string, above: string): boolean => {
    let at: string | undefined = session
    for (let depth = 0; at !== undefined && at !== "" && depth < DEEPEST; depth += 1) {
      if (at === above) return true
      at = parents.get(at)
    }
    return false
  }

  const annulBelow = (session: unknown): Seen => {
    if (typeof session !== "string") return NOTHING
    for (const ask of [...open.values()]) if (isBelow(ask.session, session)) annul(ask)
    return NOTHING
  }

  const annulCall = ({ type, callID, sessionID, state }: Fields): Seen => {
    const { status } = asFields(state)
    if (type !== "tool" || (status !== "completed" && status !== "error")) return NOTHING
    for (const ask of [...open.values()]) {
      if (ask.call !== undefined && ask.call === callID && ask.session === sessionID) annul(ask)
    }
    return NOTHING
  }

  const begin = (properties: Fields, family: Family): Ask | undefined => {
    const { id, sessionID, callID, tool, questions } = properties
    const [askId, session] = [asText(id), asText(sessionID)]
    if (askId === undefined || session === undefined) return undefined
    // Twins of one ask come in two families of events, and an ask is told again.
    if (open.has(askId) || open.size >= MOST_ASKS) return undefined
    const ask: Ask = {
      id: askId,
      session,
      call: asText(callID) ?? asText(asFields(tool).callID),
      family,
      labels: family === "question" ? labelsIn(questions) : [],
    }
    open.set(askId, ask)
    return ask
  }

  const settle = (id: unknown, says: string): Seen => {
    const ask = open.get(asText(id) ?? "")
    if (ask === undefined) return NOTHING
    close(ask)
    const { delivering } = ask
    // Somebody at the terminal who was faster, with another answer, is not the command.
    return delivering?.says === says ? { by: delivering.by } : NOTHING
  }

  const placing = ({ info }: Fields): Seen => {
    const { id, parentID } = asFields(info)
    const session = asText(id)
    if (session !== undefined) remember(parents, session, asText(parentID) ?? "")
    return NOTHING
  }

  const opening =
    (family: Family) =>
    (properties: Fields): Seen => {
      const opened = begin(properties, family)
      return opened === undefined ? NOTHING : { opened }
    }
  const replied = ({ requestID, permissionID, reply, response }: Fields) =>
    settle(requestID ?? permissionID, `${reply ?? response}`)
  const answered = ({ requestID, answers }: Fields) => settle(requestID, saysAnswers(answers))
  const dismissed = ({ requestID }: Fields) => settle(requestID, DISMISSED)

  const beginnings: Readers = new Map([
    ["permission.asked", opening("reply")],
    ["permission.v2.asked", opening("reply")],
    ["permission.updated", opening("legacy")],
    ["question.asked", opening("question")],
    ["question.v2.asked", opening("question")],
    ["session.created", placing],
    ["session.updated", placing],
  ])
  const ends: Readers = new Map([
    ["permission.replied", replied],
    ["permission.v2.replied", replied],
    ["question.replied", answered],
    ["question.v2.replied", answered],
    ["question.rejected", dismissed],
    ["question.v2.rejected", dismissed],
    ["session.idle", ({ sessionID }) => annulBelow(sessionID)],
    ["session.deleted", ({ sessionID, info }) => annulBelow(asFields(info).id ?? sessionID)],
    // Any other error voids nothing: an unknown slash command is one, and the ask goes on.
    ["session.error", ({ sessionID, error }) => (isAbort(error) ? annulBelow(sessionID) : NOTHING)],
    ["message.part.updated", ({ part }) => annulCall(asFields(part))],
  ])

  return {
    see(event) {
      // This runs at every event: where nothing is open, no end is looked into.
      const read = beginnings.get(event.type) ?? (open.size === 0 ? undefined : ends.get(event.type))
      return read?.(asFields(event.properties)) ?? NOTHING
    },
    hook: (permission) => begin(permission, "hook"),
    find(session, id) {
      const ask = open.get(id)
      return ask?.session === session ? ask : undefined
    },
    close,
    keep(ask, told) {
      if (open.get(ask.id) !== ask || kept + told.length > MOST_TOLD) return
      kept += told.length - (ask.told?.length ?? 0)
      ask.told = told
    },
    isPlaced: (session) => parents.has(session),
    voidAll() {
      for (const ask of [...open.values()]) annul(ask)
    },
    get all() {
      return open.values()
    },
  }
}

function isAbort(error: unknown): boolean {
  return asFields(error).name === "MessageAbortedError"
}

/** Answers to a question, as an echo says them. */
export function saysAnswers(answers: unknown): string {
  return `answers ${JSON.stringify(answers)}`
}

function labelsIn(questions: unknown): string[][] {
  if (!Array.isArray(questions)) return []
  return questions.map((question) => {
    const { options } = asFields(question)
    return Array.isArray(options) ? options.map((option) => asText(asFields(option).label) ?? "") : []
  })
}
