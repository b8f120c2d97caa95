/**
 * Commands for our own sessions (AEP-0004 §3, §7): exactly one decision for each `(source, id)`, told in the session's own
 * record and told again, byte for byte, when the command comes again, also after a restart, since the record is the log.
 * Whoever routes (the hub, a relay) hands commands in. Knows no socket and no file.
 */
import type { AepEvent } from "../../shared/aep.ts"
import type { Decision, DeliveryStatus } from "../../shared/moments.ts"
import { expectCancel } from "../session/runs.ts"
import type { Scene } from "../session/scene.ts"
import { judgeCancel, type Reason, type Target } from "./cancel.ts"

/** An event and its one line of JSON. */
export interface Told {
  readonly event: AepEvent
  readonly text: string
}

/** Types of commands that sessions of ours take; authoritative for routers (AEP-0004 §4.2). */
export const ACCEPTS: readonly string[] = ["control.cancel"]
/** Within this time a command has its decision, milliseconds (AEP-0004 §3). */
export const ACK_WINDOW_MS = 10_000
/** An agent that was told and has not reported by then is taken to be at it: the acknowledgement says "I will try". */
const GUARD_MS = 8_000

/** What control needs of the rest. */
export interface ControlParts {
  /** Says something in a session that an instance of ours speaks for; false when none does. Ends with the write. */
  speak: (session: string, act: (scene: Scene) => void) => boolean
  /** What is known of a session; absent when no living instance speaks for it. */
  target: (session: string) => Target | undefined
  /** The acknowledgement that a mark names, if the session's log holds one. */
  earlier: (session: string, mark: string) => Told | undefined
  /** Sends what was said before once more, to hub and relay; it is in the log already. */
  repeat: (ack: Told) => void
  /** Has a decision brought to the agent until a time; false when that cannot be begun. */
  push: (instance: string, request: string, decision: Decision, until: number) => boolean
  /** Takes it back; returns whether it was ever sent. */
  settle: (instance: string, request: string) => boolean
  /** Digest of `(source, id)`, for the mark. */
  digest: (value: unknown) => string
  newId: () => string
  /** Epoch milliseconds. */
  now: () => number
  timers: { set(run: () => void, afterMs: number): unknown; clear(handle: unknown): void }
}

/** Decisions remembered without looking into a log. */
const MAX_DECIDED = 10_000
/** Commands that wait for their agent. */
const MAX_PENDING = 1_000

interface Pending {
  command: AepEvent
  session: string
  instance: string
  request: string
  run: string
  timer: unknown
}

/** See the head of the file. */
export class Control {
  readonly counts = { commands: 0, repeated: 0, accepted: 0, rejected: 0, unroutable: 0 }
  private readonly decided = new Map<string, Told>()
  private readonly pending = new Map<string, Pending>()
  private readonly byRequest = new Map<string, string>()
  private deciding: string | undefined

  constructor(private readonly parts: ControlParts) {}

  /** Takes a command that was routed to one of our sessions. */
  take({ event }: Told): void {
    this.counts.commands += 1
    const { session } = event
    if (session === undefined) return
    const mark = this.markOf(event)
    // While it is undecided the coming acknowledgement serves all.
    if (this.pending.has(mark)) return
    const before = this.decided.get(mark) ?? this.parts.earlier(session, mark)
    if (before !== undefined) {
      this.counts.repeated += 1
      this.remember(mark, before)
      this.parts.repeat(before)
      return
    }
    if (event.type === "control.cancel") this.cancel(event, session, mark)
    else this.decide(event, session, mark, "unsupported")
  }

  /** The plugin says what came of a decision. */
  delivered(request: string, status: DeliveryStatus): void {
    const mark = this.byRequest.get(request)
    const pending = mark === undefined ? undefined : this.pending.get(mark)
    if (mark === undefined || pending === undefined) return
    this.release(mark, pending)
    const { command, session, run } = pending
    // What the agent would not do is refused; a retry under another id is judged anew.
    if (status === "done") this.decide(command, session, mark, undefined, run)
    else this.withdraw(command, session, mark, "refused", run)
  }

  /** Told of everything our emitter said, so that a decision is remembered with its bytes. */
  said(messages: readonly Told[]): void {
    if (this.deciding === undefined) return
    for (const message of messages) {
      const { type } = message.event
      if (type === "control.accepted" || type === "control.rejected") this.remember(this.deciding, message)
    }
  }

  /** Stops all timers. Commands that wait are undecided, and new when they come again. */
  close(): void {
    for (const [mark, pending] of this.pending) this.release(mark, pending)
  }

  private cancel(event: AepEvent, session: string, mark: string): void {
    const verdict = judgeCancel(event, this.parts.target(session))
    if (verdict.kind === "reject") {
      this.decide(event, session, mark, verdict.reason)
      return
    }
    const { instance, run } = verdict
    const request = this.parts.newId()
    const until = this.parts.now() + GUARD_MS
    // Before the agent hears of it: what it does then is this command's doing.
    this.parts.speak(session, (scene) => expectCancel(scene, run, event.id))
    const isSent =
      this.pending.size < MAX_PENDING &&
      this.parts.push(instance, request, { kind: "cancel", session, run }, until)
    if (!isSent) {
      this.withdraw(event, session, mark, "busy", run)
      return
    }
    const timer = this.parts.timers.set(() => {
      const pending = this.pending.get(mark)
      if (pending === undefined) return
      // What was never sent was never tried, and what ends the run later is not its doing.
      if (this.release(mark, pending)) this.decide(event, session, mark, undefined, run)
      else this.withdraw(event, session, mark, "busy", run)
    }, GUARD_MS)
    this.pending.set(mark, { command: event, session, instance, request, run, timer })
    this.byRequest.set(request, mark)
  }

  /** Says the one decision: accepted, or rejected with a reason. */
  private decide(
    command: AepEvent,
    session: string,
    mark: string,
    reason: Reason | undefined,
    run = command.run,
  ): void {
    this.deciding = mark
    const links = { cause: command.id, run: run ?? null, marks: { command: mark } }
    const isSaid = this.parts.speak(session, (scene) => {
      if (reason === undefined) scene.emit({ type: "control.accepted", data: {} }, links)
      else scene.emit({ type: "control.rejected", data: { reason } }, links)
    })
    this.deciding = undefined
    if (!isSaid) this.counts.unroutable += 1
    else if (reason === undefined) this.counts.accepted += 1
    else this.counts.rejected += 1
  }

  /** The run is not stopped by this command after all. */
  private withdraw(command: AepEvent, session: string, mark: string, reason: Reason, run: string): void {
    this.parts.speak(session, (scene) => expectCancel(scene, run, undefined))
    this.decide(command, session, mark, reason, run)
  }

  /** Waits no longer; returns whether the decision was ever sent. */
  private release(mark: string, { instance, request, timer }: Pending): boolean {
    this.parts.timers.clear(timer)
    this.pending.delete(mark)
    this.byRequest.delete(request)
    return this.parts.settle(instance, request)
  }

  private remember(mark: string, ack: Told): void {
    this.decided.delete(mark)
    for (const eldest of this.decided.keys()) {
      if (this.decided.size < MAX_DECIDED) break
      this.decided.delete(eldest)
    }
    this.decided.set(mark, ack)
  }

  /** Names the command in the record: what it wants, and who sent which. */
  private markOf({ type, source, id }: AepEvent): string {
    return `${type.split(".").at(-1)}:${this.parts.digest(`${source}\0${id}`)}`
  }
}
