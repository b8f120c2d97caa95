/**
 * Which requests wait for an answer, told from a session's own events: each is open from its `attention.requested` to the one
 * event that ends it (AEP-0002 §7). Pure. Used by `pending-command.ts` and `respond-command.ts`.
 */
import type { AepEvent } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"

/** What an event did to the list. */
export type Change =
  | { kind: "asked"; request: AepEvent }
  /** `how` in words for people. */
  | { kind: "ended"; request: AepEvent; how: string }

/** Characters of an id that name a request: a slip of the hand must not answer whatever waits. */
const LEAST = 4
/** Requests that have ended and are remembered with how they did. */
const MOST_ENDED = 10_000

/** See the head of the file. */
export class Requests {
  private readonly waiting = new Map<string, AepEvent>()
  private readonly gone = new Map<string, { request: AepEvent; how: string }>()
  private readonly answers = new Map<string, string>()

  /** Takes the next event; undefined when the list stays as it was. */
  take(event: AepEvent): Change | undefined {
    const { type, session, id, subject } = event
    if (type === "attention.requested") {
      this.waiting.set(keyOf(session, id), event)
      return { kind: "asked", request: event }
    }
    const key = keyOf(session, subject)
    const request = this.waiting.get(key)
    if (request === undefined) return undefined
    if (type === "attention.answered") {
      this.answers.set(key, saidOf(event))
      return undefined
    }
    if (type !== "attention.resolved" && type !== "attention.timeout") return undefined
    const how = endOf(event, this.answers.get(key))
    this.waiting.delete(key)
    this.answers.delete(key)
    this.gone.set(key, { request, how })
    for (const eldest of this.gone.keys()) {
      if (this.gone.size <= MOST_ENDED) break
      this.gone.delete(eldest)
    }
    return { kind: "ended", request, how }
  }

  /** Those that wait, the oldest first. */
  get open(): AepEvent[] {
    return [...this.waiting.values()]
  }

  /** Those whose id is this, or else begins or ends with it; and how the one of this id ended, if it did. */
  named(text: string): { open: AepEvent[]; ended: string | undefined } {
    const exact = this.open.filter(({ id }) => id === text)
    const isPart = (id: string): boolean => id.startsWith(text) || id.endsWith(text)
    const open = exact.length > 0 || text.length < LEAST ? exact : this.open.filter(({ id }) => isPart(id))
    const ended = [...this.gone.values()].find(({ request }) => request.id === text)?.how
    return { open, ended }
  }
}

/** Whether a command can answer the request: `respond_via` is absent or lists `control` (AEP-0002 §5). */
export function takesCommands({ data = {} }: AepEvent): boolean {
  const via = data.respond_via
  return !Array.isArray(via) || via.includes("control")
}

function saidOf({ data = {} }: AepEvent): string {
  const answer = isObject(data.answer) ? data.answer : {}
  const where = data.via === "control" ? "over the protocol" : "at the agent"
  const what = typeof answer.option === "string" ? `${answer.option}, ` : ""
  const by = typeof data.by === "string" ? ` by ${data.by}` : ""
  return `${what}${where}${by}`
}

function endOf({ type, data = {} }: AepEvent, said: string | undefined): string {
  if (type === "attention.timeout") return "nobody answered in time"
  if (data.resolution === "answered") return said === undefined ? "answered" : `answered: ${said}`
  if (data.resolution === "auto") return "settled together with another one"
  return "withdrawn by the agent"
}

function keyOf(session: string | undefined, id: string | undefined): string {
  return `${session ?? ""} ${id ?? ""}`
}
