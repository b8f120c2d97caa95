/**
 * Digests over original content (AEP-0003 §9.3): SHA-256 over canonical JSON, first 16 bytes, lower-case hex.
 * Pure: the hash function is handed in. Called by the mapping, before any gate or redaction sees the value.
 */

/** SHA-256 of UTF-8 text as lower-case hex. */
export type Sha256Hex = (text: string) => string

/**
 * Canonical JSON as the official fixtures pin it: keys sorted at every depth, no white space, array order
 * kept, non-ASCII unescaped, members that JSON cannot carry left out. A string is a JSON string, quotes included.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, sortKeys) ?? "null"
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value
  const source = value as Record<string, unknown>
  const keys = Object.keys(source)
  if (isSorted(keys)) return value
  const sorted: Record<string, unknown> = Object.create(null)
  for (const key of keys.sort()) sorted[key] = source[key]
  return sorted
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return false
  }
  return true
}

/** The 32-character digest of a value. Digests correlate, they do not hide: low-entropy content can be guessed. */
export function digestOf(value: unknown, sha256Hex: Sha256Hex): string {
  return sha256Hex(canonicalJson(value)).slice(0, 32)
}
