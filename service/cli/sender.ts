/**
 * Sends one command over a service's socket and waits for its one decision (AEP-0004 §7): asked for the session's
 * acknowledgements before it speaks, under one id however often it repeats itself, silent past the window only after a look
 * at what is held. What came of an accepted command the session's own events tell; it is waited for where that is asked.
 * Used by `cancel-command.ts` and `respond-command.ts`.
 */
import { AEP_VERSION } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import type { ServiceAddress } from "./connection.ts"

/** What is wanted of a session. */
export interface Command {
  type: string
  session: string
  run?: string
  subject?: string
  cause?: string
  /** `redacted` where the data holds text or values of a person (AEP-0004 §2.2). */
  capture: "metadata" | "redacted"
  data: Record<string, unknown>
}

/** What is waited for after the acceptance. */
export interface Wish {
  /** Types of the session's events to look at. */
  types: readonly string[]
  /** Whether this one says what came of the command. */
  isIt: (event: Frame) => boolean
  /** How long, milliseconds. */
  forMs: number
}

/** A frame or an event, as parsed. */
export type Frame = Record<string, unknown>

/** What came of it. `texts`: the decision and the outcome as received; `outcome` is absent where none was seen. `rejected`: by the session's owner; `refused`: by the endpoint on its behalf; `silent`: nobody said
 *  anything within the window; `lost`: the connection could not be made or did not last. */
export type Decided =
  | { kind: "accepted"; outcome: Frame | undefined; texts: readonly string[] }
  | { kind: "rejected"; reason: string; why: string; detail: string; texts: readonly string[] }
  | { kind: "refused"; code: string; detail: string }
  | { kind: "silent" }
  | { kind: "lost"; why: string }

/** What sending needs. */
export interface SenderParts {
  service: ServiceAddress
  newId: () => string
  /** Epoch milliseconds. */
  now: () => number
  /** How long a decision may take; the command is sent again in each third of it. */
  windowMs: number
}

const ACKS = ["control.accepted", "control.rejected"]
const OPEN_MS = 10_000
const SENDS = 3

/** Sends the command. Resolves with its decision within the window, the time to connect and that of the wish; never rejects. */
export function sendCommand(command: Command, parts: SenderParts, wish?: Wish): Promise<Decided> {
  const { service, newId, now, windowMs } = parts
  const id = newId()
  const sent = JSON.stringify({
    aep: AEP_VERSION,
    id,
    type: command.type,
    time: new Date(now()).toISOString(),
    source: "aep://localhost/agent/opencode-aep-cli",
    agent: "opencode-aep-cli",
    session: command.session,
    ...(command.run === undefined ? {} : { run: command.run }),
    ...(command.subject === undefined ? {} : { subject: command.subject }),
    ...(command.cause === undefined ? {} : { cause: command.cause }),
    capture: command.capture,
    data: command.data,
  })
  const filter = { session: command.session, type: [...ACKS, ...(wish?.types ?? [])] }
  return new Promise((resolve) => {
    const timers: ReturnType<typeof setTimeout>[] = []
    const texts: string[] = []
    let isAccepted = false
    const socket = connect(service)
    const end = (decided: Decided): void => {
      for (const timer of timers.splice(0)) clearTimeout(timer)
      socket.close()
      resolve(decided)
    }
    timers.push(setTimeout(() => end({ kind: "lost", why: "no answer within 10 s" }), OPEN_MS))
    socket.onerror = () =>
      end({ kind: "lost", why: "the service cannot be reached, or does not take the token" })
    socket.onclose = () => end({ kind: "lost", why: "the service closed the connection" })
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: "hello", versions: [AEP_VERSION], role: "consumer" }))
      socket.send(JSON.stringify({ type: "subscribe", id: "acks", filter }))
    }
    socket.onmessage = ({ data }) => {
      const text = String(data)
      const frame = parse(text)
      if (frame.type === "subscribed" && frame.id === "acks") {
        for (const timer of timers.splice(0)) clearTimeout(timer)
        for (let nth = 0; nth < SENDS; nth += 1) {
          timers.push(setTimeout(() => socket.send(sent), (nth * windowMs) / SENDS))
        }
        // What was decided stands in the session's history, should its first telling have been missed.
        timers.push(setTimeout(() => socket.send(lookBack(command.session, filter)), windowMs))
        timers.push(setTimeout(() => end({ kind: "silent" }), windowMs + 1_000))
        return
      }
      if (frame.type === "error" && frame.cause === undefined) {
        end({ kind: "refused", code: textOf(frame.code), detail: textOf(frame.detail) })
      }
      if (isAccepted) {
        if (wish?.isIt(frame) !== true) return
        end({ kind: "accepted", outcome: frame, texts: [...texts, text] })
        return
      }
      if (frame.cause !== id) return
      const answer = isObject(frame.data) ? frame.data : {}
      if (frame.type === "control.accepted") {
        texts.push(text)
        const accepted: Decided = { kind: "accepted", outcome: undefined, texts }
        if (wish === undefined) {
          end(accepted)
          return
        }
        // What came of it stands behind the acceptance, if it has come already.
        isAccepted = true
        for (const timer of timers.splice(0)) clearTimeout(timer)
        timers.push(setTimeout(() => end(accepted), wish.forMs))
      } else if (frame.type === "control.rejected") {
        const [reason, why, detail] = [textOf(answer.reason), textOf(answer.why), textOf(answer.detail)]
        end({ kind: "rejected", reason, why, detail, texts: [text] })
      } else if (frame.type === "error") {
        end({ kind: "refused", code: textOf(frame.code), detail: textOf(frame.detail) })
      }
    }
  })
}

function lookBack(session: string, filter: object): string {
  return JSON.stringify({ type: "subscribe", id: "held", filter, from: [{ session, epoch: 0, seq: 0 }] })
}

function connect({ base, token }: ServiceAddress): WebSocket {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  // The DOM's types, which the plugin needs, hide that Bun's client can set headers: the token stays out of the address.
  return Reflect.construct(WebSocket, [`${base.replace(/^http/, "ws")}/socket`, { headers }])
}

function parse(text: string): Frame {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    // No endpoint sends such a frame; whatever it was, it is no decision.
    return {}
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : ""
}
