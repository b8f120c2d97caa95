/**
 * What a connection reads: its subscriptions (AEP-0003 §6.5) and the roster. Every refusal answers its own request and disturbs
 * nothing else. Part of `peer.ts`.
 */
import { AEP_VERSION, type AepEvent, CAPTURES } from "../../shared/aep.ts"
import { readFilter } from "./filter.ts"
import { answerFrame, errorFrame, rosterFrame } from "./frames.ts"
import type { Role } from "./hello.ts"
import type { Hub, Subscription } from "./hub.ts"
import type { Queue } from "./queue.ts"
import { readFrom } from "./resume.ts"
import type { Roster } from "./roster.ts"

/** What reading needs of the connection and of the hub. */
export interface ReadingParts {
  hub: Pick<Hub, "subscribe" | "unsubscribe">
  roster: Pick<Roster, "entries">
  queue: Queue
  /** Puts a frame of our own behind what is queued. */
  answer: (frame: string) => void
  maxFrom: number
  maxSubscriptions: number
}

/** A request of nobody: what stands for all of them before a filter. */
const REQUEST: AepEvent = {
  aep: AEP_VERSION,
  id: "request",
  type: "attention.requested",
  time: "2026-01-01T00:00:00Z",
  source: "aep://localhost/agent/any",
  agent: "any",
  severity: "notice",
}

/** Characters of a subscription's id, which marks and the closing frame repeat. */
const MAX_ID = 256

/** The closed set of AEP-0003 §6.5, without `unknown-dialect`, which a 0.1 frame cannot name. */
type Code = "invalid-filter" | "unauthorized" | "limit-exceeded"

/** See the head of the file. */
export class Reading {
  private readonly subscriptions = new Map<string, Subscription>()
  /** Subscriptions that ended while something was still queued for them. */
  private ending = 0

  constructor(
    private readonly parts: ReadingParts,
    private readonly role: Role,
  ) {}

  /** `subscribe`: the answer first, then marks, what is held, and what happens. An id in use is refused: which of two
   *  subscriptions an event belongs to would be past telling. */
  subscribe(members: Readonly<Record<string, unknown>>): void {
    const { id, filter, from, capture } = members
    if (typeof id !== "string" || id === "") {
      this.refuse(id, "invalid-filter", "id: name the subscription, so that it can be answered and ended")
      return
    }
    if (this.role === "emitter") {
      this.refuse(id, "unauthorized", "role: subscribe as consumer or both")
      return
    }
    if (id.length > MAX_ID) {
      this.refuse(id, "limit-exceeded", `id: at most ${MAX_ID} characters`)
      return
    }
    if (this.subscriptions.has(id)) {
      this.refuse(id, "limit-exceeded", "id: one subscription of a name at a time; unsubscribe it first")
      return
    }
    // What one that ended has still to be given takes as much room as before.
    if (this.subscriptions.size + this.ending >= this.parts.maxSubscriptions) {
      const most = this.parts.maxSubscriptions
      this.refuse(id, "limit-exceeded", `subscriptions: at most ${most} on one connection; unsubscribe some`)
      return
    }
    const read = readFilter(filter)
    if ("fault" in read) {
      this.refuse(id, "invalid-filter", read.fault)
      return
    }
    const begin = readFrom(from, this.parts.maxFrom)
    if ("fault" in begin) {
      this.refuse(id, begin.code, begin.fault)
      return
    }
    const ceiling = CAPTURES.find((level) => level === capture)
    if (capture !== undefined && ceiling === undefined) {
      this.refuse(id, "invalid-filter", `capture: give one of ${CAPTURES.join(", ")}, or leave it out`)
      return
    }
    const subscription: Subscription = { id, filter: read.filter, ceiling, queue: this.parts.queue }
    this.subscriptions.set(id, subscription)
    this.parts.answer(answerFrame("subscribed", id))
    this.parts.hub.subscribe(subscription, begin.from, true)
  }

  /** `unsubscribe`: answered whether there was such a subscription or not, since the wish is fulfilled either way. What is
   *  queued for it already still comes. */
  unsubscribe({ id }: Readonly<Record<string, unknown>>): void {
    if (typeof id !== "string" || id === "") {
      this.refuse(id, "invalid-filter", "id: name the subscription to end")
      return
    }
    const subscription = this.subscriptions.get(id)
    if (subscription !== undefined) {
      this.subscriptions.delete(id)
      this.parts.hub.unsubscribe(subscription)
      this.forgetInTurn(id)
    }
    this.parts.answer(answerFrame("unsubscribed", id))
  }

  /** `roster` (AEP-0003 §4.1): a snapshot for whoever may subscribe. */
  roster({ id }: Readonly<Record<string, unknown>>): void {
    if (id === undefined) {
      this.parts.answer(errorFrame("invalid-frame", { detail: "id: the roster's answer repeats it" }))
      return
    }
    if (this.role === "emitter") {
      this.refuse(id, "unauthorized", "role: ask as consumer or both")
      return
    }
    this.parts.answer(rosterFrame(id, this.parts.roster.entries()))
  }

  /** Whether a subscription would get what any session asks. */
  get seesRequests(): boolean {
    return [...this.subscriptions.values()].some(({ filter }) => filter(REQUEST))
  }

  /** Ends all subscriptions. May be called twice. */
  end(): void {
    for (const subscription of this.subscriptions.values()) this.parts.hub.unsubscribe(subscription)
    this.subscriptions.clear()
  }

  /** Only behind all that is queued for a subscription does nothing note any more how far it was served. */
  private forgetInTurn(id: string): void {
    this.ending += 1
    this.parts.queue.pushReplay(() => {
      this.ending -= 1
      this.parts.queue.forget(id)
      return undefined
    })
  }

  private refuse(id: unknown, code: Code, detail: string): void {
    this.parts.answer(errorFrame(code, { ...(id === undefined ? {} : { id }), detail }))
  }
}
