/**
 * Readers for members of values nobody has checked: the agent's own payloads change from version to version,
 * so each member is taken only if it has the expected JSON type, and is absent otherwise. Pure.
 */

export type Json = Record<string, unknown>

/** The value as an object, or an empty one: reading a member of it then gives `undefined`. */
export function objectOf(value: unknown): Json {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Json) : EMPTY
}

const EMPTY: Json = Object.freeze({})

/** The value as a non-empty string, else absent. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The value as a finite number, else absent. 0 is a value. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

/** The value as a list, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The value as a count (a whole number of 0 and more), else absent: what AEP's usage fields accept. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
