/** Moments through mapping, gate and the real redaction: what each tells at each ceiling, from a hand-written table. */
import { describe, expect, test } from "bun:test"
import table from "../../fixtures/capture/moments.json" with { type: "json" }
import { type Gated, gateDraft } from "../../service/capture/gate.ts"
import { createRedactor } from "../../service/capture/redact.ts"
import { mapMoment } from "../../service/map/moment.ts"
import { PROFILES, type Profile } from "../../service/map/profile.ts"
import type { Capture } from "../../shared/aep.ts"
import type { MomentBody } from "../../shared/moments.ts"
import { officialData, validateOfficialPayload } from "../official.ts"

interface Row {
  name: string
  moment: MomentBody
  cut?: string[]
  type: string
  subject?: string
  metadata: Record<string, unknown>
  redacted: Record<string, unknown>
  full: Record<string, unknown>
}

const rows = table.rows as unknown as Row[]
const profile = PROFILES.opencode as Profile
const redactor = createRedactor({ home: "/home/dev", secretValues: [], pii: true })
const isJudged = officialData().kind === "present"

function draftOf(row: Row) {
  const draft = mapMoment(row.moment, {
    profile,
    digest: () => "*",
    ...(row.cut === undefined ? {} : { cut: row.cut }),
  })
  if (draft === undefined) throw new Error("nothing was told")
  return draft
}

const told = (row: Row, ceiling: Capture): Gated =>
  gateDraft(draftOf(row), { ceiling, agent: profile.agent, redactor })

describe.each(rows)("$name", (row) => {
  test("has its type and subject", () => {
    const { type, subject } = draftOf(row)
    expect({ type, subject }).toEqual({ type: row.type, subject: row.subject })
  })

  test.each(["metadata", "redacted", "full"] as const)("tells this much at %s", (ceiling) => {
    const { data } = told(row, ceiling)
    expect(data).toEqual(row[ceiling])
    if (isJudged) expect(validateOfficialPayload(row.type, data)).toEqual([])
  })

  test("tells nothing at none", () => {
    expect(told(row, "none")).toEqual({ capture: "none" })
  })
})
