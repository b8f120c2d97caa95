/**
 * The attention requests met so far, per session and owner: what the lifecycle, form and capture rules share. An open
 * request keeps its fields and options; a closed one only that it is closed. Judges nothing.
 */
import type { FieldSpec } from "../../shared/aep-payloads.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import { listOf, textOf } from "../map/members.ts"
import type { Read } from "./event.ts"

/** What is remembered of one request. */
export interface Ask {
  /** Line of the request; undefined where only what follows it is in the file. */
  line: number | undefined
  /** Line of the first answer. */
  answered?: number
  /** Line of the terminal. */
  closed?: number
  /** The form's questions, as far as they can be read; absent for other requests, and once closed. */
  fields?: readonly FieldSpec[]
  /** Ids of the options on offer; absent without any, and once closed. */
  options?: ReadonlySet<string>
}

const FIELD_TYPES: ReadonlySet<unknown> = new Set(["string", "number", "boolean", "select"])

/** Requests by session, owner and id. */
export class Asks {
  private readonly owners = new Map<number, Map<string, Ask>>()
  private readonly open = new Map<number, Set<Ask>>()
  /** Owners by session string: those who send into another's session know nothing else of it. */
  private readonly sessions = new Map<string, Set<number>>()

  /** Takes up a request; undefined for events that have no place in a session. */
  add(event: Read): void {
    const { owner, session } = event
    if (owner === undefined || session === undefined) return
    const ask: Ask = { line: event.line }
    const fields = listOf(event.data?.fields).filter(isFieldSpec)
    if (fields.length > 0) ask.fields = fields
    const options = listOf(event.data?.options).flatMap((option) =>
      isObject(option) ? (textOf(option.id) ?? []) : [],
    )
    if (options.length > 0) ask.options = new Set(options)
    this.byId(owner).set(event.id, ask)
    const open = this.open.get(owner) ?? new Set<Ask>()
    this.open.set(owner, open.add(ask))
    this.sessions.set(session, (this.sessions.get(session) ?? new Set()).add(owner))
  }

  /** The request that an event speaks of by its `subject`: of its own session, or of the one it was sent into. */
  find({ owner, session, subject }: Read): Ask | undefined {
    if (subject === undefined || session === undefined) return undefined
    if (owner !== undefined) return this.owners.get(owner)?.get(subject)
    for (const each of this.sessions.get(session) ?? []) {
      const ask = this.owners.get(each)?.get(subject)
      if (ask !== undefined) return ask
    }
    return undefined
  }

  /** Marks a request as closed. One that is not known is remembered too, so that a second terminal is seen. */
  close({ owner, subject, line }: Read, ask: Ask | undefined): void {
    if (owner === undefined || subject === undefined) return
    const closed: Ask = ask ?? { line: undefined }
    closed.closed ??= line
    delete closed.fields
    delete closed.options
    this.open.get(owner)?.delete(closed)
    this.byId(owner).set(subject, closed)
  }

  /** The requests of a session that have no terminal yet. */
  openOf(owner: number): Iterable<Ask> {
    return this.open.get(owner) ?? []
  }

  private byId(owner: number): Map<string, Ask> {
    const found = this.owners.get(owner) ?? new Map<string, Ask>()
    this.owners.set(owner, found)
    return found
  }
}

/** The payload rule says what is wrong with a field; here the damaged ones are passed over. */
function isFieldSpec(value: unknown): value is FieldSpec {
  if (!isObject(value) || typeof value.id !== "string" || !FIELD_TYPES.has(value.type)) return false
  return value.type !== "select" || (Array.isArray(value.choices) && value.choices.every(isObject))
}
