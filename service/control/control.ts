/**
 * Commands for our own sessions (AEP-0004 §3, §7): exactly one decision for each `(source, id)`. Whoever routes (the hub, a
 * relay) hands commands in; each kind is carried out by a part of its own. Knows no socket and no file.
 */
import type { AepEvent } from "../../shared/aep.ts"
import type { DeliveryStatus } from "../../shared/moments.ts"
import type { Applied } from "../attention/answer.ts"
import { Cancels } from "./cancels.ts"
import { Decisions, type DecisionsParts, type Told } from "./decisions.ts"
import { Responds, type RespondsRoad } from "./responds.ts"

/** Types of commands that sessions of ours take; authoritative for routers (AEP-0004 §4.2). */
export const ACCEPTS: readonly string[] = ["control.attention.respond", "control.cancel"]
/** Within this time a command has its decision, milliseconds (AEP-0004 §3). */
export const ACK_WINDOW_MS = 10_000

/** What control needs of the rest. */
export type ControlParts = DecisionsParts & RespondsRoad

/** See the head of the file. */
export class Control {
  private readonly decisions: Decisions
  private readonly cancels: Cancels
  private readonly responds: Responds
  private commands = 0

  constructor(parts: ControlParts) {
    this.decisions = new Decisions(parts)
    this.cancels = new Cancels(parts, this.decisions)
    this.responds = new Responds(parts, this.decisions)
  }

  /** Commands taken, and what became of them. */
  get counts(): {
    commands: number
    repeated: number
    accepted: number
    rejected: number
    unroutable: number
  } {
    return { commands: this.commands, ...this.decisions.counts }
  }

  /** Takes a command that was routed to one of our sessions. */
  take({ event }: Told): void {
    this.commands += 1
    const { session } = event
    if (session === undefined) return
    const mark = this.decisions.markOf(event)
    // While it is undecided the coming acknowledgement serves all.
    if (this.cancels.has(mark) || this.responds.has(mark)) return
    if (this.decisions.repeat(session, mark)) return
    this.dispatch(event, session, mark)
  }

  /** The plugin says what came of a decision; false when it was none of a command. */
  delivered(request: string, status: DeliveryStatus): boolean {
    return this.cancels.delivered(request, status) || this.responds.delivered(request, status)
  }

  /** See `Desk`. */
  applied(mark: string): Applied | undefined {
    return this.responds.applied(mark)
  }

  /** See `Desk`. */
  isDecided(mark: string): boolean {
    return this.decisions.isDecided(mark)
  }

  /** See `Desk`. */
  isUnderWay(session: string, ask: string): boolean {
    return this.responds.isUnderWay(session, ask)
  }

  /** See `Desk`. */
  offeredAgain(session: string, ask: string): void {
    this.responds.offeredAgain(session, ask)
  }

  /** The instance is about to be gone: its commands are decided while it can still be spoken for. */
  gone(instance: string): void {
    this.cancels.gone(instance)
    this.responds.gone(instance)
  }

  /** Told of everything our emitter said. */
  said(messages: readonly Told[]): void {
    this.decisions.said(messages)
    this.responds.said(messages)
  }

  /** Stops all timers. Commands that wait are undecided, and new when they come again. */
  close(): void {
    this.cancels.close()
    this.responds.close()
  }

  private dispatch(event: AepEvent, session: string, mark: string): void {
    switch (event.type) {
      case "control.cancel":
        this.cancels.take(event, session, mark)
        break
      case "control.attention.respond":
        this.responds.take(event, session, mark)
        break
      default:
        this.decisions.reject(event, session, mark, { reason: "unsupported" }, event.run ?? null)
    }
  }
}
