/** Down-leveling at a hop (AEP-0001 §8.2): the official corpus, and what holds for every event and ceiling. */
import { describe, expect, test } from "bun:test"
import { downlevel } from "../../service/capture/downlevel.ts"
import { type AepEvent, CAPTURES, type Capture, isAboveCeiling } from "../../shared/aep.ts"
import { officialData, readOfficial, readOfficialText, validateOfficial } from "../official.ts"

interface DownlevelCase {
  name: string
  ceiling: Capture
  event: AepEvent
  expect_capture: Capture
  expect_data: Record<string, unknown> | null
}

const official = officialData()
const present = official.kind === "present"
const cases = present
  ? (readOfficial("conformance/fixtures/downlevel/cases.json") as { cases: DownlevelCase[] }).cases
  : []
const golden: AepEvent[] = present
  ? readOfficialText("conformance/fixtures/golden/golden.jsonl")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
  : []

const event = (members: Partial<AepEvent>): AepEvent => ({
  aep: "0.1",
  id: "E1",
  type: "run.finished",
  time: "2026-03-02T14:00:00.000Z",
  source: "aep://host-a/agent/opencode/session/ses_1",
  agent: "opencode",
  session: "ses_1",
  seq: 0,
  ...members,
})

if (official.kind === "absent") test.skip(official.reason, () => undefined)

describe.skipIf(!present)("the official corpus", () => {
  test.each(cases)("$name", (entry) => {
    const before = JSON.stringify(entry.event)
    const told = downlevel(entry.event, entry.ceiling)
    expect(told.capture ?? "metadata").toBe(entry.expect_capture)
    expect(told.data ?? null).toEqual(entry.expect_data)
    expect(JSON.stringify(entry.event)).toBe(before)
  })

  test("is driven whole", () => {
    process.stdout.write(`downlevel/cases.json: ${cases.length} cases\n`)
    expect(cases.length).toBeGreaterThanOrEqual(17)
  })

  test.each(CAPTURES)(
    "every golden event stays legal at ceiling %s, and nothing but payload and level changes",
    (ceiling) => {
      for (const from of [...golden, ...cases.map((entry) => entry.event)]) {
        const told = downlevel(from, ceiling)
        expect(validateOfficial(told)).toEqual([])
        expect({ ...told, capture: from.capture, data: from.data }).toEqual({
          ...from,
          capture: from.capture,
          data: from.data,
        })
        expect(isAboveCeiling(told.capture ?? "metadata", ceiling)).toBe(false)
        expect(downlevel(told, ceiling)).toBe(told)
      }
    },
  )
})

test("an event at or below the ceiling is the same object, also without a level of its own", () => {
  const bare = event({ data: {} })
  expect(downlevel(bare, "metadata")).toBe(bare)
  expect(downlevel(bare, "full")).toBe(bare)
  const redacted = event({ capture: "redacted", data: { summary: "s" } })
  expect(downlevel(redacted, "redacted")).toBe(redacted)
})

test("an event without a level of its own counts as metadata", () => {
  const told = downlevel(event({ data: { duration_ms: 1 } }), "none")
  expect(told).toEqual(event({ capture: "none" }))
  expect("data" in told).toBe(false)
})

test("a vendor event that claims more than its reader may have loses its payload, and one at metadata keeps it", () => {
  const vendor = event({ type: "x.opencode.session.error", data: { type: "APIError" } })
  expect(downlevel({ ...vendor, capture: "redacted" }, "metadata").data).toBeUndefined()
  expect(downlevel({ ...vendor, capture: "metadata" }, "metadata").data).toEqual({ type: "APIError" })
})

test("types without members lose their payload whatever somebody put there", () => {
  const told = downlevel(
    event({ type: "control.accepted", capture: "full", data: { a: "text" } }),
    "metadata",
  )
  expect("data" in told).toBe(false)
})

test("extension attributes stay", () => {
  const told = downlevel(event({ capture: "full", data: {}, opencodemoment: 3 }), "none")
  expect(told.opencodemoment).toBe(3)
})
