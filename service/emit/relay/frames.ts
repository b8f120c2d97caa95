/**
 * The words of the WebSocket binding as an emitter speaks and hears them (AEP-0003 §3.5, §4): texts to send,
 * and what an incoming text is. Pure. What to do about it is `link.ts`.
 */
import { AEP_VERSION } from "../../../shared/aep.ts"

/** A command is far below; a longer text is not worth its parsing. */
const MOST_CHARACTERS = 1024 * 1024
const CODE = /^[a-z0-9-]{1,40}$/

/** Who we are to the relay. */
export interface Introduction {
  /** `agent` of the events that follow. */
  agent: string
  /** Our own name for this service. */
  instance: string
  /** Command types that our sessions take, and how fast they are acknowledged; absent = none. */
  control?: { accepts: readonly string[]; ackWindowMs: number } | undefined
}

/**
 * What came in. `hello.agreed`: the relay chose our version. `other`: a frame to be skipped silently
 * (AEP-0003 §2). `unreadable`: no JSON object with a `type`, binary, or too long.
 */
export type Incoming =
  | { kind: "hello"; agreed: boolean }
  | { kind: "error"; code: string }
  | { kind: "ping"; answer: string }
  | { kind: "pong"; t: number }
  | { kind: "closing" }
  | { kind: "event" }
  | { kind: "other" }
  | { kind: "unreadable" }

/** Our hello. The role is `emitter`: commands reach whoever declares `control.accepts` and claims a session,
 *  and we subscribe to nothing. */
export function helloText({ agent, instance, control }: Introduction): string {
  const capabilities =
    control === undefined ? {} : { control: { accepts: control.accepts, ack_window_ms: control.ackWindowMs } }
  return JSON.stringify({
    type: "hello",
    versions: [AEP_VERSION],
    role: "emitter",
    identity: { agent, instance },
    capabilities,
  })
}

/** A ping; its pong carries the same `t`. */
export function pingText(t: number): string {
  return `{"type":"ping","t":${t}}`
}

/** Said before we leave on purpose. We have no subscriptions, so nothing was delivered to us. */
export function closingText(reason: string): string {
  return JSON.stringify({ type: "closing", reason, delivered: [] })
}

/** Reads one message of the relay. Codes that are not plain words become `unreadable-code`, for they are
 *  told. */
export function readFrame(data: unknown): Incoming {
  if (typeof data !== "string" || data.length > MOST_CHARACTERS) return { kind: "unreadable" }
  const frame = parseObject(data)
  if (frame === undefined || typeof frame.type !== "string") return { kind: "unreadable" }
  if (frame.type.includes(".")) return { kind: "event" }
  switch (frame.type) {
    case "hello":
      return { kind: "hello", agreed: Array.isArray(frame.versions) && frame.versions[0] === AEP_VERSION }
    case "error": {
      const isPlain = typeof frame.code === "string" && CODE.test(frame.code)
      return { kind: "error", code: isPlain ? String(frame.code) : "unreadable-code" }
    }
    case "ping":
      return { kind: "ping", answer: JSON.stringify({ type: "pong", t: frame.t }) }
    case "pong":
      return typeof frame.t === "number" ? { kind: "pong", t: frame.t } : { kind: "other" }
    case "closing":
      return { kind: "closing" }
    default:
      return { kind: "other" }
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    // Counted by the caller; a relay that talks nonsense is not worth more.
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
