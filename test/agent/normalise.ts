/**
 * Takes out of a recording what belongs to the machine and the minute: paths, ports, ids, times. Pure. The order of
 * ids of one kind and every span of time stay as they were, for the mapping may rest on them. Two recordings of one
 * scenario still differ in spans, and where the agent itself is not deterministic.
 */

/** What to replace. */
export interface Places {
  /** Absolute paths and what they become; the longest is replaced first. */
  paths: Readonly<Record<string, string>>
  /** Ports of this machine and what they become. */
  ports: Readonly<Record<number, number>>
}

/** The time every recording begins at: 2026-01-01T00:00:00Z. */
export const BASE_MS = 1_767_225_600_000

/** Vendor ids: a kind, then a sortable rest. */
const ID = /\b(ses|msg|prt|per|que|evt|pty|tool)_[0-9A-Za-z]{20,}/g
const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g
const ISO = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
/** Numbers from here to there are taken for epoch milliseconds. */
const EPOCH_MS = { from: 1_600_000_000_000, to: 3_000_000_000_000 }

/** The values with everything replaced. `startMs` is the moment that becomes `BASE_MS`. */
export function normalise<T>(values: T, startMs: number, places: Places): T {
  const names = nameIds(JSON.stringify(values))
  const paths = Object.entries(places.paths).sort(([a], [b]) => b.length - a.length)
  const shift = (ms: number) => ms - startMs + BASE_MS

  const text = (before: string): string => {
    let after = before
    for (const [path, name] of paths) after = after.replaceAll(path, name)
    for (const [port, name] of Object.entries(places.ports)) {
      after = after.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${name}`)
    }
    return after
      .replace(ID, (id) => names.get(id) ?? id)
      .replace(UUID, (id) => names.get(id) ?? id)
      .replace(ISO, (time) => new Date(shift(Date.parse(time))).toISOString())
  }
  const number = (value: number) => (value >= EPOCH_MS.from && value < EPOCH_MS.to ? shift(value) : value)
  return walk(values, text, number) as T
}

/** A new name for each id, kinds apart, in the order the ids sort in. */
function nameIds(text: string): Map<string, string> {
  const kinds = new Map<string, Set<string>>()
  for (const [id, kind = ""] of text.matchAll(ID)) {
    kinds.set(kind, (kinds.get(kind) ?? new Set()).add(id))
  }
  const names = new Map<string, string>()
  for (const [kind, ids] of kinds) {
    const sorted = [...ids].sort()
    for (const [index, id] of sorted.entries())
      names.set(id, `${kind}_${String(index + 1).padStart(24, "0")}`)
  }
  // Random ids have no order; they are numbered as they appear.
  const random = [...new Set([...text.matchAll(UUID)].map(([id]) => id))]
  for (const [index, id] of random.entries()) {
    names.set(id, `00000000-0000-4000-8000-${String(index + 1).padStart(12, "0")}`)
  }
  return names
}

function walk(value: unknown, text: (value: string) => string, number: (value: number) => number): unknown {
  if (typeof value === "string") return text(value)
  if (typeof value === "number") return number(value)
  if (Array.isArray(value)) return value.map((each) => walk(each, text, number))
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, member]) => {
    // Word pairs the agent draws by lot.
    if (key === "slug") return [key, "slug"]
    return [text(key), walk(member, text, number)]
  })
  return Object.fromEntries(entries)
}
