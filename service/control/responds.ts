/**
 * `control.attention.respond`, carried out: the answer goes to the agent, once and in time; the command gets its decision from
 * what came of it, and the record its end from the agent's own words. A 200 is no outcome: an answer that the agent does not
 * confirm is given once more, and then called unconfirmed. The verdict itself is `respond.ts`.
 */
import type { AepEvent } from "../../shared/aep.ts"
import type { Decision, DeliveryStatus } from "../../shared/moments.ts"
import type { Applied, Deed } from "../attention/answer.ts"
import { expire, tellUnconfirmed } from "../session/settle.ts"
import { GUARD_MS, MAX_PENDING, type Road } from "./cancels.ts"
import type { Decisions, Refusal } from "./decisions.ts"
import { ENDED, judgeRespond, type NamedAsk } from "./respond.ts"

/** What answering needs beyond the road. */
export interface RespondsRoad extends Road {
  /** The request of a session whose event has this id. */
  ask: (session: string, eventId: string) => NamedAsk
}

/** The agent's own event comes before its route answers; later than this it will not come. */
const CONFIRM_MS = 3_000

interface Course {
  command: AepEvent
  session: string
  mark: string
  instance: string
  /** The vendor's id of the request. */
  ask: string
  deed: Deed
  applied: Applied
  /** When the request lapses, epoch milliseconds: from then on nothing more is brought down. */
  expiresAt: number
  /** Until then a report is waited for. */
  guardedUntil: number
  /** Some attempt was sent down. */
  isSent: boolean
  /** Names the decision that is on its way, or was the last. */
  request: string
  attempts: number
  /** The first attempt has neither been reported of nor given up. */
  isUndecided: boolean
  timer: unknown
}

/** See the head of the file. */
export class Responds {
  private readonly courses = new Map<string, Course>()
  private readonly byRequest = new Map<string, Course>()
  private readonly byAsk = new Map<string, Course>()

  constructor(
    private readonly road: RespondsRoad,
    private readonly decisions: Decisions,
  ) {}

  /** Whether the command of this mark waits for its decision. */
  has(mark: string): boolean {
    return this.courses.get(mark)?.isUndecided === true
  }

  /** Takes an answer that nobody decided on yet. */
  take(event: AepEvent, session: string, mark: string): void {
    const subject = event.subject ?? ""
    const named = this.road.ask(session, subject)
    const before = named.kind === "open" ? this.byAsk.get(nameOf(session, named.ask)) : undefined
    const verdict = judgeRespond(event, named, before !== undefined)
    if (verdict.kind === "reject") {
      this.decisions.reject(event, session, mark, verdict.refusal)
      return
    }
    const now = this.road.now()
    const { ask, deed, applied, expiresAt = Number.POSITIVE_INFINITY } = verdict
    // The timer that says so may come a moment later, after a sleep of the machine for one.
    if (now >= expiresAt) {
      this.decisions.reject(event, session, mark, { reason: "refused", ...ENDED.expired })
      return
    }
    const target = this.road.target(session)
    if (target?.isListening !== true || this.courses.size >= MAX_PENDING) {
      this.decisions.reject(event, session, mark, {
        reason: "busy",
        why: "offline",
        detail: "session: the agent does not listen just now; try again in some seconds",
      })
      return
    }
    const course: Course = {
      ...{ command: event, session, mark, ask, deed, applied, expiresAt },
      instance: target.instance,
      guardedUntil: now + GUARD_MS,
      isSent: false,
      request: "",
      attempts: 0,
      isUndecided: true,
      timer: undefined,
    }
    this.courses.set(mark, course)
    this.byAsk.set(nameOf(session, ask), course)
    if (!this.send(course)) {
      this.forget(course)
      this.decisions.reject(event, session, mark, { reason: "busy", why: "offline" })
      return
    }
    this.wait(course, Math.min(GUARD_MS, expiresAt - now), () => this.guard(course))
  }

  /** The plugin says what came of a decision; false when the request is none of these. */
  delivered(request: string, status: DeliveryStatus): boolean {
    const course = this.byRequest.get(request)
    if (course === undefined) return false
    this.byRequest.delete(request)
    this.road.settle(course.instance, request)
    if (status === "done") this.confirm(course)
    else if (course.isUndecided) this.refuse(course, this.refusalOf(course, status))
    return true
  }

  /** What the command of this mark answered. */
  applied(mark: string): Applied | undefined {
    return this.courses.get(mark)?.applied
  }

  /** Whether an answer is on its way to this request. */
  isUnderWay(session: string, ask: string): boolean {
    return this.byAsk.has(nameOf(session, ask))
  }

  /** The request was told again, so its plugin may have missed what was decided: it gets the same decision once more. */
  offeredAgain(session: string, ask: string): void {
    const course = this.byAsk.get(nameOf(session, ask))
    if (course === undefined || course.isUndecided || !this.send(course)) return
    // Whoever comes back has as long to confirm it as anybody.
    this.wait(course, CONFIRM_MS, () => this.unconfirmed(course))
  }

  /** Told of all that our emitter said: a request that has its terminal needs no answer any more. */
  said(messages: readonly { event: AepEvent }[]): void {
    for (const { event } of messages) {
      if (event.type !== "attention.resolved" && event.type !== "attention.timeout") continue
      for (const course of [...this.courses.values()]) {
        if (course.command.subject !== event.subject || course.session !== event.session) continue
        if (!course.isUndecided || this.decisions.isDecided(course.mark)) {
          this.forget(course)
          continue
        }
        // Somebody else was faster. Nothing more is sent from now on; and nothing may be said from in here.
        this.road.settle(course.instance, course.request)
        this.wait(course, 0, () => this.guard(course))
      }
    }
  }

  /** The instance is about to be gone. */
  gone(instance: string): void {
    for (const course of [...this.courses.values()]) {
      if (course.instance !== instance) continue
      if (course.isUndecided && !this.decisions.isDecided(course.mark)) {
        this.refuse(course, { reason: "refused", why: "gone", detail: "session: its agent is gone" })
      } else this.forget(course)
    }
  }

  /** Stops all timers. Commands that wait are undecided, and new when they come again. */
  close(): void {
    for (const course of [...this.courses.values()]) this.forget(course)
  }

  /** Nobody reported yet. What was never sent was never tried; what was sent by the deadline has its time to be reported. */
  private guard(course: Course): void {
    if (this.road.settle(course.instance, course.request)) course.isSent = true
    const left = course.guardedUntil - this.road.now()
    if (this.road.ask(course.session, course.command.subject ?? "").kind !== "open") {
      this.refuse(course, this.refusalOf(course, "stale"))
    } else if (course.isSent && left > 0) this.wait(course, left, () => this.guard(course))
    else if (course.isSent) this.confirm(course)
    else this.refuse(course, { reason: "busy", why: "offline", detail: "session: the agent does not listen" })
  }

  /** The agent took it, as far as is known: accepted, and its own event has to follow. */
  private confirm(course: Course): void {
    if (course.isUndecided) {
      course.isUndecided = false
      const { command, session, mark, ask } = course
      const isOpen = this.road.ask(session, command.subject ?? "").kind === "open"
      if (!this.decisions.isDecided(mark)) {
        if (isOpen) this.decisions.accept(command, session, mark, { request: ask })
        else this.decisions.reject(command, session, mark, this.refusalOf(course, "gone"))
      }
      if (!isOpen) {
        this.forget(course)
        return
      }
    }
    this.wait(course, CONFIRM_MS, () => this.unconfirmed(course))
  }

  /** The agent's own event did not come: once more, and then it is said. The request stays open. */
  private unconfirmed(course: Course): void {
    const { session, ask, command, attempts } = course
    if (this.road.ask(session, command.subject ?? "").kind !== "open") {
      this.forget(course)
      return
    }
    if (attempts < 2 && this.send(course)) {
      this.wait(course, CONFIRM_MS, () => this.unconfirmed(course))
      return
    }
    this.forget(course)
    this.road.speak(session, (scene) => tellUnconfirmed(scene, ask, command.id))
    this.lapse(course)
  }

  /** A late answer must not act: what was not brought down by the deadline is not brought down at all, by no retry either. */
  private send(course: Course): boolean {
    const now = this.road.now()
    const until = Math.min(now + GUARD_MS, course.expiresAt)
    if (now >= until) return false
    const request = this.road.newId()
    const { instance, session, ask, deed, command, mark } = course
    this.byRequest.delete(course.request)
    this.road.settle(instance, course.request)
    const decision: Decision = { ...deed, session, ask, by: { command: command.id, mark } }
    if (!this.road.push(instance, request, decision, until)) return false
    course.request = request
    course.attempts += 1
    this.byRequest.set(request, course)
    return true
  }

  private wait(course: Course, ms: number, then: () => void): void {
    this.road.timers.clear(course.timer)
    course.timer = this.road.timers.set(then, ms)
  }

  private refuse(course: Course, refusal: Refusal): void {
    this.forget(course)
    const { command, session, mark } = course
    if (!this.decisions.isDecided(mark)) this.decisions.reject(command, session, mark, refusal)
    this.lapse(course)
  }

  /** The deadline passed while the answer was on its way, and nothing came of it: nobody else may use that time. */
  private lapse({ session, ask, command, expiresAt }: Course): void {
    if (this.road.now() < expiresAt) return
    // The agent may ask the same in its own dialog by now, which is another request.
    if (this.road.ask(session, command.subject ?? "").kind !== "open") return
    this.road.speak(session, (scene) => expire(scene, ask))
  }

  private refusalOf({ session, command }: Course, status: "stale" | "gone" | "failed"): Refusal {
    const named = this.road.ask(session, command.subject ?? "")
    if (named.kind === "ended") return { reason: "refused", ...ENDED[named.how] }
    if (status === "gone") return { reason: "refused", ...ENDED.settled }
    return status === "stale"
      ? { reason: "refused", why: "stale", detail: "subject: the agent does not wait for this any more" }
      : { reason: "refused", why: "failed", detail: "session: the agent did not take the answer" }
  }

  private forget(course: Course): void {
    this.road.timers.clear(course.timer)
    this.road.settle(course.instance, course.request)
    this.courses.delete(course.mark)
    this.byRequest.delete(course.request)
    const name = nameOf(course.session, course.ask)
    if (this.byAsk.get(name) === course) this.byAsk.delete(name)
  }
}

function nameOf(session: string, ask: string): string {
  return `${session}\0${ask}`
}
