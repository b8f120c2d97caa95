/** Lines read back from a log: whole ones, in pieces, exactly as they were written. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { LineReader } from "../../service/emit/relay/lines.ts"

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "aep-lines-"))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const LONGEST = 1000
const write = (text: string): number => {
  writeFileSync(join(root, "l"), text)
  return Buffer.byteLength(text)
}
const object = (bytes: number) => `{"x":"${"x".repeat(bytes - 8)}"}`
const read = (from: number, to: number, portion = { bytes: 100, lines: 10 }) =>
  new LineReader(root, LONGEST).read("l", from, to, portion)

describe("a piece of a log", () => {
  test("ends with the last whole line that fits", () => {
    const size = write(`${object(40)}\n${object(40)}\n${object(40)}\n`)
    const texts = [object(40), object(40)]
    expect(read(0, size)).toEqual({ kind: "lines", texts, end: 82, skipped: 0 })
    expect(read(82, size)).toEqual({ kind: "lines", texts: [object(40)], end: size, skipped: 0 })
  })

  test("has at most as many lines as asked for", () => {
    const size = write("{}\n{}\n{}\n")
    expect(read(0, size, { bytes: 100, lines: 2 })).toMatchObject({ texts: ["{}", "{}"], end: 6 })
  })

  test("is one whole line, when not even that fits", () => {
    const size = write(`${object(900)}\n{}\n`)
    expect(read(0, size, { bytes: 10, lines: 10 })).toEqual({
      kind: "lines",
      texts: [object(900)],
      end: 901,
      skipped: 0,
    })
  })

  test("is byte for byte what was written, beyond ASCII too, and cut nowhere but at line feeds", () => {
    const text = '{"x":"né💥\u2028\\n\\ud800"}'
    const size = write(`${text}\n${text}\n`)
    for (let bytes = 1; bytes < 60; bytes += 1) {
      const first = read(0, size, { bytes, lines: 1 })
      expect(first).toMatchObject({ texts: [text], end: size / 2 })
    }
  })

  test("stops at the offset asked for, though the log goes on", () => {
    write("{}\n{}\n")
    expect(read(0, 3)).toMatchObject({ texts: ["{}"], end: 3 })
  })
})

describe("what is no event is skipped and counted", () => {
  test.each([
    ["the rest of a torn write", '{"a":1\n{}\n', ["{}"], 1],
    ["an empty line", "\n{}\n", ["{}"], 1],
    ["zeros", `${"\0".repeat(50)}\n{}\n`, ["{}"], 1],
    ["a rest without its line feed", '{}\n{"a"', ["{}"], 0],
  ])("%s", (_name, text, texts, skipped) => {
    expect(read(0, write(text))).toMatchObject({ kind: "lines", texts, skipped })
  })

  test("a rest without its line feed, when its turn comes", () => {
    const size = write('{}\n{"a"')
    expect(read(3, size)).toEqual({ kind: "lines", texts: [], end: size, skipped: 1 })
  })

  test.each([LONGEST + 1, 5000, 300_000])(
    "a line of %p bytes, beyond the bound; the next one is found",
    (bytes) => {
      const size = write(`${object(bytes)}\n{}\n`)
      const first = read(0, size)
      expect(first).toEqual({ kind: "lines", texts: [], end: bytes + 1, skipped: 1 })
      expect(read(bytes + 1, size)).toMatchObject({ texts: ["{}"] })
    },
  )

  test("a line of exactly the bound is sent", () => {
    expect(read(0, write(`${object(LONGEST)}\n`))).toMatchObject({ texts: [object(LONGEST)], skipped: 0 })
  })
})

describe("a log that is not what it was", () => {
  test("that is shorter than asked for is cut", () => {
    const size = write("{}\n")
    expect(read(0, size + 1)).toEqual({ kind: "cut", size })
  })

  test("that is gone is cut to nothing", () => {
    expect(read(0, 3)).toEqual({ kind: "cut", size: 0 })
  })

  test("that is a folder has failed, with the system's code", () => {
    expect(
      new LineReader(tmpdir(), LONGEST).read(root.slice(tmpdir().length), 0, 1, { bytes: 1, lines: 1 }),
    ).toEqual({
      kind: "failed",
      code: "EISDIR",
    })
  })
})

describe("the last line of a log", () => {
  const last = () => new LineReader(root, 10_000).last("l")
  test.each([
    ["of one line", "{}\n", "{}"],
    ["of two", '{"a":1}\n{"b":2}\n', '{"b":2}'],
    ["longer than the first look", `{}\n${object(9000)}\n`, object(9000)],
    ["with a torn end", '{"a":1}\n{"b"', '{"a":1}'],
    ["that has none", "", undefined],
    ["that has only a torn one", '{"a"', undefined],
    ["longer than the bound", `{}\n${object(50_000)}\n`, undefined],
  ])("%s", (_name, text, expected) => {
    write(text)
    expect(last()).toBe(expected)
  })

  test("of a log that is gone is none", () => {
    expect(last()).toBeUndefined()
  })
})
