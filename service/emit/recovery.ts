/**
 * Decides where a session goes on, from what its log and its row say. Pure: the reading is done by `entry.ts`. The
 * rule behind every row of the table: one `(epoch, seq)` never names two events (AEP-0001 §7.2), so wherever
 * positions may have been used that neither witness shows, the epoch moves on.
 */

import type { Gap } from "../session/store.ts"

/** A place in a session's order. */
export interface Position {
  epoch: number
  seq: number
}

/** What the row remembers. */
export interface Remembered extends Position {
  /** Bytes of log the row accounts for. */
  size: number
  bump: boolean
  gap?: Gap
}

/** What the log file shows. */
export interface Found {
  /** Bytes in the file before any repair; 0 when there is none. */
  size: number
  /** Whether the row's size is 0 or the end of a line in this file. */
  aligned: boolean
}

/**
 * `fold`: the row belongs to the file; the lines after it complete the state. `whole`: no row; all lines make the
 * state. `lost`: the log holds less than the row saw; the row's state is the better one. `new`: neither exists.
 */
export type Plan = { kind: "fold"; from: number } | { kind: "whole" } | { kind: "lost" } | { kind: "new" }

/** Which of the four cases this is. */
export function planRecovery(row: Remembered | undefined, found: Found): Plan {
  if (row === undefined) return found.size === 0 ? { kind: "new" } : { kind: "whole" }
  if (found.size < row.size || !found.aligned) return { kind: "lost" }
  return { kind: "fold", from: row.size }
}

/** Where a session continues. */
export interface Resumed extends Position {
  /** The next event takes `epoch + 1`, `seq` 0. */
  bump: boolean
  gap?: Gap
}

/**
 * The position to continue at. `last` is the highest position read from the lines the plan names. `distrust`: the
 * machine went down without a clean stop, and the row (if any) could not be told.
 */
export function resume(
  plan: Plan,
  row: Remembered | undefined,
  last: Position | undefined,
  distrust: boolean,
): Resumed {
  const after: Position = last === undefined ? { epoch: 0, seq: 0 } : { epoch: last.epoch, seq: last.seq + 1 }
  if (row === undefined) return { ...after, bump: distrust }
  const ahead = isAfter(after, row) ? after : { epoch: row.epoch, seq: row.seq }
  const { bump, gap } = row
  if (plan.kind !== "lost") return { ...ahead, bump, ...(gap === undefined ? {} : { gap }) }
  // Without a line of the row's epoch all that this epoch had are gone, and nobody knows how many before it.
  const lost = after.epoch === row.epoch ? Math.max(0, row.seq - after.seq) : row.seq
  return { ...ahead, bump: true, gap: { reason: "lost-tail", missed: Math.max(lost, gap?.missed ?? 0) } }
}

/** Whether `a` stands later in the session's order than `b`. */
export function isAfter(a: Position, b: Position): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.seq > b.seq)
}

/** First day of the count of epochs. */
const SEED_ORIGIN_MS = Date.UTC(2026, 0, 1)
const DAY_MS = 24 * 3600 * 1000

/**
 * Where a session goes on of which nothing is left: epoch = whole days since 2026-01-01 UTC, seq = milliseconds
 * since midnight, so that losing everything twice on one day still repeats nothing. Days keep the epoch below
 * 8192, up to where a common consumer's arithmetic is exact.
 */
export function seedPosition(nowMs: number): Position {
  const since = Math.max(0, nowMs - SEED_ORIGIN_MS)
  return { epoch: Math.floor(since / DAY_MS), seq: since % DAY_MS }
}

/** The position of an event line, if it has one (an agent's own events have none). */
export function positionOf(event: Record<string, unknown>): Position | undefined {
  const { seq } = event
  // An absent epoch means 0 (AEP-0001 §5.1).
  const epoch = event.epoch ?? 0
  if (!isCount(seq) || !isCount(epoch)) return undefined
  return { epoch, seq }
}

/** The later of two positions. */
export function laterOf(a: Position | undefined, b: Position | undefined): Position | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return isAfter(b, a) ? b : a
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
}
