/**
 * The frames of the WebSocket binding (AEP-0003 §2, §3.5): what comes in told apart, what goes out written. A text frame holds
 * one JSON object; an event's `type` has a dot, a frame's has none. Pure; `peer.ts` acts on it.
 */
import { AEP_VERSION } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import { isShallow, isTooDeep, MAX_LEVELS } from "./depth.ts"
import type { Position } from "./message.ts"
import type { Delivered } from "./queue.ts"
import type { RosterEntry } from "./roster.ts"

/** What a text frame is. `unknown`: a frame of a type that nobody here knows, to be passed over (AEP-0003 §2). */
export type Incoming =
  | { kind: "event"; value: unknown }
  | { kind: "frame"; type: FrameType; members: Record<string, unknown> }
  | { kind: "unknown" }
  | { kind: "malformed"; detail: string }

const TYPES = ["hello", "subscribe", "unsubscribe", "roster", "ping", "pong", "closing", "error"] as const
/** Frames that a client may send us. */
export type FrameType = (typeof TYPES)[number]

/** Tells a text frame's kind. An event is judged by `readMessage`, which keeps its bytes; its value was parsed here. */
export function readFrame(text: string): Incoming {
  const value = parse(text)
  if (!isObject(value)) return { kind: "malformed", detail: "a text frame holds one JSON object" }
  const { type } = value
  if (typeof type !== "string" || type === "") {
    return { kind: "malformed", detail: "type: every frame and every event names its type" }
  }
  if (type.includes(".")) return { kind: "event", value }
  const known = TYPES.find((each) => each === type)
  // Parts of a frame are written again, in its answer or in the roster; an event's depth is judged where it is read.
  if (!isShallow(text.length) && isTooDeep(value)) {
    return { kind: "malformed", detail: `a frame nests at most ${MAX_LEVELS} levels` }
  }
  return known === undefined ? { kind: "unknown" } : { kind: "frame", type: known, members: value }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Told to the sender by the caller; the parser's own words quote the input.
    return undefined
  }
}

/** Members of an error frame beside its code; absent ones are left out. */
export interface ErrorMembers {
  /** Of the request that is refused. */
  id?: unknown
  /** Of the event or command that is refused. */
  cause?: string
  detail?: string
  versions?: readonly string[]
}

/** An `error` frame. */
export function errorFrame(code: string, members: ErrorMembers = {}): string {
  return JSON.stringify({ type: "error", code, ...members })
}

/** The server's `hello`: one version, and what it is and can. */
export function helloFrame(members: Record<string, unknown>): string {
  return JSON.stringify({ type: "hello", versions: [AEP_VERSION], ...members })
}

/** `subscribed`, `unsubscribed`: the answer to the request with this id. */
export function answerFrame(type: "subscribed" | "unsubscribed", id: string): string {
  return JSON.stringify({ type, id })
}

/** `roster` with its entries. */
export function rosterFrame(id: unknown, entries: readonly RosterEntry[]): string {
  return JSON.stringify({ type: "roster", id, entries })
}

/** `replay-exhausted`: events before `earliest` are no longer held. */
export function exhaustedFrame(sub: string, session: string, { epoch, seq }: Position): string {
  return JSON.stringify({ type: "replay-exhausted", sub, session, earliest: { epoch, seq } })
}

/** `closing`, with how far each subscription was served. */
export function closingFrame(reason: string, delivered: readonly Delivered[]): string {
  return JSON.stringify({ type: "closing", reason, delivered })
}

/** `ping` or `pong` with the value that is given back. */
export function pingFrame(type: "ping" | "pong", t: unknown): string {
  return JSON.stringify({ type, ...(t === undefined ? {} : { t }) })
}
