/**
 * Every duration and bound of the uplink in one place, so that tests can shorten what they would wait for. The
 * drop-in always uses `PACE`.
 */

/** Milliseconds, moments and bytes. */
export interface Pace {
  /** Bound of one request, answer included. */
  requestMs: number
  /** Bound of one poll: longer than the service holds it. */
  pollMs: number
  /** Least time between two polls that brought nothing. */
  pollGapMs: number
  /** First wait after a failed poll. */
  pollBackoffMs: number
  /** Bound of one call of the agent's client. */
  callMs: number
  /** Patience of a held hook that hears nothing, and what is added to what it hears. */
  holdMs: number
  holdGraceMs: number
  /** Silence after which an empty batch renews the lease. */
  heartbeatMs: number
  /** First and longest wait between attempts. */
  backoffFirstMs: number
  backoffMostMs: number
  /** Bound of a batch. */
  batchItems: number
  batchBytes: number
  /** Bound of what waits. */
  queueItems: number
  queueBytes: number
  /**
   * Longest `dispose` may take: in all, without an answer, and with a service that is absent or failing. While a
   * `dispose` takes its time, 1.18 opens the instance once more and begins an install; a process that ends in the
   * middle of it leaves the agent's lock behind, on which the next run waits (seen from 60 ms on, never at 25).
   */
  flushMostMs: number
  flushSilenceMs: number
  flushFailingMs: number
}

/** The values of the drop-in. */
export const PACE: Pace = {
  requestMs: 5_000,
  pollMs: 35_000,
  pollGapMs: 250,
  pollBackoffMs: 1_000,
  callMs: 5_000,
  holdMs: 15_000,
  holdGraceMs: 5_000,
  heartbeatMs: 15_000,
  backoffFirstMs: 250,
  backoffMostMs: 30_000,
  batchItems: 256,
  batchBytes: 512 * 1024,
  queueItems: 10_000,
  queueBytes: 8 * 1024 * 1024,
  flushMostMs: 1_000,
  flushSilenceMs: 200,
  flushFailingMs: 25,
}
