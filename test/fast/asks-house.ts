/**
 * What the suites about asks and their answers share: an agent's moments, a plugin that polls and reports, a person who sends
 * commands, and the record told as lines that a reader can follow. The house beneath is the service's own parts.
 */
import type { Desk } from "../../service/session/desk.ts"
import type { AepEvent } from "../../shared/aep.ts"
import type { CommandTag, Decision, DeliveryStatus, DownMessage, MomentBody } from "../../shared/moments.ts"
import { Clock } from "../clock.ts"
import { bus, House, instanceOf } from "../house.ts"
import { type Posture, QUIET } from "../posture.ts"

export const S = "ses_1"
/** An instance whose plugin carries answers out. */
export const I = instanceOf("i-1", { answers: true })
/** Short enough for a test to wait for; the hook's is the service's own. */
export const WINDOWS: Desk["windows"] = { hookMs: 55_000, askMs: 60_000 }
export const NONCE = "nonce-0123456789abcdef"
const GONE = AbortSignal.abort()

type Members = Record<string, unknown>

export const asked = (id = "per_1", more: Members = {}): MomentBody =>
  bus("permission.asked", {
    ...{ id, sessionID: S, permission: "bash", patterns: ["ls"], metadata: {}, always: ["ls *"] },
    ...more,
  })
const legacy = (id: string, more: Members) => ({ id, type: "bash", sessionID: S, title: "ls", ...more })
export const updated = (id = "per_1", more: Members = {}): MomentBody =>
  bus("permission.updated", legacy(id, { metadata: {}, ...more }))
export const held = (id = "per_1", more: Members = {}): MomentBody => ({
  kind: "permission.ask",
  permission: legacy(id, { metadata: {}, ...more }),
  held: true,
})
/** One question or several, each with its labels. */
export const question = (id = "que_1", labels: string[][] = [["red", "blue"]], more: Members = {}) =>
  bus("question.asked", {
    id,
    sessionID: S,
    questions: labels.map((options) => ({
      question: "Which?",
      header: "Q",
      options: options.map((label) => ({ label })),
      ...more,
    })),
  })

/** Marks a reply as the echo of a command's decision. */
const echoing = (moment: MomentBody, by: CommandTag | undefined): MomentBody =>
  by === undefined ? moment : ({ ...moment, by } as MomentBody)
export const replied = (id = "per_1", reply = "once", by?: CommandTag, session = S): MomentBody =>
  echoing(bus("permission.replied", { sessionID: session, requestID: id, reply }), by)
export const answeredWith = (answers: string[][], id = "que_1", by?: CommandTag): MomentBody =>
  echoing(bus("question.replied", { sessionID: S, requestID: id, answers }), by)
export const dismissed = (id = "que_1", by?: CommandTag): MomentBody =>
  echoing(bus("question.rejected", { sessionID: S, requestID: id }), by)

export const prompt = (message = "msg_1", session = S): MomentBody => ({
  kind: "chat.message",
  input: { sessionID: session },
  output: { message: { id: message, role: "user" }, parts: [] },
})
export const before = (call: string, tool = "bash"): MomentBody => ({
  kind: "tool.before",
  input: { tool, sessionID: S, callID: call },
  output: { args: {} },
})
export const after = (call: string, tool = "bash"): MomentBody => ({
  kind: "tool.after",
  input: { tool, sessionID: S, callID: call },
  output: { output: "" },
})
export const failedPart = (call: string, error: string): MomentBody =>
  bus("message.part.updated", {
    sessionID: S,
    part: {
      ...{ sessionID: S, messageID: "msg_2", type: "tool", tool: "bash", callID: call },
      state: { status: "error", error },
    },
  })
export const idle = (session = S): MomentBody => bus("session.idle", { sessionID: session })
export const failure = (name: string, session = S): MomentBody =>
  bus("session.error", { sessionID: session, error: { name } })
export const deleted = (session = S): MomentBody =>
  bus("session.deleted", { sessionID: session, info: { id: session } })
export const created = (id: string, parentID?: string): MomentBody =>
  bus("session.created", {
    sessionID: id,
    info: { id, version: "1", ...(parentID === undefined ? {} : { parentID }) },
  })

/** A decision about an ask that came down, and the name under which it is reported. */
export interface Order {
  request: string
  decision: Extract<Decision, { by: CommandTag }>
}
export const report = ({ request, decision }: Order, status: DeliveryStatus): MomentBody => {
  const { session, ask, by } = decision
  return { kind: "delivery", request, status, session, ask, by }
}

let commands = 0
/** A command to answer; members may be replaced. */
export function command(subject: string | undefined, answer: unknown, members: Members = {}): AepEvent {
  commands += 1
  return {
    ...{ aep: "0.1", id: `C${commands}`, type: "control.attention.respond", time: "2026-12-01T00:00:00Z" },
    ...{ source: "aep://host/agent/phone", agent: "phone", session: S, data: { answer } },
    ...(subject === undefined ? {} : { subject }),
    ...members,
  } as AepEvent
}

/** See the head of the file. */
export class AskHouse {
  house: House
  /** Commands taken, in order: a line of the record names them `C1`, `C2`, ... */
  private readonly taken: string[] = []

  constructor(windows: Desk["windows"] = WINDOWS, posture: Posture = QUIET) {
    this.house = new House(new Clock(), undefined, posture, windows)
  }

  remove(): void {
    this.house.remove()
  }

  /** Goes on as a service that was stopped, or killed. */
  again(how: "restart" | "crash"): void {
    this.house = this.house[how]()
  }

  tell(...bodies: MomentBody[]): void {
    this.house.tell(I, ...bodies)
  }

  wait(ms: number): void {
    this.house.clock.advance(ms)
  }

  /** One poll of the plugin: what came down. */
  async poll(): Promise<DownMessage[]> {
    if (!this.house.intake.renew(I.id)) this.tell()
    return this.house.commands.downlink.poll(I.id, NONCE, GONE)
  }

  /** Time passes, in which the plugin polls. */
  async pass(ms: number): Promise<DownMessage[]> {
    const messages = [...(await this.poll())]
    for (let left = ms; left > 0; left -= 4_000) {
      this.wait(Math.min(left, 4_000))
      messages.push(...(await this.poll()))
    }
    return messages
  }

  /** The plugin listens, and something is asked; its request. */
  async asking(moment: MomentBody = asked()): Promise<AepEvent> {
    this.tell()
    await this.poll()
    this.tell(moment)
    return this.last("attention.requested")
  }

  take(event: AepEvent): AepEvent {
    if (!this.taken.includes(event.id)) this.taken.push(event.id)
    this.house.commands.control.take({ event, text: JSON.stringify(event) })
    return event
  }

  answer(request: AepEvent, given: unknown = { option: "once" }, members: Members = {}): AepEvent {
    return this.take(command(request.id, given, { session: request.session, ...members }))
  }

  /** The decisions about answers that one poll brings. */
  async orders(): Promise<Order[]> {
    return (await this.poll()).flatMap(({ request, decision }) => {
      const read = JSON.parse(decision) as Decision
      return "by" in read ? [{ request, decision: read }] : []
    })
  }

  async order(): Promise<Order> {
    const [first] = await this.orders()
    if (first === undefined) throw new Error("nothing came down")
    return first
  }

  /** What comes down and is no answer: notices about held hooks. */
  async notices(): Promise<Decision[]> {
    const all = (await this.poll()).map(({ decision }) => JSON.parse(decision) as Decision)
    return all.filter((decision) => !("by" in decision))
  }

  last(type: string, session = S): AepEvent {
    const found = this.house.events(session).findLast((event) => event.type === type)
    if (found === undefined) throw new Error(`no ${type}`)
    return found
  }

  /** Requests of a session, in order. */
  requests(session = S, agent?: string): AepEvent[] {
    return this.house.events(session, agent).filter(({ type }) => type === "attention.requested")
  }

  /** What the record says of a command: accepted, or reason and why. */
  said({ id, session = S }: AepEvent): string[] {
    return this.house.events(session).flatMap(({ type, cause, data }) => {
      if (cause !== id || !type.startsWith("control.")) return []
      return [type === "control.accepted" ? "accepted" : [data?.reason, data?.why].filter(Boolean).join(" ")]
    })
  }

  /**
   * A session's record from its first request on, one line an event: type, the request it is about (`R1`, `R2`), what it says,
   * and what caused it: a request, a command (`C1`, `C2`), or else the type of the event that did.
   */
  tale(session = S, agent?: string): string[] {
    const events = this.house.events(session, agent)
    const requests = this.requests(session, agent).map(({ id }) => id)
    const nameOf = (id: string): string => {
      if (requests.includes(id)) return `R${requests.indexOf(id) + 1}`
      if (this.taken.includes(id)) return `C${this.taken.indexOf(id) + 1}`
      return events.find((event) => event.id === id)?.type ?? id
    }
    const from = events.findIndex(({ type }) => type === "attention.requested")
    return (from < 0 ? [] : events.slice(from)).flatMap(({ id, type, subject, cause, severity, data }) => {
      if (type.startsWith("x.") && severity !== "warning") return []
      const about = type === "attention.requested" ? id : subject
      return [
        [
          type,
          ...(about === undefined || !/attention/.test(type) ? [] : [nameOf(about)]),
          ...Object.entries(data ?? {}).flatMap(([name, value]) => wordsOf(name, value)),
          ...(cause === undefined ? [] : [`<${nameOf(cause)}`]),
        ].join(" "),
      ]
    })
  }
}

/** What a request says is held by suites of its own; how long something took, by those about time. */
const UNTOLD =
  /^(kind|prompt|options|fields|respond_via|expires_at|context|duration_ms|latency_ms|tool|runs)$/

function wordsOf(name: string, value: unknown): string[] {
  if (UNTOLD.test(name)) return []
  return [`${name}=${typeof value === "object" ? JSON.stringify(value) : String(value)}`]
}
