/**
 * Recordings held against core events that a person reviewed (`fixtures/expected`, its README says how). With
 * `AEP_WRITE_EXPECTED=1` the files are written anew, to be reviewed as a diff.
 */
import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { readRecording, recordings } from "../recordings.ts"
import { replaySteps } from "../replay.ts"
import { rowsOf } from "../rows.ts"

const FOLDER = resolve(import.meta.dir, "../../fixtures/expected")
const names = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .map((name) => name.slice(0, -".json".length))

const found = recordings()
if (found.kind === "absent") {
  test.skip(`recordings against reviewed events: ${found.reason}`, () => undefined)
} else {
  describe("a recording becomes its reviewed events", () => {
    test.each(names)("%s", (name) => {
      const rows = rowsOf(replaySteps(readRecording(name, "table"), "leases-lapse").events)
      const file = join(FOLDER, `${name}.json`)
      if (process.env.AEP_WRITE_EXPECTED === "1") writeFileSync(file, `${JSON.stringify(rows, null, 2)}\n`)
      expect(rows).toEqual(JSON.parse(readFileSync(file, "utf8")))
    })
  })

  test("at least twenty recordings are reviewed, and each of them is there", () => {
    expect(names.length).toBeGreaterThanOrEqual(20)
    expect(names.filter((name) => !existsSync(join(found.root, `${name}.jsonl`)))).toEqual([])
  })
}
