/**
 * Every line of a valid log dropped, doubled, swapped, retimed, and raised above its capture level in turn. What cannot
 * be seen in a file, a lost line that nothing refers to, is listed.
 */
import { describe, expect, test } from "bun:test"
import { type Capture, type Fields, fieldsOf, isAboveCeiling } from "../../shared/aep.ts"
import { type Data, log } from "./validate-damage.ts"
import { type Event, judgeEvents } from "./validate-judge.ts"

const lines = log.map((event, index) => [`${index + 1} ${event.type}`, event, index] as const)

/** Each line that has a later one in its session's order, with that one's index. */
const pairs = lines.flatMap(([name, event, index]) => {
  if (event.seq === undefined) return []
  const next = log.findIndex(
    ({ source, seq }, at) => at > index && source === event.source && seq !== undefined,
  )
  return next < 0 ? [] : [[name, index, next] as const]
})

/** Each member of a line's type that may not stand at the line's level. */
const raised = lines.flatMap(([name, event, index]) =>
  [...gatedPaths(fieldsOf(String(event.type)) ?? new Map())]
    .filter(([, need]) => isAboveCeiling(need, (event.capture ?? "metadata") as Capture))
    .map(([path]) => [name, path.join("."), path, index] as const),
)

test("every line is taken in turn", () => {
  process.stdout.write(`lines: ${lines.length}, swaps: ${pairs.length}, members raised: ${raised.length}\n`)
  expect(Math.min(lines.length, pairs.length, raised.length)).toBeGreaterThan(30)
})

describe("a line", () => {
  test.each(lines)("%s twice is one duplicate and nothing else", (_name, event, index) => {
    expect(judgeEvents(log.toSpliced(index + 1, 0, event), true).told).toEqual([`${index + 2} id.duplicate`])
    expect(judgeEvents([...log, event], true).told).toEqual([`${log.length + 1} id.duplicate`])
  })

  test.each(lines)("%s at a malformed time is one bad attribute and nothing else", (_name, event, index) => {
    const events = log.with(index, { ...event, time: "2026-06-01 08:00" })
    expect(judgeEvents(events, true).told).toEqual([`${index + 1} envelope.attribute`])
  })

  test.each(pairs)("%s swapped with the next of its session is out of order", (_name, index, next) => {
    const events = log.with(index, log[next] as Event).with(next, log[index] as Event)
    expect(judgeEvents(events).codes.some((code) => code === "order.seq" || code === "order.epoch")).toBe(
      true,
    )
  })

  test.each(raised)("%s with %s is above its level", (_name, _path, path, index) => {
    const event = log[index] as Event
    const events = log.with(index, { ...event, data: put((event.data ?? {}) as Data, path) })
    expect(judgeEvents(events).codes).toContain("capture.above")
  })

  test("lost is missed, but for these, of which nothing in the log speaks: gaps are legal", () => {
    const unseen = lines.flatMap(([name, , index]) =>
      judgeEvents(log.toSpliced(index, 1), true).findings.length === 0 ? [name] : [],
    )
    expect(unseen).toEqual([
      "1 agent.presence",
      "2 session.started",
      "6 attention.routed",
      "8 control.accepted",
      "17 session.started",
      "21 run.finished",
      "22 delegation.subagent.stopped",
      "25 progress.task.completed",
      "26 x.opencode.session.config_change",
      "40 tool.denied",
      "42 session.ended",
      "43 x.opencode.tool.late",
    ])
  })
})

/** Paths of the members that need more than metadata, outside lists. */
function* gatedPaths(fields: Fields, path: string[] = []): Generator<[string[], Capture]> {
  for (const [name, field] of fields) {
    if (isAboveCeiling(field.level, "metadata")) yield [[...path, name], field.level]
    else if (field.members !== undefined) yield* gatedPaths(field.members, [...path, name])
  }
}

function put(data: Data, [name = "", ...rest]: string[]): Data {
  const inner = data[name]
  const value = rest.length === 0 ? "text" : put((typeof inner === "object" ? inner : {}) as Data, rest)
  return { ...data, [name]: value }
}
