/**
 * Every file of `fixtures/validate` gets the findings that its sidecar lists, no more and no fewer, and every verdict
 * the validator knows is in one of them.
 */
import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { CODES } from "../../service/validate/codes.ts"
import { judgeBytes } from "./validate-judge.ts"

interface Expected {
  about: string
  strict?: boolean
  maxLineBytes?: number
  skipped?: number
  /** `{line} {severity} {code}`, in the order they are told. */
  findings: string[]
}

const root = join(import.meta.dir, "../../fixtures/validate")

const namesIn = (folder: string, ending: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .sort()

const sidecar = (folder: string, name: string) =>
  JSON.parse(readFileSync(join(root, folder, `${name}.json`), "utf8")) as Expected

function judge(folder: string, name: string, chunkBytes?: number) {
  const { strict, maxLineBytes } = sidecar(folder, name)
  const options = { isStrict: strict === true, ...(maxLineBytes === undefined ? {} : { maxLineBytes }) }
  return judgeBytes(readFileSync(join(root, folder, `${name}.jsonl`)), options, chunkBytes)
}

const byLine = (a: string, b: string) => Number.parseInt(a, 10) - Number.parseInt(b, 10)

for (const folder of ["accept", "reject"]) {
  describe(folder, () => {
    test("every log has a sidecar, and every sidecar a log", () => {
      expect(namesIn(folder, ".jsonl")).toEqual(namesIn(folder, ".json"))
      expect(namesIn(folder, ".jsonl").length).toBeGreaterThan(0)
    })

    test.each(namesIn(folder, ".jsonl"))("%s: the findings are those of the sidecar", (name) => {
      const { findings, counts } = judge(folder, name)
      const expected = sidecar(folder, name)
      const told = findings.map(({ line, severity, code }) => `${line} ${severity} ${code}`)
      expect(told.sort(byLine)).toEqual([...expected.findings].sort(byLine))
      expect(counts.skipped).toBe(expected.skipped ?? counts.skipped)
      expect(counts.errors > 0).toBe(folder === "reject")
    })

    test.each(namesIn(folder, ".jsonl"))("%s: the same in pieces of one and of seven bytes", (name) => {
      expect(judge(folder, name, 1)).toEqual(judge(folder, name))
      expect(judge(folder, name, 7)).toEqual(judge(folder, name))
    })
  })
}

test("every verdict is in one of the sidecars, and none is there that the validator does not know", () => {
  const told = ["accept", "reject"].flatMap((folder) =>
    namesIn(folder, ".json").flatMap((name) =>
      sidecar(folder, name).findings.map((finding) => finding.split(" ")[2] ?? ""),
    ),
  )
  expect([...new Set(told)].sort()).toEqual(Object.keys(CODES).sort())
})

test("no finding repeats what a file says", () => {
  for (const folder of ["accept", "reject"]) {
    for (const name of namesIn(folder, ".jsonl")) {
      const said = judge(folder, name).findings.map(({ detail, field }) => `${detail} ${field ?? ""}`)
      for (const word of [
        "secret",
        "billing",
        "mars",
        "tape",
        "Go ahead",
        "Red",
        "yesterday",
        "banana",
        "acme",
      ]) {
        expect(said.filter((text) => text.includes(word))).toEqual([])
      }
    }
  }
})
