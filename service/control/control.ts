/**
 * Commands for our own sessions (AEP-0004 §3, §7): exactly one decision for each `(source, id)`, told in the session's own
 * record and told again, byte for byte, when the command comes again. Nothing is accepted yet, so every decision is
 * `unsupported`. Whoever routes (the hub, a relay) hands commands in; knows no socket.
 */
import type { AepEvent } from "../../shared/aep.ts"
import type { Scene } from "../session/scene.ts"

/** An event and its one line of JSON. */
export interface Told {
  readonly event: AepEvent
  readonly text: string
}

/** Types of commands that sessions of ours take; authoritative for routers (AEP-0004 §4.2). */
export const ACCEPTS: readonly string[] = []
/** Within this time a command has its decision, milliseconds (AEP-0004 §3). */
export const ACK_WINDOW_MS = 10_000

/** What control needs of the rest. */
export interface ControlParts {
  /** Says something in a session that an instance of ours speaks for; false when none does. Ends with the write. */
  speak: (session: string, act: (scene: Scene) => void) => boolean
  /** Sends what was said before once more, to hub and relay; it is in the log already. */
  repeat: (ack: Told) => void
}

/** Decisions remembered; with a forgotten one the command counts as new (AEP-0004 §3). */
const MAX_DECIDED = 10_000

/** See the head of the file. */
export class Control {
  readonly counts = { commands: 0, repeated: 0, rejected: 0, unroutable: 0 }
  private readonly decided = new Map<string, Told>()
  private deciding: string | undefined

  constructor(private readonly parts: ControlParts) {}

  /** Takes a command that was routed to one of our sessions. */
  take({ event }: Told): void {
    this.counts.commands += 1
    const key = `${event.source}\0${event.id}`
    const before = this.decided.get(key)
    if (before !== undefined) {
      this.counts.repeated += 1
      this.parts.repeat(before)
      return
    }
    this.deciding = key
    const isSaid = this.parts.speak(event.session ?? "", (scene) => {
      const links = { cause: event.id, ...(event.run === undefined ? { run: null } : { run: event.run }) }
      scene.emit({ type: "control.rejected", data: { reason: "unsupported" } }, links)
    })
    this.deciding = undefined
    if (isSaid) this.counts.rejected += 1
    else this.counts.unroutable += 1
  }

  /** Told of everything our emitter said, so that a decision is remembered with its bytes. */
  said(messages: readonly Told[]): void {
    if (this.deciding === undefined) return
    for (const message of messages) {
      if (message.event.type !== "control.rejected" && message.event.type !== "control.accepted") continue
      for (const eldest of this.decided.keys()) {
        if (this.decided.size < MAX_DECIDED) break
        this.decided.delete(eldest)
      }
      this.decided.set(this.deciding, message)
    }
  }
}
