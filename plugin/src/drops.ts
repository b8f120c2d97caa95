/**
 * Counts of moments that will never be sent, by bus type or kind, until the service has acknowledged hearing of
 * them. Bounded: beyond 100 kinds the rest is counted together, and names are cut to 128
 * characters (a bus type may be anything).
 */

/** Counts by kind, as `dropped` of a batch. */
export type Counts = Record<string, number>

/** The counters as the uplink uses them. */
export interface Drops {
  count(kind: string): void
  /** A copy to tell; undefined when there is nothing to tell. */
  snapshot(): Counts | undefined
  /** Takes off what the service has acknowledged; counts made since the snapshot stay. */
  acknowledge(told: Counts | undefined): void
}

const MOST_KINDS = 100
const MOST_CHARACTERS = 128

/** Empty counters. */
export function createDrops(): Drops {
  const counts = new Map<string, number>()
  return {
    count(kind) {
      const name = kind.slice(0, MOST_CHARACTERS)
      const key = counts.has(name) || counts.size < MOST_KINDS ? name : "other"
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    snapshot() {
      return counts.size === 0 ? undefined : Object.fromEntries(counts)
    },
    acknowledge(told) {
      for (const [kind, number] of Object.entries(told ?? {})) {
        const left = (counts.get(kind) ?? 0) - number
        if (left > 0) counts.set(kind, left)
        else counts.delete(kind)
      }
    },
  }
}
