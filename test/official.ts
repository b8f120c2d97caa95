/**
 * The official AEP reference data: where it is, what to do when it is not there, and the judgement of an
 * event by its JSON Schemas (ajv, independent of our valibot ones). Used by the fast and the live suites.
 * The data is read-only; a mismatch is a fault of ours, never of the file.
 */
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"

/** A row of `schemas/registry/types.json`. */
export interface OfficialType {
  type: string
  status: string
  scope: string
  /** File under `schemas/types/`, null for reserved types. */
  schema: string | null
}

/** The part of a JSON Schema that the payload files use. */
export interface OfficialSchema {
  type?: string | string[]
  enum?: string[]
  properties?: Record<string, OfficialSchema>
  items?: OfficialSchema
  required?: string[]
  "x-aep-capture"?: string
}

/** The data, or why there is none. */
export type Official =
  | { kind: "present"; root: string; types: OfficialType[] }
  | { kind: "absent"; reason: string }

const repository = resolve(import.meta.dir, "..")

/**
 * The one decision about missing data: it lies at `AEP_DATA`, else beside the checkout at `../shared/aep`. Absent
 * is a failure where `CI` is `true`; elsewhere suites skip and show the reason.
 */
export function officialData(): Official {
  const root = resolve(repository, process.env.AEP_DATA ?? "../shared/aep")
  const file = join(root, "schemas/registry/types.json")
  if (existsSync(file)) {
    const read = JSON.parse(readFileSync(file, "utf8")) as { types: OfficialType[] }
    return { kind: "present", root, types: read.types }
  }
  const reason =
    "no official AEP 0.1 data: set AEP_DATA to a folder that holds schemas/ and conformance/ of the AEP " +
    "project's 0.1 release, or put it at ../shared/aep beside this checkout"
  if (process.env.CI === "true") throw new Error(reason)
  return { kind: "absent", reason }
}

/** Reads a JSON file of the data, by its path below the root. Throws when the data is absent. */
export function readOfficial(path: string): unknown {
  return JSON.parse(readOfficialText(path))
}

/** Reads a file of the data as text, for JSONL. Throws when the data is absent. */
export function readOfficialText(path: string): string {
  const data = officialData()
  if (data.kind === "absent") throw new Error(data.reason)
  return readFileSync(join(data.root, path), "utf8")
}

interface Validators {
  envelope: ValidateFunction
  payloads: Map<string, ValidateFunction>
}

let compiled: Validators | undefined

/** Compiled once per process: 44 schemas take a noticeable part of a second. */
function validators(): Validators {
  if (compiled !== undefined) return compiled
  const data = officialData()
  if (data.kind === "absent") throw new Error(data.reason)
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, strictTypes: false })
  addFormats.default(ajv, ["date-time", "uri"])
  ajv.addVocabulary(["x-aep-capture"])
  const payloads = new Map<string, ValidateFunction>()
  for (const { type, schema } of data.types) {
    if (schema === null) continue
    payloads.set(type, ajv.compile(readOfficial(`schemas/types/${schema}`) as object))
  }
  const envelope = ajv.compile(readOfficial("schemas/aep-event.schema.json") as object)
  compiled = { envelope, payloads }
  return compiled
}

const messages = (validate: ValidateFunction, where: string): string[] =>
  (validate.errors ?? []).map((error) => `${where}${error.instancePath}: ${error.message ?? error.keyword}`)

/**
 * What the official schemas say against an event: the envelope schema, and the payload schema when there is
 * `data` and the type is registered. Formats (`date-time`, `uri`) are enforced. Empty = valid. Throws when the
 * data is absent. Not judged: registration, capture levels, and rules across events.
 */
export function validateOfficial(event: unknown): string[] {
  const { envelope } = validators()
  const found = envelope(event) ? [] : messages(envelope, "event")
  if (typeof event !== "object" || event === null) return found
  const { type, data } = event as { type?: unknown; data?: unknown }
  return typeof type === "string" && data !== undefined
    ? [...found, ...validateOfficialPayload(type, data)]
    : found
}

/** What the official payload schema of a type says against `data`; nothing where the type has no schema. */
export function validateOfficialPayload(type: string, data: unknown): string[] {
  const validate = validators().payloads.get(type)
  return validate === undefined || validate(data) ? [] : messages(validate, "data")
}
