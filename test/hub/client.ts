/**
 * A party that knows the endpoint by its address and token alone, as the live checker does: it posts synthetic events,
 * reads `/stream` and opens `/socket`. Whatever it reads is held to the strictest reading of the binding.
 */
import { ulid } from "ulid"
import type { AepEvent } from "../../shared/aep.ts"
import { SseReader } from "../fast/doors-sse-reader.ts"
import { Client } from "../fast/hub-socket-client.ts"

const AGENT = "aep-live-check"

export const HELLO = { type: "hello", versions: ["0.1"], role: "consumer" }
/** The identity differs from the agent of the events, as the checker's does. */
export const EMITTER = { ...HELLO, role: "emitter", identity: { agent: `${AGENT}-owner`, instance: "one" } }

/** A position in a session. */
export interface At {
  session: string
  epoch?: number
  seq: number
}

/** What is asked of `/stream`. */
export interface Query {
  filter?: object
  from?: "all" | readonly At[]
  capture?: string
}

/** A synthetic event, well formed; `undefined` takes a member away. */
export function eventOf(session: string, type: string, members: Record<string, unknown> = {}): AepEvent {
  const whole: Record<string, unknown> = {
    aep: "0.1",
    id: ulid(),
    type,
    time: new Date().toISOString(),
    source: `aep://live-check/agent/${AGENT}/session/${session}`,
    agent: AGENT,
    session,
    epoch: 0,
    seq: 0,
    ...members,
  }
  for (const name of Object.keys(whole)) if (whole[name] === undefined) delete whole[name]
  return whole as AepEvent
}

/** The events of a whole session: started, one tool, ended. */
export function sessionOf(session: string): AepEvent[] {
  return [
    eventOf(session, "session.started", { data: {} }),
    eventOf(session, "tool.completed", { seq: 1, data: { tool: "probe", call_id: "c1" } }),
    eventOf(session, "session.ended", { seq: 2, data: { reason: "normal" } }),
  ]
}

/** A command; it has no position. */
export function commandOf(session: string, type: string, members: Record<string, unknown> = {}): AepEvent {
  return eventOf(session, type, { epoch: undefined, seq: undefined, data: {}, ...members })
}

let sessions = 0
/** A session's name that no other test of this process uses. */
export function newSession(): string {
  sessions += 1
  return `live-${sessions}-${ulid().slice(-8)}`
}

/** See the head of the file. */
export class Party {
  constructor(
    readonly base: string,
    readonly token?: string,
  ) {}

  /** A request with the token, where there is one. */
  ask(path: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) {
    const shown: Record<string, string> =
      this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }
    return fetch(`${this.base}${path}`, { ...init, headers: { ...shown, ...init.headers } })
  }

  /** Posts events, one a line. */
  post(events: readonly object[], headers: Record<string, string> = {}): Promise<Response> {
    return this.ask("/events", {
      method: "POST",
      headers: { "aep-version": "0.1", "content-type": "application/x-ndjson", ...headers },
      body: events.map((event) => `${JSON.stringify(event)}\n`).join(""),
    })
  }

  /** Posts events that are taken. */
  async told(events: readonly object[]): Promise<void> {
    const { status } = await this.post(events)
    if (status !== 202) throw new Error(`events were answered ${status}`)
  }

  /** A stream that stands: whatever is posted from now on comes. */
  async stream(query: Query, headers: Record<string, string> = {}): Promise<SseReader> {
    const answer = await this.ask(`/stream?${queryOf(query)}`, { headers })
    const type = answer.headers.get("content-type")
    if (answer.status !== 200 || type !== "text/event-stream") throw new Error(`${answer.status} ${type}`)
    return new SseReader(answer)
  }

  /** What is held, up to the end of the answer: comments, and events as text, in order. */
  async held(query: Query): Promise<{ comments: string[]; texts: string[]; events: AepEvent[] }> {
    const reader = new SseReader(await this.ask(`/stream?live=0&${queryOf(query)}`))
    const parts = await reader.rest()
    const texts = parts.flatMap((part) => (part.kind === "event" ? [part.data] : []))
    return {
      comments: parts.flatMap((part) => (part.kind === "comment" ? [part.text] : [])),
      texts,
      events: texts.map((text) => JSON.parse(text)),
    }
  }

  /** A socket that is open and has said nothing. */
  open(): Promise<Client> {
    return Client.open(this.socketUrl)
  }

  /** A socket whose hello was answered. */
  greeted(hello: object = HELLO): Promise<Client> {
    return Client.greeted(this.socketUrl, hello)
  }

  /** An owner whose claim of a new session stands. */
  async owner(session: string, control: object): Promise<Client> {
    const owner = await this.greeted({ ...EMITTER, capabilities: { control, emits: ["session.*"] } })
    owner.send(eventOf(session, "session.started"))
    await owner.settled()
    return owner
  }

  /** The socket's address; the token stands in the query, since a browser cannot set a header. */
  get socketUrl(): string {
    const query = this.token === undefined ? "" : `?access_token=${this.token}`
    return `${this.base.replace("http", "ws")}/socket${query}`
  }
}

function queryOf({ filter, from, capture }: Query): string {
  const query = new URLSearchParams()
  if (filter !== undefined) query.set("filter", JSON.stringify(filter))
  if (from !== undefined) query.set("from", from === "all" ? from : JSON.stringify(from))
  if (capture !== undefined) query.set("capture", capture)
  return query.toString()
}
