/** A moment is written once, in at most 64 KiB, with what had to be cut named by its path. */
import { describe, expect, test } from "bun:test"
import { MOMENT_BYTES, writeMoment } from "../../plugin/src/bound.ts"
import { clipText } from "../../plugin/src/clip.ts"
import type { TrimmedMoment } from "../../plugin/src/table.ts"
import type { Moment } from "../../shared/moments.ts"
import { busEvent, toolInput } from "./plugin-fixtures.ts"

function before(args: unknown): TrimmedMoment {
  return { kind: "tool.before", input: toolInput(), output: { args } }
}

function written(moment: TrimmedMoment): Moment {
  const { text, bytes } = writeMoment(moment, 3, 99)
  expect(Buffer.byteLength(text)).toBe(bytes)
  expect(bytes).toBeLessThanOrEqual(MOMENT_BYTES)
  return JSON.parse(text)
}

describe("a moment within the bound", () => {
  test("is written whole with its index and clock", () => {
    expect(written(before({ command: "ls" }))).toEqual({
      n: 3,
      at: 99,
      kind: "tool.before",
      input: toolInput(),
      output: { args: { command: "ls" } },
    })
  })

  test("names what the table had cut already", () => {
    const moment: TrimmedMoment = { ...before({}), cut: ["output.args.x"] }
    expect(written(moment).cut).toEqual(["output.args.x"])
  })

  test("is whole with 60000 characters of content", () => {
    const content = "a".repeat(60_000)
    expect(written(before({ content }))).toMatchObject({ output: { args: { content } } })
  })
})

describe("a moment above the bound", () => {
  test("loses the end of its largest string and says where", () => {
    const moment = written(before({ filePath: "/a", content: "b".repeat(200_000) }))
    expect(moment.cut).toEqual(["output.args.content"])
    expect(moment).toMatchObject({ input: toolInput(), output: { args: { filePath: "/a" } } })
    expect(JSON.stringify(moment)).toMatch(/b\.\.\.\[opencode-aep: \d+ characters cut\]/)
  })

  test("keeps most of what fits", () => {
    const { bytes } = writeMoment(before({ content: "b".repeat(200_000) }), 0, 0)
    expect(bytes).toBeGreaterThan(MOMENT_BYTES * 0.95)
  })

  test("shares the room among several large strings and leaves middling ones whole", () => {
    const edits = [
      { old: "x".repeat(90_000), new: "y".repeat(80_000) },
      { old: "z".repeat(10_000), new: "ü" },
    ]
    const moment = written(before({ edits }))
    expect(moment.cut).toEqual(["output.args.edits.0.old", "output.args.edits.0.new"])
    expect(moment).toMatchObject({ output: { args: { edits: [{}, edits[1]] } } })
  })

  test.each([
    ["wide characters", "漢".repeat(60_000)],
    ["quotes and newlines", '"\n'.repeat(30_000)],
    ["control characters", "\u0001".repeat(60_000)],
    ["surrogate pairs", "🙂".repeat(40_000)],
    ["lone surrogates", "\ud83d".repeat(50_000)],
  ])("fits although %s take more bytes than characters", (_what, content) => {
    expect(written(before({ content })).cut).toEqual(["output.args.content"])
  })

  test("never has half a surrogate pair", () => {
    for (const max of [100, 101]) {
      expect(clipText("🙂".repeat(200), max)).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/)
    }
  })

  test("leaves the agent's object as it was", () => {
    const args = Object.freeze({ content: "c".repeat(100_000), list: Object.freeze(["d".repeat(100_000)]) })
    const moment = written(before(args))
    expect(moment.cut).toEqual(["output.args.content", "output.args.list.0"])
    expect(args.content.length).toBe(100_000)
  })
})

describe("a moment that no string makes heavy", () => {
  test.each([
    ["numbers", Array.from({ length: 100_000 }, (_, index) => index)],
    ["short texts", Array.from({ length: 10_000 }, (_, index) => `line ${index}`)],
    ["keys", Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`key-${index}`, index]))],
    ["long keys", { ["k".repeat(100_000)]: 1 }],
    ["texts just below the cut", Array.from({ length: 5_000 }, () => "x".repeat(250))],
  ])("made of many %s is told in part, its ids whole", (_what, list) => {
    const moment = written(before({ list }))
    expect(moment).toMatchObject({ kind: "tool.before", input: toolInput() })
    expect(moment.cut?.length).toBeGreaterThan(0)
  })

  test("bytes of a file are replaced, not spelled out", () => {
    const moment = written(before({ data: new Uint8Array(200_000) }))
    expect(moment.cut).toEqual(["output.args.data"])
    expect(JSON.stringify(moment)).toContain("200000 bytes cut")
  })

  test("nested a thousand levels deep is told in part", () => {
    let nested: unknown = 1
    for (let level = 0; level < 1000; level += 1) nested = { nested }
    expect(written(before(nested)).cut?.length).toBeGreaterThan(0)
  })

  test("that contains itself is told in part", () => {
    const args: Record<string, unknown> = { name: "loop" }
    args.self = args
    expect(written(before(args))).toMatchObject({ output: { args: { name: "loop" } } })
  })
})

test("a value JSON cannot express is the caller's to count", () => {
  expect(() => writeMoment(before({ big: 1n }), 0, 0)).toThrow()
})

test("an event's own clock and index do not replace the moment's", () => {
  const event = { ...busEvent("x", { n: 7, at: 7 }) }
  expect(written({ kind: "bus", event })).toMatchObject({ n: 3, at: 99 })
})
