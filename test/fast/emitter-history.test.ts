/** What a start reads of the logs for the hub's buffers: whole lines, youngest logs, within its bounds. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readHistory } from "../../service/emit/history.ts"

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "aep-history-"))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const WIDE = { files: 100, fileBytes: 1_000_000, bytes: 1_000_000 }

/** A log of these lines, written so many seconds after the first one. */
function log(file: string, text: string, age = 0): void {
  const path = join(root, file)
  mkdirSync(join(path, ".."), { recursive: true })
  writeFileSync(path, text)
  utimesSync(path, 1_800_000_000 + age, 1_800_000_000 + age)
}

test("logs come whole, the youngest last", () => {
  log("opencode/a.jsonl", '{"a":1}\n{"a":2}\n', 2)
  log("kilocode/b.jsonl", '{"b":1}\n', 1)
  log("opencode/c.jsonl", '{"c":"ä"}\n', 3)
  expect(readHistory(root, WIDE)).toEqual([['{"b":1}'], ['{"a":1}', '{"a":2}'], ['{"c":"ä"}']])
})

test("a torn last line and the middle of a first one are left out", () => {
  log("opencode/a.jsonl", '{"a":1}\n{"a":2}\n{"a":3}\n{"a"')
  expect(readHistory(root, WIDE)).toEqual([['{"a":1}', '{"a":2}', '{"a":3}']])
  expect(readHistory(root, { ...WIDE, fileBytes: 18 })).toEqual([['{"a":3}']])
  expect(readHistory(root, { ...WIDE, fileBytes: 3 })).toEqual([])
})

test("of too many logs the youngest are read, of too many bytes as much as fits", () => {
  for (let index = 0; index < 5; index += 1) log(`opencode/s${index}.jsonl`, `{"s":${index}}\n`, index)
  expect(readHistory(root, { ...WIDE, files: 2 })).toEqual([['{"s":3}'], ['{"s":4}']])
  expect(readHistory(root, { ...WIDE, bytes: 16 })).toEqual([['{"s":3}'], ['{"s":4}']])
})

test("an empty root, an empty log, foreign files and folders cost nothing", () => {
  expect(readHistory(join(root, "absent"), WIDE)).toEqual([])
  log("opencode/empty.jsonl", "")
  log("opencode/notes.txt", "not a log\n")
  mkdirSync(join(root, "opencode/folder.jsonl"))
  writeFileSync(join(root, "loose.jsonl"), "{}\n")
  expect(readHistory(root, WIDE)).toEqual([])
})

test("a log that cannot be looked at is left out, and the others are read", () => {
  log("opencode/a.jsonl", "{}\n")
  symlinkSync(join(root, "gone"), join(root, "opencode/b.jsonl"))
  expect(readHistory(root, WIDE)).toEqual([["{}"]])
})
