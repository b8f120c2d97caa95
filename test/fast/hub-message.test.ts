/** Reading an event (AEP-0001 §5): the schema's verdicts, faults that name the attribute only, bytes left alone. */
import { describe, expect, test } from "bun:test"
import * as v from "valibot"
import {
  comparePositions,
  isCommand,
  type Message,
  positionOf,
  readMessage,
} from "../../service/hub/message.ts"
import { envelopeSchema } from "../../shared/aep.ts"
import { officialData, readOfficial, readOfficialText } from "../official.ts"
import { eventOf } from "./hub-events.ts"

/** The message that a text must be. */
function read(text: string): Message {
  const result = readMessage(text)
  if (result.kind === "invalid") throw new Error(result.detail)
  return result.message
}

/** What is wrong with an event made of these members. */
function faultOf(members: Record<string, unknown>): unknown {
  const result = readMessage(JSON.stringify(eventOf(members)))
  return result.kind === "invalid" ? result.detail : undefined
}

describe("a text", () => {
  test("of one line stays as it is, byte for byte", () => {
    const text = `  ${JSON.stringify(eventOf({ data: { ä: "\u2028" } })).replace(":", " : ")} `
    expect(read(text).text).toBe(text)
  })

  test("of several lines becomes one, and says the same", () => {
    const event = eventOf({ data: { text: "a\nb" } })
    const { text } = read(JSON.stringify(event, null, 2))
    expect(text).not.toContain("\n")
    expect(JSON.parse(text)).toEqual(event)
  })

  test.each(["", "{", "null", "[]", "1", '"x"', "undefined", "\u{feff}{}"])("%j is no event", (text) => {
    expect(readMessage(text)).toEqual({ kind: "invalid", detail: expect.stringContaining("JSON object") })
  })
})

const faults: [string, Record<string, unknown>][] = [
  ["aep", { aep: "0.2" }],
  ["id", { id: undefined }],
  ["id", { id: "" }],
  ["type", { type: "tool" }],
  ["type", { type: "sports.goal" }],
  ["time", { time: "yesterday" }],
  ["time", { time: "2026-12-01T00:00:00" }],
  ["source", { source: "not a uri" }],
  ["agent", { agent: "" }],
  ["run", { run: null }],
  ["seq", { seq: -1 }],
  ["seq", { seq: 1.5 }],
  ["epoch", { epoch: "0" }],
  ["severity", { severity: "loud" }],
  ["capture", { capture: "some" }],
  ["traceparent", { traceparent: "00-x" }],
  ["data", { data: [] }],
]

test.each(faults)("a fault of `%s` is named", (name, members) => {
  expect(faultOf(members)).toMatch(new RegExp(`^${name}: expected `))
})

test("a fault never repeats what stood there, and gives the id where it is readable", () => {
  const result = readMessage(
    JSON.stringify(eventOf({ id: "E-known", severity: "s3cret", capture: "s3cret" })),
  )
  expect(result).toMatchObject({ kind: "invalid", id: "E-known" })
  expect(JSON.stringify(result)).not.toContain("s3cret")
  expect(readMessage("{}")).not.toHaveProperty("id")
})

/** Members that make sound and unsound envelopes alike. */
const variants: Record<string, unknown>[] = [
  {},
  { seq: undefined },
  { session: undefined },
  { session: undefined, seq: undefined },
  { type: "agent.idle" },
  { type: "agent.idle", session: undefined, seq: undefined },
  { type: "agent.idle", session: undefined, seq: undefined, run: "r" },
  { type: "control.cancel" },
  { type: "control.cancel", seq: undefined },
  { type: "attention.routed", seq: undefined },
  { type: "control.accepted" },
  { type: "x.acme.control.restart", seq: undefined },
  { type: "x.acme.permission" },
  { type: "x.acme.file.edited" },
  { acmeflag: true },
  { acmeflag: 1.5 },
  { acmeflag: null },
  { Acme: 1 },
  { constructor: 1 },
  { abcdefghijklmnopqrstu: 1 },
  { subject: "" },
  { step: 1 },
  { cause: "c", subject: "s", run: "r", step: "t" },
  { epoch: 0, seq: 0 },
  { seq: 1e21 },
  { capture: "none" },
  ...faults.map(([, members]) => members),
]

test("the quick verdict and the schema's are the same, whatever the envelope", () => {
  let sound = 0
  for (const members of variants) {
    const event = eventOf(members)
    const expected = v.safeParse(envelopeSchema, event).success
    expect(readMessage(JSON.stringify(event)).kind, JSON.stringify(members)).toBe(
      expected ? "message" : "invalid",
    )
    sound += expected ? 1 : 0
  }
  expect(sound).toBeGreaterThan(8)
})

test("a payload of too many levels is refused, one of many is read", () => {
  const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`
  const textOf = (levels: number): string =>
    JSON.stringify(eventOf({ id: "E-deep" })).replace(/\}$/, `,"data":${nested(levels)}}`)
  expect(readMessage(textOf(100_000))).toMatchObject({ kind: "invalid", id: "E-deep" })
  expect(readMessage(textOf(600))).toMatchObject({ kind: "invalid", detail: expect.stringMatching(/^data/) })
  expect(readMessage(textOf(400)).kind).toBe("message")
})

test("a member named __proto__ is refused, and changes nothing", () => {
  const text = JSON.stringify(eventOf()).replace("{", '{"__proto__":{"seq":5},')
  expect(readMessage(text).kind).toBe("invalid")
})

const official = officialData()
test.skipIf(official.kind === "absent")("the official golden events are read, and keep their bytes", () => {
  const lines = readOfficialText("conformance/fixtures/golden/golden.jsonl").trim().split("\n")
  expect(lines).toHaveLength(64)
  for (const line of lines) expect(read(line).text).toBe(line)
})

test.skipIf(official.kind === "absent")(
  "envelopes of the official invalid cases get the schema's verdict",
  () => {
    const { cases } = readOfficial("conformance/fixtures/invalid/cases.json") as {
      cases: { event?: unknown }[]
    }
    const events = cases.flatMap(({ event }) => (event === undefined ? [] : [event]))
    expect(events.length).toBeGreaterThan(10)
    for (const event of events) {
      const expected = v.safeParse(envelopeSchema, event).success ? "message" : "invalid"
      expect(readMessage(JSON.stringify(event)).kind, JSON.stringify(event)).toBe(expected)
    }
  },
)

describe("a position", () => {
  test("has epoch 0 where none is given", () => {
    expect(positionOf(eventOf({ seq: 0 }))).toEqual({ epoch: 0, seq: 0 })
    expect(positionOf(eventOf({ type: "control.cancel", seq: undefined }))).toBeUndefined()
  })

  test("is compared by epoch and then by seq, far beyond what fits one number", () => {
    const epoch = 2 ** 52
    const order = [
      { epoch: 0, seq: 0 },
      { epoch: 0, seq: 2 ** 52 },
      { epoch: 1, seq: 0 },
      { epoch, seq: 0 },
      { epoch, seq: 1 },
    ]
    const mixed = [3, 0, 4, 2, 1].flatMap((index) => order[index] ?? [])
    expect(mixed.sort(comparePositions)).toEqual(order)
    expect(comparePositions({ epoch: 1, seq: 1 }, { epoch: 1, seq: 1 })).toBe(0)
  })
})

const commands: [string, boolean][] = [
  ["control.attention.respond", true],
  ["control.cancel", true],
  ["control.pause", true],
  ["control.resume", true],
  ["x.acme.control.restart", true],
  ["x.acme-corp.control.restart.now", true],
  ["control.accepted", false],
  ["control.rejected", false],
  ["attention.routed", false],
  ["x.acme.controller.restart", false],
  ["x.acme.session.control.x", false],
  ["tool.requested", false],
]
test.each(commands)("%s is a command: %p", (type, expected) => {
  expect(isCommand(type)).toBe(expected)
})
