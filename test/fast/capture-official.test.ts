/**
 * The gate beside the official data: no field above the ceiling survives for any type, a golden payload at its
 * own level survives whole, and at `metadata` the gate leaves what the official down-leveling corpus expects.
 */
import { describe, expect, test } from "bun:test"
import { gateDraft } from "../../service/capture/gate.ts"
import { type AepEvent, type Capture, type Fields, isAboveCeiling, registry } from "../../shared/aep.ts"
import { officialData, readOfficial, readOfficialText } from "../official.ts"
import { VERBATIM } from "../posture.ts"

const official = officialData()
const present = official.kind === "present"

interface DownlevelCase {
  name: string
  ceiling: Capture
  event: AepEvent
  expect_data: Record<string, unknown> | null
}

const golden: AepEvent[] = present
  ? readOfficialText("conformance/fixtures/golden/golden.jsonl")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
  : []
const withData = golden.filter((event) => event.data !== undefined && event.type !== "attention.answered")
const downlevel = present
  ? (readOfficial("conformance/fixtures/downlevel/cases.json") as { cases: DownlevelCase[] }).cases
  : []
// A hop drops a vendor payload and every form's wording; an emitter knows both better.
const atMetadata = downlevel.filter(
  (entry) =>
    entry.ceiling === "metadata" && !entry.event.type.startsWith("x.") && entry.event.data?.kind !== "form",
)

const gate = (event: AepEvent, ceiling: Capture) =>
  gateDraft(
    {
      type: event.type,
      data: event.data ?? {},
      ...(event.subject === undefined ? {} : { subject: event.subject }),
    },
    { ceiling, agent: event.agent, redactor: VERBATIM },
  )

/** A payload whose every leaf says its own level. */
function labelled(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(
    [...fields].map(([name, field]) => {
      if (field.members !== undefined) return [name, labelled(field.members)]
      if (field.item !== undefined) return [name, [labelled(field.item), labelled(field.item)]]
      return [name, field.exception === "values" ? {} : `level:${field.level}`]
    }),
  )
}

describe("every registered type", () => {
  const rows = [...registry].flatMap(([type, { fields }]) => (fields === undefined ? [] : [{ type, fields }]))

  test.each(["metadata", "redacted", "full"] as const)(
    "%s keeps all fields up to it and none above",
    (ceiling) => {
      for (const { type, fields } of rows) {
        const data = labelled(fields)
        const before = JSON.stringify(data)
        const { capture, data: gated } = gateDraft(
          { type, data },
          { ceiling, agent: "a", redactor: VERBATIM },
        )
        const after = JSON.stringify(gated)
        expect(capture).toBe(ceiling)
        for (const level of ["redacted", "full"] as const) {
          const kept = after.split(`level:${level}`).length
          const expected = isAboveCeiling(level, ceiling) ? 1 : before.split(`level:${level}`).length
          expect({ type, level, kept }).toEqual({ type, level, kept: expected })
        }
      }
    },
  )
})

if (official.kind === "absent") test.skip(official.reason, () => undefined)

describe.skipIf(!present)("official payloads", () => {
  test(`the ${withData.length} golden payloads outlive the gate at the level they declare`, () => {
    const changed = withData.filter((event) => {
      const { data } = gate(event, event.capture ?? "metadata")
      return !Bun.deepEquals(data, event.data, true)
    })
    expect(changed.map((event) => event.id)).toEqual([])
  })

  test(`${atMetadata.length} of ${downlevel.length} down-leveling cases hold for the gate at metadata too`, () => {
    const wrong = atMetadata.filter(
      (entry) => !Bun.deepEquals(gate(entry.event, "metadata").data, entry.expect_data, true),
    )
    expect(wrong.map((entry) => entry.name)).toEqual([])
  })
})
