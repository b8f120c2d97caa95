/** attr-match (AEP-0003 §6.1, §6.2): the official corpus, and a table of our own for what it leaves out. */
import { describe, expect, test } from "bun:test"
import { readFilter } from "../../service/hub/filter.ts"
import type { AepEvent } from "../../shared/aep.ts"
import { officialData, readOfficial } from "../official.ts"
import { eventOf } from "./hub-events.ts"

interface Corpus {
  match: { name: string; filter: unknown; event: AepEvent; match: boolean }[]
  invalid: { name: string; filter: unknown }[]
}

const official = officialData()
const corpus =
  official.kind === "present"
    ? (readOfficial("conformance/fixtures/attr-match/cases.json") as Corpus)
    : { match: [], invalid: [] }

/** The verdict of a filter that must be valid. */
function isMatch(filter: unknown, event: AepEvent): boolean {
  const read = readFilter(filter)
  if ("fault" in read) throw new Error(read.fault)
  return read.filter(event)
}

if (official.kind === "absent") test.skip(official.reason, () => undefined)

describe.skipIf(official.kind === "absent")("the official corpus", () => {
  test.each(corpus.match)("$name", ({ filter, event, match }) => {
    expect(isMatch(filter, event)).toBe(match)
  })

  test.each(corpus.invalid)("refused: $name", ({ filter }) => {
    expect(readFilter(filter)).toEqual({ fault: expect.stringContaining("filter") })
  })

  test("is whole: fourteen cases that match or do not, ten that are refused", () => {
    process.stdout.write(`attr-match/cases.json: ${corpus.match.length} + ${corpus.invalid.length} cases\n`)
    expect([corpus.match.length, corpus.invalid.length]).toEqual([14, 10])
  })
})

const plain = eventOf({ type: "tool.completed" })
const matches: [string, unknown, AepEvent, boolean][] = [
  ["no filter takes everything", undefined, plain, true],
  ["the empty filter takes everything", {}, plain, true],
  ["every member has to match", { type: "tool.completed", session: "other" }, plain, false],
  ["a list takes any of its values", { session: ["other", "s1"] }, plain, true],
  ["a pattern takes deeper names", { type: "x.acme.*" }, eventOf({ type: "x.acme.a.b.c" }), true],
  [
    "a pattern does not take its own prefix as a type",
    { type: "attention.*" },
    eventOf({ type: "attention" }),
    false,
  ],
  ["a pattern ends at a dot", { type: "tool.*" }, eventOf({ type: "toolbox.opened" }), false],
  ["exact types and patterns stand in one list", { type: ["run.started", "tool.*"] }, plain, true],
  ["of several patterns one is enough", { type: ["run.*", "tool.*", "x.acme.*"] }, plain, true],
  ["of several patterns none may match", { type: ["run.*", "too.*", "tool.completed.*"] }, plain, false],
  [
    "each of several patterns takes deeper names, and ends at a dot",
    { type: ["x.acme-corp.a.*", "x.acme.*"] },
    eventOf({ type: "x.acme-corp.a.b.c" }),
    true,
  ],
  ["an exact type beside patterns is taken", { type: ["tool.completed", "run.*"] }, plain, true],
  ["an exact type beside patterns is exact", { type: ["tool", "run.*"] }, plain, false],
  ["a missing severity counts as info", { severity: "info" }, plain, true],
  ["a missing severity is below notice", { severity: { gte: "notice" } }, plain, false],
  ["a range includes its ends", { severity: { gte: "info", lte: "info" } }, plain, true],
  ["an upper end alone is a range", { severity: { lte: "warning" } }, eventOf({ severity: "error" }), false],
  ["a missing capture counts as metadata", { capture: "metadata" }, plain, true],
  ["a missing epoch counts as 0", { epoch: 0 }, plain, true],
  ["epoch 0 is not epoch 1", { epoch: [1] }, plain, false],
  ["an absent attribute matches nothing", { run: "run-1" }, plain, false],
  ["an extension is compared exactly", { acmeflag: true }, eventOf({ acmeflag: true }), true],
  ["true is not 1", { acmeflag: 1 }, eventOf({ acmeflag: true }), false],
  ["1 is not the text 1", { acmecount: "1" }, eventOf({ acmecount: 1 }), false],
  ["an extension that nobody has matches nothing", { acmeflag: true }, plain, false],
  ["an extension takes any of its values", { acmecount: [0, "0", false] }, eventOf({ acmecount: 0 }), true],
  ["0, the empty text and false differ", { acmecount: ["", false] }, eventOf({ acmecount: 0 }), false],
  ["a list of severities takes the default", { severity: ["debug", "info"] }, plain, true],
  ["names of the language are no attributes", { constructor: "x" }, plain, false],
  ["a session may hold any text", { session: "a:b\nc" }, eventOf({ session: "a:b\nc" }), true],
]

test.each(matches)("%s", (_, filter, event, expected) => {
  expect(isMatch(filter, event)).toBe(expected)
})

const refusals: [string, unknown][] = [
  ["null", null],
  ["a list", []],
  ["a text", "tool.*"],
  ["aep", { aep: "0.1" }],
  ["time", { time: "2026" }],
  ["seq", { seq: 1 }],
  ["data", { data: {} }],
  ["traceparent", { traceparent: "00" }],
  ["a name in capitals", { Session: "s1" }],
  ["a name that is too long", { abcdefghijklmnopqrstu: 1 }],
  ["an empty name", { "": "x" }],
  ["__proto__", JSON.parse('{"__proto__": {"type": "x"}}')],
  ["a lone star", { type: "*" }],
  ["a star in the middle", { type: "tool.*.done" }],
  ["a star without its dot", { type: "tool*" }],
  ["two stars", { type: "tool.**" }],
  ["a star on another attribute", { session: "s*" }],
  ["a star in a list on another attribute", { agent: ["opencode", "k*"] }],
  ["an empty list", { type: [] }],
  ["null as a value", { session: null }],
  ["a fraction", { acmecount: 1.5 }],
  ["a list in a list", { type: [["tool.completed"]] }],
  ["an object on another attribute", { session: { gte: "a" } }],
  ["an empty range", { severity: {} }],
  ["a range with another operator", { severity: { gt: "info" } }],
  ["a range with an operator too many", { severity: { gte: "info", eq: "info" } }],
  ["a range with an unknown severity", { severity: { gte: "loud" } }],
  ["a range with null", { severity: { gte: null } }],
  ["one bad member among good ones", { type: "tool.completed", seq: 1 }],
]

test.each(refusals)("a filter with %s is refused, with the remedy and without its values", (_, filter) => {
  const read = readFilter(filter)
  expect(read).toEqual({ fault: expect.stringMatching(/^filter/) })
})

test("patterns of hostile length are judged in linear time", () => {
  const long = `${"a.".repeat(100_000)}*`
  expect(isMatch({ type: long }, plain)).toBe(false)
  expect(readFilter({ type: `${"a".repeat(200_000)}!*` })).toHaveProperty("fault")
})

test("a filter of very many patterns costs an event no more than a few", () => {
  const patterns = Array.from({ length: 100_000 }, (_, index) => `x.v${index}.*`)
  const read = readFilter({ type: patterns })
  if ("fault" in read) throw new Error(read.fault)
  const last = eventOf({ type: "x.v99999.file.edited" })
  for (let times = 0; times < 10_000; times += 1) {
    if (read.filter(plain) || !read.filter(last)) throw new Error("a pattern was missed")
  }
  expect(read.filter(last)).toBe(true)
})
