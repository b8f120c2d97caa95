/**
 * One valid log and ways to damage it, for the suites that ask whether the damage is seen. Not a suite.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Event, eventsOf } from "./validate-judge.ts"

export type Data = Record<string, unknown>

/** The log as it stands in its file, and its events. */
export const text = readFileSync(
  join(import.meta.dir, "../../fixtures/validate/accept/whole-session.jsonl"),
  "utf8",
)
export const log: readonly Event[] = eventsOf(text)

/** Where the n-th event of a type stands, from 0. */
function indexOf(type: string, nth: number): number {
  const found = log.flatMap((event, index) => (event.type === type ? [index] : []))[nth]
  if (found === undefined) throw new Error(`the log has no ${type} number ${nth}`)
  return found
}

/** The log with attributes of one event replaced; `undefined` takes one away. */
export function set(type: string, attributes: Data, nth = 0): Event[] {
  const index = indexOf(type, nth)
  return log.with(index, { ...log[index], ...attributes })
}

/** The log with members of one event's payload replaced. */
export function setData(type: string, members: Data, nth = 0): Event[] {
  return set(type, { data: { ...(log[indexOf(type, nth)]?.data as Data), ...members } }, nth)
}

/** The log with values of a form's answer replaced. */
export function setValues(values: Data, nth: number): Event[] {
  const { data } = log[indexOf("attention.answered", nth)] as { data: { answer: { values: Data } } }
  return setData("attention.answered", { answer: { values: { ...data.answer.values, ...values } } }, nth)
}

/** The log with a changed copy of one event behind it, under an id and a position of its own. */
export function again(type: string, attributes: Data, nth = 0): Event[] {
  const index = indexOf(type, nth)
  // Gaps are legal, and make room.
  const spaced = log.map((event) =>
    typeof event.seq === "number" ? { ...event, seq: event.seq * 10 } : event,
  )
  const event = spaced[index] as Event
  const copy = { ...event, id: "NEW", ...(typeof event.seq === "number" ? { seq: event.seq + 1 } : {}) }
  return spaced.toSpliced(index + 1, 0, { ...copy, ...attributes })
}

/** The log without one event. */
export function drop(type: string, nth = 0): Event[] {
  return log.toSpliced(indexOf(type, nth), 1)
}
