/**
 * The envelope and payload schemas of `shared/aep.ts` on the official golden and invalid corpora, and on
 * envelopes with one attribute changed, each verdict beside the official schema's.
 */
import { describe, expect, test } from "bun:test"
import * as v from "valibot"
import { type AepEvent, envelopeSchema, payloadSchemaOf, placementOf } from "../../shared/aep.ts"
import { officialData, readOfficial, readOfficialText, validateOfficial } from "../official.ts"

const official = officialData()
const present = official.kind === "present"

/** Our verdict on one event: envelope, then payload where the type has one. */
function accepts(event: unknown): boolean {
  const envelope = v.safeParse(envelopeSchema, event)
  if (!envelope.success) return false
  const { type, data } = envelope.output
  const schema = payloadSchemaOf(type)
  return data === undefined || schema === undefined || v.is(schema, data)
}

const officialAccepts = (event: unknown) => validateOfficial(event).length === 0

interface InvalidCase {
  name: string
  event?: unknown
  events?: unknown[]
}

const goldenLines = present
  ? readOfficialText("conformance/fixtures/golden/golden.jsonl")
      .split("\n")
      .filter((line) => line !== "")
  : []
const invalid = present
  ? (readOfficial("conformance/fixtures/invalid/cases.json") as { cases: InvalidCase[] }).cases
  : []
const single = invalid.filter((entry) => entry.event !== undefined)
const streams = invalid.filter((entry) => entry.events !== undefined)

const session: AepEvent = {
  aep: "0.1",
  id: "01J",
  type: "run.started",
  time: "2026-07-03T10:00:00Z",
  source: "aep://h/agent/a/session/s",
  agent: "a",
  session: "s",
  seq: 0,
}

const TEXTS = [
  "",
  "text",
  "aep://h/agent/a",
  "a b",
  "http://[::1]:80/x",
  "mailto:a@b.c",
  "%zz:",
  "aep://h/%2",
  "aep://h/é",
]
const TIMES = [
  "2026-07-03T10:00:00Z",
  "2026-07-03t10:00:00z",
  "2024-02-29T00:00:00Z",
  "2026-02-29T00:00:00Z",
  "1900-02-29T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-00-01T00:00:00Z",
  "2026-07-00T00:00:00Z",
  "2026-07-03T10:60:00Z",
  "2026-07-03T10:00:61Z",
  "2026-07-03T10:00:00+24:00",
  "2026-07-03T10:00:00-05:30",
  "2026-07-03T10:00:00",
  "2026-07-03",
  "yesterday",
]
const VALUES: unknown[] = [
  ...TEXTS,
  ...TIMES,
  0,
  7,
  -1,
  1.5,
  true,
  null,
  {},
  [],
  { k: 1 },
  "info",
  "full",
  "0.1",
]
const TYPES = [
  "tool",
  "tool.completed",
  "tool.whatever",
  "tool.Completed",
  "banana.peeled",
  "agent.presence",
  "agentic.presence",
  "attention.routed",
  "control.cancel",
  "control.accepted",
  "control.foo",
  "x.acme.foo",
  "x.acme.foo.bar",
  "x.ac-me.foo.bar",
  "x.acme.fo-o.bar",
  "x.acme.control.stop",
  "x.acme.control.stop.now",
  "x..foo.bar",
  "run.started.",
  "run..started",
  "run.started\n",
]
const NAMES = [
  "acmeregion",
  "constructor",
  "a2345678901234567890",
  "a23456789012345678901",
  "acme_ext",
  "Acme",
  "",
  "42",
]

if (official.kind === "absent") test.skip(official.reason, () => undefined)

describe.skipIf(!present)("golden and invalid corpora", () => {
  test(`all ${goldenLines.length} golden lines are accepted`, () => {
    expect(goldenLines.filter((line) => !accepts(JSON.parse(line)))).toEqual([])
    expect(goldenLines.filter((line) => !officialAccepts(JSON.parse(line)))).toEqual([])
  })

  test(`every one of the ${invalid.length} invalid cases is either one event or a stream`, () => {
    expect(single.length + streams.length).toBe(invalid.length)
  })

  test(`all ${single.length} invalid single events are refused`, () => {
    expect(single.filter((entry) => accepts(entry.event)).map((entry) => entry.name)).toEqual([])
  })

  test(`events of the ${streams.length} invalid streams get the official schemas' verdict one by one`, () => {
    for (const event of streams.flatMap((entry) => entry.events ?? [])) {
      expect({ event, accepted: accepts(event) }).toEqual({ event, accepted: officialAccepts(event) })
    }
  })
})

describe.skipIf(!present)("one attribute changed", () => {
  const attributes = [
    "aep",
    "id",
    "subject",
    "time",
    "source",
    "agent",
    "session",
    "run",
    "step",
    "seq",
    "epoch",
  ]
  attributes.push("cause", "traceparent", "severity", "capture", "data")

  test.each(attributes)("%s gets the official schema's verdict, present, changed and absent", (name) => {
    const { [name]: _, ...absent } = session
    const events: unknown[] = [absent, ...VALUES.map((value) => ({ ...session, [name]: value }))]
    expect(events.filter((event) => accepts(event) !== officialAccepts(event))).toEqual([])
  })

  test.each(TYPES)("type %j gets the official schema's verdict in every placement", (type) => {
    const { session: _, seq: __, ...bare } = session
    const placements = [
      { ...bare, type },
      { ...bare, type, session: "s" },
      { ...bare, type, seq: 0 },
      { ...session, type },
      { ...bare, type, run: "r" },
      { ...bare, type, step: "p" },
    ]
    expect(placements.filter((event) => accepts(event) !== officialAccepts(event))).toEqual([])
  })

  test.each(NAMES)("extension %j gets the official schema's verdict for every kind of value", (name) => {
    const events = VALUES.map((value) => ({ ...session, [name]: value }))
    expect(events.filter((event) => accepts(event) !== officialAccepts(event))).toEqual([])
  })

  test("a text, a number, null, a boolean and a list are no events", () => {
    for (const event of ["text", 1, null, true, [], [session]]) {
      expect(accepts(event)).toBe(false)
      expect(officialAccepts(event)).toBe(false)
    }
  })
})

describe("placement by name", () => {
  test.each([
    ["tool.completed", "sequenced"],
    ["control.accepted", "sequenced"],
    ["control.rejected", "sequenced"],
    ["x.acme.control", "sequenced"],
    ["control.attention.respond", "foreign"],
    ["attention.routed", "foreign"],
    ["x.acme.control.stop", "foreign"],
    ["agent.presence", "agent"],
  ] as const)("%s is %s", (type, placement) => {
    expect(placementOf(type)).toBe(placement)
  })
})
