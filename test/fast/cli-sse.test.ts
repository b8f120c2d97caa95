/**
 * Reading `text/event-stream`: a table of streams, each cut into two parts at every byte and into single bytes, since where a
 * chunk ends means nothing.
 */
import { describe, expect, test } from "bun:test"
import { type SsePart, SseReader } from "../../service/cli/sse-reader.ts"

const event = (data: string): SsePart => ({ kind: "event", data })
const comment = (text: string): SsePart => ({ kind: "comment", text })
const oversize: SsePart = { kind: "oversize" }

/** Longest line and event, in bytes, in this suite. */
const MOST = 40
const long = "x".repeat(MOST)

const TABLE: readonly [what: string, stream: string, parts: SsePart[]][] = [
  ["an event with type and id is its data", 'event: a.b\nid: s:0:1\ndata: {"a":1}\n\n', [event('{"a":1}')]],
  ["events end with an empty line", "data: a\n\ndata: b\n\n", [event("a"), event("b")]],
  ["lines end with CR LF", "data: a\r\n\r\n: c\r\ndata: b\r\n\r\n", [event("a"), comment("c"), event("b")]],
  ["lines end with CR", "data: a\r\rdata: b\r\r", [event("a"), event("b")]],
  ["line ends are mixed", "data: a\r\n\ndata: b\n\rdata: c\r\r\n", [event("a"), event("b"), event("c")]],
  ["LF CR is two line ends", "data: a\n\rdata: b\n\n", [event("a"), event("b")]],
  ["two bytes, three bytes, four bytes and marks inside", "data: ö日😀\ufeff\n\n", [event("ö日😀\ufeff")]],
  ["a mark of byte order at the start is no data", "\ufeffdata: a\n\n", [event("a")]],
  ["a mark of byte order later is part of a name", "\n\ufeffdata: a\n\n", []],
  ["one space belongs to the colon, a second does not", "data:a\n\ndata:  b\n\n", [event("a"), event(" b")]],
  ["several data lines are one event of several lines", "data: a\ndata:\ndata: b\n\n", [event("a\n\nb")]],
  ["a data line without a colon is empty", "data\n\n", [event("")]],
  ["an empty line alone is nothing", "\n\n\r\n", []],
  ["an event without data is none", "event: a.b\nid: 1\n\ndata: b\n\n", [event("b")]],
  ["names are told apart by case", "Data: a\ndatas: b\n data: c\nretry: 5\n\n", []],
  [
    "comments stand alone, and inside an event",
    ": ping\n\ndata: a\n:b\n\n",
    [comment("ping"), comment("b"), event("a")],
  ],
  ["a colon alone is an empty comment", ":\n", [comment("")]],
  ["colons in what follows stay", "data: a:b: c\n\n: d: e\n", [event("a:b: c"), comment("d: e")]],
  ["separators of other alphabets end no line", "data: a\u2028b\u0085c\n\n", [event("a\u2028b\u0085c")]],
  ["an event that is not ended is none", "data: a\n\ndata: b\n", [event("a")]],
  ["a line as long as may be is read", `data: ${long.slice(6)}\n\n`, [event(long.slice(6))]],
  ["a longer line takes its event with it", `data: ${long}\ndata: a\n\ndata: b\n\n`, [oversize, event("b")]],
  [
    "many lines are one long event",
    `data: ${long.slice(9)}\ndata: a\n\n\ndata: b\n\n`,
    [oversize, event("b")],
  ],
  ["an unknown member that is too long, too", `id: ${long}\ndata: a\n\ndata: b\n\n`, [oversize, event("b")]],
  ["a long first line hides no mark", `:${long}\n\n\ufeffdata: a\n\n`, [oversize]],
]

function readAll(chunks: readonly Uint8Array[]): SsePart[] {
  const reader = new SseReader(MOST)
  return chunks.flatMap((chunk) => {
    // A buffer that is used again: what is held of it must be a copy.
    const copy = chunk.slice()
    const parts = reader.push(copy)
    copy.fill(0)
    return parts
  })
}

describe.each(TABLE)("%s", (_what, stream, parts) => {
  const bytes = new TextEncoder().encode(stream)

  test("in one piece", () => {
    expect(readAll([bytes])).toEqual(parts)
  })

  test("in two pieces, wherever the cut is, an empty one between them", () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      const pieces = [bytes.subarray(0, at), new Uint8Array(), bytes.subarray(at)]
      expect({ at, parts: readAll(pieces) }).toEqual({ at, parts })
    }
  })

  test("byte by byte", () => {
    expect(readAll([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(parts)
  })
})

test("bytes that are no UTF-8 are shown as such and cost nothing else", () => {
  const bytes = Buffer.from("data: a\xffb\n\ndata: c\n\n", "latin1")
  expect(readAll([bytes])).toEqual([event("a\ufffdb"), event("c")])
})

test("a line that never ends is not held", () => {
  const reader = new SseReader(MOST)
  const before = process.memoryUsage().rss
  const chunk = new Uint8Array(1 << 20).fill(120)
  for (let round = 0; round < 256; round += 1) expect(reader.push(chunk)).toEqual([])
  expect(process.memoryUsage().rss - before).toBeLessThan(128 << 20)
})

test("a chunk with many lines is read in time that grows with its length", () => {
  const lines = 200_000
  const chunk = new TextEncoder().encode(`${"data: a\n\n".repeat(lines)}\r`)
  const start = performance.now()
  expect(new SseReader().push(chunk).length).toBe(lines)
  expect(performance.now() - start).toBeLessThan(5_000)
})
