/** Holds `docs/deviations.md` and the marks in the source together: a departure without its reason is a bug. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { recordings } from "../recordings.ts"

const root = resolve(import.meta.dir, "../..")

test("every deviation coded is documented with its evidence, and the other way round", async () => {
  const coded = new Set<string>()
  for (const pattern of ["service/**/*.ts", "shared/*.ts", "plugin/src/*.ts"]) {
    for await (const file of new Bun.Glob(pattern).scan(root)) {
      for (const [id] of readFileSync(join(root, file), "utf8").matchAll(/\bD-\d\d\b/g)) coded.add(id)
    }
  }
  const rows = readFileSync(join(root, "docs/deviations.md"), "utf8")
    .split("\n")
    .filter((line) => /^\| D-\d\d \|/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()))
  const documented = rows.map((cells) => cells[1] ?? "")

  expect([...coded].sort()).toEqual([...documented].sort())
  for (const [, id, departure, evidence] of rows) {
    expect(`${id}: ${departure}`).toMatch(/: .{20,}/)
    expect(`${id}: ${evidence}`).toMatch(/: .{20,}/)
  }
})

const found = recordings()

test.skipIf(found.kind === "absent")("every recording that is named as evidence is there", () => {
  const page = readFileSync(join(root, "docs/deviations.md"), "utf8")
  const named = [...page.matchAll(/`(1\.\d+\.\d+-[a-z0-9-]+)`/g)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(10)
  const names: readonly string[] = found.kind === "present" ? found.names : []
  expect(named.filter((name = "") => !names.includes(name))).toEqual([])
})
