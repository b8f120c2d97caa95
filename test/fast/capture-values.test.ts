/** The gate for `answer.values`: the official capture-gating corpus, and what it leaves open. */
import { describe, expect, test } from "bun:test"
import { gateValues } from "../../service/capture/values.ts"
import { type Capture, isAboveCeiling } from "../../shared/aep.ts"
import type { FieldSpec } from "../../shared/aep-payloads.ts"
import { officialData, readOfficial } from "../official.ts"

interface GatingCase {
  name: string
  fields: FieldSpec[]
  values: Record<string, unknown>
  ceiling: Capture
  expect: Record<string, unknown>
}

const official = officialData()
const cases =
  official.kind === "present"
    ? (readOfficial("conformance/fixtures/capture-gating/cases.json") as { cases: GatingCase[] }).cases
    : []
const mark = (text: string) => `<${text}>`
const upTo = (ceiling: Capture) =>
  isAboveCeiling("redacted", ceiling) ? {} : { tell: (text: string) => text }

const form: FieldSpec[] = [
  { id: "name", type: "string", label: "Name" },
  { id: "replicas", type: "number", label: "Replicas" },
  { id: "staged", type: "boolean", label: "Staged" },
  { id: "db", type: "select", label: "Database", other: true, choices: [{ id: "1", label: "A" }] },
]

if (official.kind === "absent") test.skip(official.reason, () => undefined)

describe.skipIf(official.kind === "absent")(`the ${cases.length} official capture-gating cases`, () => {
  test("every case gives exactly the expected values", () => {
    const wrong = cases.filter((entry) => {
      const gated = gateValues(entry.values, { fields: entry.fields, ...upTo(entry.ceiling) })
      return !Bun.deepEquals(gated, entry.expect, true)
    })
    expect(wrong.map((entry) => entry.name)).toEqual([])
    expect(cases.length).toBeGreaterThan(0)
  })
})

describe("written text in an answer", () => {
  test("passes the redaction while choice ids and numbers do not", () => {
    const values = { name: "n", replicas: 3, staged: false, db: ["1", "Maria"] }
    expect(gateValues(values, { fields: form, tell: mark })).toEqual({
      name: "<n>",
      replicas: 3,
      staged: false,
      db: ["1", "<Maria>"],
    })
  })

  test("under a number or boolean field is free text, not structure", () => {
    const values = { replicas: "three", staged: "secret" }
    expect(gateValues(values, { fields: form })).toEqual({})
    expect(gateValues(values, { fields: form, tell: mark })).toEqual({
      replicas: "<three>",
      staged: "<secret>",
    })
  })

  test("in a multi-select beside a choice id takes the whole entry with it below redacted", () => {
    expect(gateValues({ db: ["1", "Maria"] }, { fields: form })).toEqual({})
  })

  test("nested in objects or lists of lists is dropped at every level", () => {
    const values = { name: { deep: "secret" }, db: ["1", ["secret"], { x: "secret" }, null] }
    expect(gateValues(values, { fields: form, tell: mark })).toEqual({ db: ["1"] })
    expect(gateValues({ name: null }, { fields: form, tell: mark })).toEqual({})
  })

  test("without the request's fields only numbers and booleans are structural", () => {
    const values = { a: "text", b: 1, c: true, d: ["1"], e: null }
    expect(gateValues(values, {})).toEqual({ b: 1, c: true })
    expect(gateValues(values, { tell: mark })).toEqual({ a: "<text>", b: 1, c: true, d: ["<1>"] })
  })
})
