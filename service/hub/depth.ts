/** How deep JSON from outside may nest: writing 100,000 levels, for a digest or a lower ceiling, would end the process. */

/** Real payloads and arguments have some ten levels. */
export const MAX_LEVELS = 500

/** Whether a text of so many characters is too short to nest beyond the bound: each level takes two brackets. */
export function isShallow(length: number): boolean {
  return length < 2 * MAX_LEVELS
}

/** Whether a parsed value nests beyond the bound; looks no deeper than that. */
export function isTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  // Parsed JSON has no members but its own; a list of them would be made for every object.
  const members = value as Record<string, unknown>
  for (const name in members) if (isTooDeep(members[name], levels - 1)) return true
  return false
}
