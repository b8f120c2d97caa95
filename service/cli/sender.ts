/**
 * Sends one command over a service's socket and waits for its one decision (AEP-0004 §7): asked for the session's
 * acknowledgements before it speaks, under one id however often it repeats itself, silent past the window only after a look
 * at what is held. What came of the command is told by the session's own events, not by this. Used by `cancel-command.ts`.
 */
import { AEP_VERSION } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import type { ServiceAddress } from "./connection.ts"

/** What is wanted of a session. */
export interface Command {
  type: string
  session: string
  run?: string
  data: Record<string, unknown>
}

/** What came of it. `rejected`: by the session's owner; `refused`: by the endpoint on its behalf; `silent`: nobody said
 *  anything within the window; `lost`: the connection could not be made or did not last. */
export type Decided =
  | { kind: "accepted" }
  | { kind: "rejected"; reason: string }
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

const OPEN_MS = 10_000
const SENDS = 3

/** Sends the command. Resolves with its decision within the window and the time to connect; never rejects. */
export function sendCommand(command: Command, parts: SenderParts): Promise<Decided> {
  const { service, newId, now, windowMs } = parts
  const id = newId()
  const text = JSON.stringify({
    aep: AEP_VERSION,
    id,
    type: command.type,
    time: new Date(now()).toISOString(),
    source: "aep://localhost/agent/opencode-aep-cli",
    agent: "opencode-aep-cli",
    session: command.session,
    ...(command.run === undefined ? {} : { run: command.run }),
    capture: "metadata",
    data: command.data,
  })
  return new Promise((resolve) => {
    const timers: ReturnType<typeof setTimeout>[] = []
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
      const filter = { session: command.session, type: ["control.accepted", "control.rejected"] }
      socket.send(JSON.stringify({ type: "subscribe", id: "acks", filter }))
    }
    socket.onmessage = ({ data }) => {
      const frame = parse(String(data))
      if (frame.type === "subscribed" && frame.id === "acks") {
        for (const timer of timers.splice(0)) clearTimeout(timer)
        for (let nth = 0; nth < SENDS; nth += 1) {
          timers.push(setTimeout(() => socket.send(text), (nth * windowMs) / SENDS))
        }
        // What was decided stands in the session's history, should its first telling have been missed.
        timers.push(setTimeout(() => socket.send(lookBack(command.session)), windowMs))
        timers.push(setTimeout(() => end({ kind: "silent" }), windowMs + 1_000))
        return
      }
      if (frame.type === "error" && frame.cause === undefined) {
        end({ kind: "refused", code: textOf(frame.code), detail: textOf(frame.detail) })
      }
      if (frame.cause !== id) return
      if (frame.type === "control.accepted") end({ kind: "accepted" })
      else if (frame.type === "control.rejected") {
        end({ kind: "rejected", reason: textOf(isObject(frame.data) ? frame.data.reason : undefined) })
      } else if (frame.type === "error") {
        end({ kind: "refused", code: textOf(frame.code), detail: textOf(frame.detail) })
      }
    }
  })
}

function lookBack(session: string): string {
  const filter = { session, type: ["control.accepted", "control.rejected"] }
  return JSON.stringify({ type: "subscribe", id: "held", filter, from: [{ session, epoch: 0, seq: 0 }] })
}

function connect({ base, token }: ServiceAddress): WebSocket {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  // The DOM's types, which the plugin needs, hide that Bun's client can set headers: the token stays out of the address.
  return Reflect.construct(WebSocket, [`${base.replace(/^http/, "ws")}/socket`, { headers }])
}

function parse(text: string): Record<string, unknown> {
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
