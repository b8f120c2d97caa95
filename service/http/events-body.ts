/**
 * Reads the body of `POST /events` (AEP-0003 §3.2): one event, or one a line. A batch is sound as a whole or refused as
 * a whole, by its first bad line, so that a sender who corrects it may send it again as it was. Payloads are not judged.
 */
import { isCommand, type Message, readMessage } from "../hub/message.ts"
import type { Refusal } from "./guard.ts"

/** What of a batch must hold beyond its envelopes. */
export interface BatchRules {
  /** Most events in one request. */
  maxBatch: number
  /** Why an event may not come in from outside, if so. */
  admit: (message: Message) => { code: string; detail: string } | undefined
}

/** The events of a body, or the refusal of all of them; a detail names line and attribute and never a value. */
export type Batch = { kind: "batch"; messages: readonly Message[] } | { kind: "refused"; refusal: Refusal }

/** Reads `application/json`: the whole body is one event, on however many lines. */
export function readSingle(bytes: Uint8Array, rules: BatchRules): Batch {
  const read = readEvent(bytes, rules)
  return "refusal" in read ? refuse(read.refusal) : { kind: "batch", messages: [read.message] }
}

/** Reads `application/x-ndjson`. Empty lines are passed over wherever they stand, but counted as lines. */
export function readLines(bytes: Uint8Array, rules: BatchRules): Batch {
  const messages: Message[] = []
  for (let from = 0, line = 1; from < bytes.length; line += 1) {
    const feed = bytes.indexOf(LF, from)
    const end = feed === -1 ? bytes.length : feed
    const text = bytes.subarray(from, bytes[end - 1] === CR && end > from ? end - 1 : end)
    from = end + 1
    if (text.length === 0) continue
    if (messages.length === rules.maxBatch) return refuse(tooMany(rules.maxBatch))
    const read = readEvent(text, rules)
    if ("refusal" in read) {
      return refuse({ ...read.refusal, detail: `line ${line}: ${read.refusal.detail}` })
    }
    messages.push(read.message)
  }
  return messages.length === 0 ? refuse(invalid("the body holds no event")) : { kind: "batch", messages }
}

const LF = 10
const CR = 13

/** A byte order mark is kept, and so is refused by the parser: the line is passed on as it came. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

// Each line is decoded by itself: a piece cut from the text of the whole body would keep all of it in memory.
function readEvent(bytes: Uint8Array, rules: BatchRules): { message: Message } | { refusal: Refusal } {
  const text = decode(bytes)
  if (text === undefined) return { refusal: invalid("not UTF-8; send the event as UTF-8 text") }
  const read = readMessage(text)
  if (read.kind === "invalid") return { refusal: invalid(read.detail) }
  if (isCommand(read.message.event.type)) {
    return { refusal: invalid("type: a command; send it over the socket, where its sender is known") }
  }
  const refused = rules.admit(read.message)
  if (refused === undefined) return { message: read.message }
  return {
    refusal:
      refused.code === "unauthorized"
        ? { status: 403, error: refused.code, detail: refused.detail }
        : invalid(refused.detail),
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    // Told to the sender by the caller.
    return undefined
  }
}

function invalid(detail: string): Refusal {
  return { status: 400, error: "invalid-event", detail }
}

function tooMany(maxBatch: number): Refusal {
  return {
    status: 413,
    error: "too-many",
    detail: `the body holds more than ${maxBatch} events; send them in several requests or raise AEP_MAX_BATCH`,
  }
}

function refuse(refusal: Refusal): Batch {
  return { kind: "refused", refusal }
}
