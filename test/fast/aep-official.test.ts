/**
 * `shared/aep.ts` against the official registry and payload schemas: same types, fields, levels, required
 * members, and the same verdict on payloads made by changing one thing at a time.
 */
import { describe, expect, test } from "bun:test"
import * as v from "valibot"
import {
  CAPTURES,
  type Fields,
  fieldsOf,
  isRegistered,
  payloadSchemaOf,
  registry,
  SEVERITIES,
  scopeOf,
} from "../../shared/aep.ts"
import { type OfficialSchema, officialData, readOfficial, validateOfficialPayload } from "../official.ts"

const official = officialData()
const types = official.kind === "present" ? official.types : []
const withSchema = types.flatMap(({ type, schema }) => (schema === null ? [] : [{ type, schema }]))
const schemaOf = (file: string) => readOfficial(`schemas/types/${file}`) as OfficialSchema

/** `path -> level, with ! where required`, arrays as `[]`; names keep their dots. */
type Levels = Record<string, string>

function officialLevels(schema: OfficialSchema, path = ""): Levels {
  const levels: Levels = {}
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const at = path === "" ? name : `${path}.${name}`
    const level = member["x-aep-capture"]
    if (level !== undefined) levels[at] = `${level}${schema.required?.includes(name) ? "!" : ""}`
    Object.assign(levels, officialLevels(member, at), officialLevels(member.items ?? {}, `${at}[]`))
  }
  return levels
}

function ourLevels(fields: Fields, path = ""): Levels {
  const levels: Levels = {}
  for (const [name, field] of fields) {
    const at = path === "" ? name : `${path}.${name}`
    levels[at] = `${field.level}${field.required ? "!" : ""}`
    Object.assign(levels, ourLevels(field.members ?? new Map(), at))
    Object.assign(levels, ourLevels(field.item ?? new Map(), `${at}[]`))
  }
  return levels
}

const agrees = (type: string, data: unknown): boolean => {
  const schema = payloadSchemaOf(type)
  if (schema === undefined) throw new Error(`${type} has no schema`)
  return v.is(schema, data) === (validateOfficialPayload(type, data).length === 0)
}

/** Values of every JSON kind, and those near the bounds that the schemas set. */
const PROBES: unknown[] = [
  "text",
  "",
  "2026-07-03T10:00:00Z",
  "2026-07-03T10:00:00.5+02:00",
  "2026-07-03T10:00:00",
  "2026-02-30T10:00:00Z",
  "2026-07-03T24:00:00Z",
  "2016-12-31T23:59:60Z",
  "2016-12-31T22:59:60Z",
  "2017-01-01T01:59:60+02:00",
  0,
  1.5,
  -1,
  -0.5,
  100,
  100.5,
  1e21,
  true,
  null,
  {},
  { extra: "member" },
  [],
  [{}],
  ["control"],
  ["text"],
  [null],
]

const sampleTexts: Record<string, string> = { "date-time": "2026-07-03T10:00:00Z" }

/** A payload that fills every member of a schema, with `choices` and all optional members present. */
function fill(schema: OfficialSchema & { format?: string }): unknown {
  if (schema.enum !== undefined) return schema.enum.at(-1)
  const kind = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (kind === "object" || schema.properties !== undefined) {
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, member]) => [name, fill(member)]),
    )
  }
  if (kind === "array") return [fill(schema.items ?? { type: "string" })]
  if (kind === "string") return sampleTexts[schema.format ?? ""] ?? "text"
  return kind === "boolean" ? true : 1
}

type Path = (string | number)[]

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path]
  const keys: Path = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value)
  return [path, ...keys.flatMap((key) => pathsOf(Reflect.get(value, key), [...path, key]))]
}

/** A copy of `whole` with the place at `path` changed, or removed when `change` gives undefined. */
function changed(whole: unknown, path: Path, replacement: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return replacement
  const copy = structuredClone(whole) as object
  const value = changed(Reflect.get(copy, key), rest, replacement)
  if (value === undefined) Reflect.deleteProperty(copy, key)
  else Reflect.set(copy, key, value)
  return copy
}

if (official.kind === "absent") test.skip(official.reason, () => undefined)

describe.skipIf(official.kind === "absent")("the registry against the official one", () => {
  test(`lists the ${types.length} official types with their status and scope`, () => {
    const ours = [...registry].map(([type, row]) => ({
      type,
      status: row.status as string,
      scope: row.scope as string,
      schema: row.schema !== undefined,
    }))
    const theirs = types.map(({ type, status, scope, schema }) => ({
      type,
      status,
      scope,
      schema: schema !== null,
    }))
    const byType = (a: { type: string }, b: { type: string }) => a.type.localeCompare(b.type)
    expect(ours.sort(byType)).toEqual(theirs.sort(byType))
  })

  test("orders severities and capture levels as the official registry does", () => {
    expect(readOfficial("schemas/registry/severity.json")).toMatchObject({ order: [...SEVERITIES] })
    expect(readOfficial("schemas/registry/capture.json")).toMatchObject({ order: [...CAPTURES] })
  })

  test("knows a vendor type, a reserved type and an unknown core type apart", () => {
    expect(isRegistered("x.opencode.file.edited")).toBe(false)
    expect(scopeOf("message.user.submitted")).toBe("session")
    expect(fieldsOf("message.user.submitted")).toBeUndefined()
    expect(payloadSchemaOf("tool.whatever")).toBeUndefined()
  })
})

describe.skipIf(official.kind === "absent")("payload fields against the official schemas", () => {
  const fieldCount = withSchema.reduce(
    (sum, row) => sum + Object.keys(officialLevels(schemaOf(row.schema))).length,
    0,
  )

  test(`annotates the ${fieldCount} official fields with the same level and requiredness`, () => {
    let count = 0
    for (const { type, schema } of withSchema) {
      const ours = ourLevels(fieldsOf(type) ?? new Map())
      count += Object.keys(ours).length
      expect({ type, levels: ours }).toEqual({ type, levels: officialLevels(schemaOf(schema)) })
    }
    expect(count).toBe(fieldCount)
  })

  test.each(withSchema)("$type accepts and rejects what its official schema does", ({ type, schema }) => {
    const whole = fill(schemaOf(schema))
    expect(validateOfficialPayload(type, whole)).toEqual([])
    const disagreements: unknown[] = []
    for (const path of pathsOf(whole)) {
      for (const probe of [...PROBES, ...(path.length > 0 ? [undefined] : [])]) {
        const data = changed(whole, path, probe)
        if (!agrees(type, data)) disagreements.push({ path, probe })
      }
    }
    for (const data of [{}, { constructor: {}, extra: null }, [], "text", 1, null]) {
      if (!agrees(type, data)) disagreements.push({ data })
    }
    expect(disagreements).toEqual([])
  })
})
