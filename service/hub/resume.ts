/**
 * Where a subscription begins (AEP-0003 §5, §7): at what happens next, behind positions that a reader names, or at all that
 * is held. Pure; for `/stream` and for sockets.
 */
import * as v from "valibot"
import type { AepEvent } from "../../shared/aep.ts"
import { comparePositions, type Position } from "./message.ts"

/** `live`: nothing of what was; `all`: every held session; `positions`: the named sessions, behind their positions. */
export type From =
  | { kind: "live" }
  | { kind: "all" }
  | { kind: "positions"; positions: ReadonlyMap<string, Position> }

const counter = v.pipe(v.number(), v.integer(), v.minValue(0))
const positionSchema = v.object({
  session: v.pipe(v.string(), v.minLength(1)),
  epoch: v.optional(counter, 0),
  seq: counter,
})

/** Reads `from`: absent, `"all"`, or positions `{session, epoch?, seq}`, of which at most `maxPositions` are taken. Of two
 *  for one session the lower counts, with which nothing is lost. */
export function readFrom(
  value: unknown,
  maxPositions: number,
): { from: From } | { fault: string; code: "invalid-filter" | "limit-exceeded" } {
  if (value === undefined) return { from: { kind: "live" } }
  if (value === "all") return { from: { kind: "all" } }
  if (!Array.isArray(value)) return invalid('from: give "all" or an array of {session, epoch, seq}')
  if (value.length > maxPositions) {
    return { fault: `from: at most ${maxPositions} positions are taken`, code: "limit-exceeded" }
  }
  const positions = new Map<string, Position>()
  for (const [index, item] of value.entries()) {
    if (!v.is(positionSchema, item)) {
      return invalid(`from[${index}]: give {session, epoch, seq} with whole numbers from 0 on`)
    }
    const { session, epoch = 0, seq } = item
    const before = positions.get(session)
    if (before === undefined || comparePositions({ epoch, seq }, before) < 0)
      positions.set(session, { epoch, seq })
  }
  return { from: { kind: "positions", positions } }
}

function invalid(fault: string): { fault: string; code: "invalid-filter" } {
  return { fault, code: "invalid-filter" }
}

const EVENT_ID = /^([\s\S]+):(\d{1,16}):(\d{1,16})$/

/** Reads a `Last-Event-ID` (AEP-0003 §3.3), from its right end, since a session may hold colons. `undefined` when it is
 *  none of ours. */
export function readLastEventId(text: string): { session: string; position: Position } | undefined {
  const [, session, epoch, seq] = EVENT_ID.exec(text) ?? []
  if (session === undefined) return undefined
  return { session, position: { epoch: Number(epoch), seq: Number(seq) } }
}

/** Whether a text would break a line of SSE, or end it for some readers. */
const CONTROL = /\p{Cc}/u

/** `{session}:{epoch}:{seq}`; `undefined` for an event without a position, or whose session would forge lines. */
export function eventId({ session, epoch, seq }: AepEvent): string | undefined {
  if (session === undefined || seq === undefined || CONTROL.test(session)) return undefined
  return `${session}:${epoch ?? 0}:${seq}`
}
