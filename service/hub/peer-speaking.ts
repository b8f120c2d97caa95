/**
 * What a connection says: events of sessions it owns, and commands for sessions that others own (AEP-0004 §4). An event that
 * stays out is answered with its id as `cause`; nothing of it is kept. Part of `peer.ts`.
 */
import { placementOf } from "../../shared/aep.ts"
import { judgeAdmission } from "./admission.ts"
import { errorFrame } from "./frames.ts"
import type { Hello } from "./hello.ts"
import { isCommand, type Message, readMessage } from "./message.ts"
import { type Claimant, MAX_CLAIMS, type Roster } from "./roster.ts"
import { routeCommand } from "./routing.ts"

/** What speaking needs of the connection and of the hub. */
export interface SpeakingParts {
  roster: Pick<Roster, "claim" | "claimants" | "release">
  access: { isAuthenticated: boolean }
  isOurs: (session: string) => boolean
  publish: (messages: readonly Message[]) => void
  /** Puts a frame, or a command byte for byte, behind what is queued. */
  answer: (frame: string) => void
}

/** See the head of the file. */
export class Speaking {
  private readonly claimant: Claimant

  constructor(
    private readonly parts: SpeakingParts,
    private readonly hello: Hello,
  ) {
    this.claimant = {
      agent: hello.agent ?? "",
      instance: hello.instance,
      control: hello.control,
      emits: hello.emits,
      take: ({ text }) => parts.answer(text),
    }
  }

  /** Takes the text of an event, and the same as it was parsed. */
  event(text: string, value: unknown): void {
    const read = readMessage(text, value)
    if (read.kind === "invalid") {
      const cause = read.id === undefined ? {} : { cause: read.id }
      this.parts.answer(errorFrame("invalid-event", { ...cause, detail: read.detail }))
    } else if (isCommand(read.message.event.type)) this.command(read.message)
    else this.fact(read.message)
  }

  /** All claims of the connection end with it. May be called twice. */
  end(): void {
    this.parts.roster.release(this.claimant)
  }

  private command(command: Message): void {
    const routed = routeCommand(command, this.parts.access, this.parts.roster)
    if (routed.kind === "refused") {
      this.refuse(command, routed.code, routed.detail)
      return
    }
    // First into the history that others read, then to the owner, whose answer stands behind it.
    this.parts.publish([command])
    routed.to.take(command)
  }

  private fact(message: Message): void {
    const { type, session } = message.event
    const placement = placementOf(type)
    if (placement !== "foreign" && this.hello.role === "consumer") {
      this.refuse(message, "unauthorized", "role: events come from an emitter; say hello as emitter or both")
      return
    }
    const notAdmitted = judgeAdmission(message, this.parts.isOurs)
    if (notAdmitted !== undefined) {
      this.refuse(message, notAdmitted.code, notAdmitted.detail)
      return
    }
    if (
      placement === "sequenced" &&
      session !== undefined &&
      !this.parts.roster.claim(session, this.claimant)
    ) {
      this.refuse(message, "limit-exceeded", `session: one connection claims at most ${MAX_CLAIMS} sessions`)
      return
    }
    this.parts.publish([message])
  }

  private refuse({ event }: Message, code: string, detail: string): void {
    this.parts.answer(errorFrame(code, { cause: event.id, detail }))
  }
}
