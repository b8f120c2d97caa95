/**
 * An event on its way through the hub: parsed once, and its text exactly as it came (AEP-0001 §4.2: who passes events on
 * changes nothing of them). Judges envelopes; payloads are their reader's matter. For doors, sockets and the emitter.
 */
import * as v from "valibot"
import {
  AEP_VERSION,
  type AepEvent,
  CAPTURES,
  EXTENSION_NAME,
  envelopeSchema,
  isCoreAttribute,
  isExtensionValue,
  placementOf,
  SEVERITIES,
  TRACEPARENT,
  TYPE,
  URI,
} from "../../shared/aep.ts"
import { isDateTime, isObject } from "../../shared/aep-payloads.ts"
import { isShallow, isTooDeep, MAX_LEVELS } from "./depth.ts"

/** `text` is one line of JSON without line breaks: the bytes that were received, wherever they were one line. */
export interface Message {
  readonly event: AepEvent
  readonly text: string
}

/** A place in a session's order; positions are compared, never packed into one number (AEP-0001 §7.3). */
export interface Position {
  readonly epoch: number
  readonly seq: number
}

/** A text judged. `detail` names the attribute and what is expected, never what stood there; `id` where it is readable. */
export type ReadMessage =
  | { kind: "message"; message: Message }
  | { kind: "invalid"; detail: string; id?: string }

/** The event's place; `undefined` for events that have none (agent-scoped ones, commands, `attention.routed`). */
export function positionOf({ epoch, seq }: AepEvent): Position | undefined {
  return seq === undefined ? undefined : { epoch: epoch ?? 0, seq }
}

/** Negative when `a` comes first, 0 when they are the same place. */
export function comparePositions(a: Position, b: Position): number {
  return a.epoch === b.epoch ? a.seq - b.seq : a.epoch - b.epoch
}

/** Whether the type is a command's (AEP-0001 §5.2): by the list, since acknowledgements are named `control.*` too. */
export function isCommand(type: string): boolean {
  return placementOf(type) === "foreign" && type !== "attention.routed"
}

const LINE_BREAKS = /[\r\n]+/g

/** Reads one event; whoever parsed the text already gives its value. Its envelope is judged as by `envelopeSchema`; the payload is not. */
export function readMessage(text: string, value: unknown = parse(text)): ReadMessage {
  if (!isObject(value))
    return { kind: "invalid", detail: "the text is no JSON object; send one event as JSON" }
  if (!isSound(value)) {
    const result = v.safeParse(envelopeSchema, value)
    if (!result.success) {
      return { kind: "invalid", detail: faultOf(result.issues[0]), ...idOf(value) }
    }
  }
  if (!isShallow(text.length) && isTooDeep(value)) {
    return { kind: "invalid", detail: `data: expected at most ${MAX_LEVELS} levels`, ...idOf(value) }
  }
  // A line break can only stand between members: inside a text JSON escapes it.
  const line = text.replace(LINE_BREAKS, " ")
  return { kind: "message", message: { event: value as AepEvent, text: line } }
}

function idOf({ id }: Record<string, unknown>): { id?: string } {
  return typeof id === "string" && id !== "" ? { id } : {}
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Told to the sender by the caller; the parser's own words quote the input.
    return undefined
  }
}

const names = ["subject", "run", "step", "cause"] as const
const severities: ReadonlySet<unknown> = new Set(SEVERITIES)
const captures: ReadonlySet<unknown> = new Set(CAPTURES)

/** Whether this is an envelope beyond doubt; whatever is not is left to the schema, which also names the fault. */
function isSound(value: Record<string, unknown>): boolean {
  const { aep, type, time, source, traceparent, severity, capture, data } = value
  if (aep !== AEP_VERSION || !isName(value.id) || !isName(value.agent)) return false
  if (typeof type !== "string" || !TYPE.test(type)) return false
  if (typeof source !== "string" || !URI.test(source)) return false
  if (typeof time !== "string" || !isDateTime(time)) return false
  for (const name of names) if (value[name] !== undefined && !isName(value[name])) return false
  if (traceparent !== undefined && !(typeof traceparent === "string" && TRACEPARENT.test(traceparent)))
    return false
  if (severity !== undefined && !severities.has(severity)) return false
  if (capture !== undefined && !captures.has(capture)) return false
  if (data !== undefined && !isObject(data)) return false
  if (value.epoch !== undefined && !isCounter(value.epoch)) return false
  for (const name of Object.keys(value)) {
    if (isCoreAttribute(name)) continue
    if (!EXTENSION_NAME.test(name) || !isExtensionValue(value[name])) return false
  }
  return isPlaced(type, value)
}

function isPlaced(type: string, value: Record<string, unknown>): boolean {
  switch (placementOf(type)) {
    case "agent":
      return (
        value.session === undefined &&
        value.run === undefined &&
        value.step === undefined &&
        value.seq === undefined
      )
    case "foreign":
      return isName(value.session) && value.seq === undefined
    case "sequenced":
      return isName(value.session) && isCounter(value.seq)
  }
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== ""
}

function isCounter(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0
}

function faultOf(issue: v.BaseIssue<unknown>): string {
  return `${v.getDotPath(issue) ?? "event"}: expected ${issue.expected ?? issue.message}`
}
