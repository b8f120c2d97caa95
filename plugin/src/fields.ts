/**
 * Reading of objects whose shape the agent decides: nothing here trusts a type, nothing writes.
 * Used by the table; knows no bus type.
 */

/** An object the agent handed over, read key by key. */
export type Fields = Record<string, unknown>

/** True for plain objects and instances, false for null, arrays and everything that is no object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The value as an object; an empty one when it is none, so that a reader finds nothing in it. */
export function asFields(value: unknown): Fields {
  return isFields(value) ? value : {}
}

/** The value when it is a string, else undefined. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}

/** A new object with those of `keys` that `source` has; an absent key stays absent. */
export function pick(source: Fields, keys: readonly string[]): Fields {
  const kept: Fields = {}
  for (const key of keys) {
    const value = source[key]
    if (value !== undefined) kept[key] = value
  }
  return kept
}
