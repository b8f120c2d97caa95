/**
 * Event ids: ULIDs that rise within the process, so that a log reads in order. The library asks for chance one
 * character at a time; taking it from a pool spares a system-backed call for each.
 */
import { monotonicFactory } from "ulid"

const POOL = 1024

/** A minter of ULIDs; `now` gives epoch milliseconds. */
export function createIds(now: () => number): () => string {
  const mint = monotonicFactory(pooledChance())
  return () => mint(now())
}

/** Fractions from 0 to below 1 in steps of 1/256, as the library makes its own. */
function pooledChance(): () => number {
  const pool = new Uint8Array(POOL)
  let at = POOL
  return () => {
    if (at === POOL) {
      crypto.getRandomValues(pool)
      at = 0
    }
    const byte = pool[at] ?? 0
    at += 1
    return byte / 256
  }
}
