/**
 * `control.cancel`, carried out: the agent is told, the run expects its end to be the command's doing, and the command gets its
 * decision when the plugin reports, or in time without it. The verdict itself is `cancel.ts`.
 */
import type { AepEvent } from "../../shared/aep.ts"
import type { Decision, DeliveryStatus } from "../../shared/moments.ts"
import { expectCancel } from "../session/runs.ts"
import type { Scene } from "../session/scene.ts"
import { judgeCancel, type Target } from "./cancel.ts"
import type { Decisions, Reason } from "./decisions.ts"

/** What carrying out needs of the rest; shared with `responds.ts`. */
export interface Road {
  speak: (session: string, act: (scene: Scene) => void) => boolean
  /** What is known of a session; absent when no living instance speaks for it. */
  target: (session: string) => Target | undefined
  /** Has a decision brought to the agent until a time; false when that cannot be begun. */
  push: (instance: string, request: string, decision: Decision, until: number) => boolean
  /** Takes it back; returns whether it was ever sent. */
  settle: (instance: string, request: string) => boolean
  newId: () => string
  /** Epoch milliseconds. */
  now: () => number
  timers: { set(run: () => void, afterMs: number): unknown; clear(handle: unknown): void }
}

/** An agent that was told and has not reported by then is taken to be at it: the acknowledgement says "I will try". */
export const GUARD_MS = 8_000
/** Commands that wait for their agent. */
export const MAX_PENDING = 1_000

interface Pending {
  command: AepEvent
  session: string
  instance: string
  request: string
  run: string
  timer: unknown
}

/** See the head of the file. */
export class Cancels {
  private readonly pending = new Map<string, Pending>()
  private readonly byRequest = new Map<string, string>()

  constructor(
    private readonly road: Road,
    private readonly decisions: Decisions,
  ) {}

  /** Whether the command of this mark waits for its agent. */
  has(mark: string): boolean {
    return this.pending.has(mark)
  }

  /** Takes a cancel that nobody decided yet. */
  take(event: AepEvent, session: string, mark: string): void {
    const verdict = judgeCancel(event, this.road.target(session))
    if (verdict.kind === "reject") {
      this.decisions.reject(event, session, mark, { reason: verdict.reason }, event.run ?? null)
      return
    }
    const { instance, run } = verdict
    const request = this.road.newId()
    const until = this.road.now() + GUARD_MS
    // Before the agent hears of it: what it does then is this command's doing.
    this.road.speak(session, (scene) => expectCancel(scene, run, event.id))
    const isSent =
      this.pending.size < MAX_PENDING &&
      this.road.push(instance, request, { kind: "cancel", session, run }, until)
    if (!isSent) {
      this.withdraw(event, session, mark, "busy", run)
      return
    }
    const timer = this.road.timers.set(() => {
      const pending = this.pending.get(mark)
      if (pending === undefined) return
      // What was never sent was never tried, and what ends the run later is not its doing.
      if (this.release(mark, pending)) this.decisions.accept(event, session, mark, { run })
      else this.withdraw(event, session, mark, "busy", run)
    }, GUARD_MS)
    this.pending.set(mark, { command: event, session, instance, request, run, timer })
    this.byRequest.set(request, mark)
  }

  /** The plugin says what came of it; false when the request is none of these. */
  delivered(request: string, status: DeliveryStatus): boolean {
    const mark = this.byRequest.get(request)
    const pending = mark === undefined ? undefined : this.pending.get(mark)
    if (mark === undefined || pending === undefined) return false
    this.release(mark, pending)
    const { command, session, run } = pending
    // What the agent would not do is refused; a retry under another id is judged anew.
    if (status === "done") this.decisions.accept(command, session, mark, { run })
    else this.withdraw(command, session, mark, "refused", run)
    return true
  }

  /** The instance is about to be gone: what it was to be told is refused while there is still somebody to say so. */
  gone(instance: string): void {
    for (const [mark, pending] of [...this.pending]) {
      if (pending.instance !== instance) continue
      this.release(mark, pending)
      this.withdraw(pending.command, pending.session, mark, "refused", pending.run)
    }
  }

  /** Stops all timers. */
  close(): void {
    for (const [mark, pending] of [...this.pending]) this.release(mark, pending)
  }

  /** The run is not stopped by this command after all. */
  private withdraw(command: AepEvent, session: string, mark: string, reason: Reason, run: string): void {
    this.road.speak(session, (scene) => expectCancel(scene, run, undefined))
    this.decisions.reject(command, session, mark, { reason }, run)
  }

  /** Waits no longer; returns whether the decision was ever sent. */
  private release(mark: string, { instance, request, timer }: Pending): boolean {
    this.road.timers.clear(timer)
    this.pending.delete(mark)
    this.byRequest.delete(request)
    return this.road.settle(instance, request)
  }
}
