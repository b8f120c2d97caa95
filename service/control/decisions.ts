/**
 * The one decision on each command (AEP-0004 §3): told in the session's own record, remembered with its bytes, and told again,
 * byte for byte, when the command comes again, also after a restart, since the record is the log. Which decision it is,
 * `cancels.ts` and `responds.ts` know.
 */
import type { AepEvent } from "../../shared/aep.ts"
import { textOf } from "../map/members.ts"
import { profileOf } from "../map/profile.ts"
import { markNames } from "../session/marks.ts"
import type { Scene } from "../session/scene.ts"

/** An event and its one line of JSON. */
export interface Told {
  readonly event: AepEvent
  readonly text: string
}

/** Reasons of `control.rejected` (AEP-0004 §3). */
export type Reason = "unsupported" | "unauthorized" | "busy" | "refused" | "invalid"

/** A refusal. `why` is a word for programs beside the protocol's reason; `detail` a sentence, told from `redacted` on. */
export interface Refusal {
  reason: Reason
  why?: string
  detail?: string
}

/** What decisions need of the rest. */
export interface DecisionsParts {
  /** Says something in a session that an instance of ours speaks for; false when none does. Ends with the write. */
  speak: (session: string, act: (scene: Scene) => void) => boolean
  /** The acknowledgement that a mark names, if the session's log holds one. */
  earlier: (session: string, mark: string) => Told | undefined
  /** Sends what was said before once more, to hub and relay; it is in the log already. */
  repeat: (ack: Told) => void
  /** Digest of `(source, id)`, for the mark. */
  digest: (value: unknown) => string
}

/** Decisions remembered without looking into a log. */
const MAX_DECIDED = 10_000

/** See the head of the file. */
export class Decisions {
  readonly counts = { repeated: 0, accepted: 0, rejected: 0, unroutable: 0 }
  private readonly decided = new Map<string, Told>()

  constructor(private readonly parts: DecisionsParts) {}

  /** Names the command in the record: what it wants, and who sent which. */
  markOf({ type, source, id }: AepEvent): string {
    return `${type.split(".").at(-1)}:${this.parts.digest(`${source}\0${id}`)}`
  }

  /** Tells the decision again if there is one; whether there was. */
  repeat(session: string, mark: string): boolean {
    const before = this.decided.get(mark) ?? this.parts.earlier(session, mark)
    if (before === undefined) return false
    this.counts.repeated += 1
    this.remember(mark, before)
    this.parts.repeat(before)
    return true
  }

  /** Whether the decision is remembered. */
  isDecided(mark: string): boolean {
    return this.decided.has(mark)
  }

  /** "I will try." `links`: the run or the vendor's request that it is about. */
  accept(command: AepEvent, session: string, mark: string, links: { run?: string; request?: string }): void {
    this.say(session, (scene) => {
      const { run, request } = links
      const marks = { command: mark, ...(request === undefined ? {} : { request }) }
      scene.emit(
        { type: "control.accepted", data: {} },
        { cause: command.id, ...(run === undefined ? {} : { run }), marks },
      )
    })
  }

  /** No, and why. `run`: the open one unless said otherwise, `null` for none. */
  reject(
    command: AepEvent,
    session: string,
    mark: string,
    { reason, why, detail }: Refusal,
    run?: string | null,
  ): void {
    const data = {
      reason,
      ...(why === undefined ? {} : { why }),
      ...(detail === undefined ? {} : { detail }),
    }
    this.say(session, (scene) => {
      const links = { cause: command.id, ...(run === undefined ? {} : { run }), marks: { command: mark } }
      scene.emit({ type: "control.rejected", data }, links)
    })
  }

  /** Told of everything our emitter said, so that a decision is remembered with its bytes, whoever said it. */
  said(messages: readonly Told[]): void {
    for (const message of messages) {
      const { type, agent } = message.event
      if (type !== "control.accepted" && type !== "control.rejected") continue
      const names = markNames(profileOf(agent)?.namespace ?? agent)
      const mark = textOf(Object.getOwnPropertyDescriptor(message.event, names.command)?.value)
      if (mark === undefined || this.decided.has(mark)) continue
      if (type === "control.accepted") this.counts.accepted += 1
      else this.counts.rejected += 1
      this.remember(mark, message)
    }
  }

  private say(session: string, act: (scene: Scene) => void): void {
    if (!this.parts.speak(session, act)) this.counts.unroutable += 1
  }

  private remember(mark: string, ack: Told): void {
    this.decided.delete(mark)
    for (const eldest of this.decided.keys()) {
      if (this.decided.size < MAX_DECIDED) break
      this.decided.delete(eldest)
    }
    this.decided.set(mark, ack)
  }
}
