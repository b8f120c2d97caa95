/**
 * The bounds of the relay binding, in one place: how long it waits, how much it holds, how fast it tries
 * again. Values only; the parts that keep them are `link.ts`, `lane.ts` and `outbox.ts`.
 */

/** Times in milliseconds, amounts in bytes or events; all of them for one agent's connection. */
export interface RelayLimits {
  /** From the first packet to the open WebSocket. */
  connectMs: number
  /** From the open WebSocket to the relay's hello. */
  helloMs: number
  /** For a pong, or at least some bytes taken from us. */
  pongMs: number
  /** Silence after which we ping (RECOMMENDED in AEP-0003 §3.5). */
  keepaliveMs: number
  /** Pause after the first failure; it doubles up to `backoffMostMs`. */
  backoffFirstMs: number
  backoffMostMs: number
  /** Unconfirmed at most; a single line beyond it goes alone. */
  windowBytes: number
  windowEvents: number
  /** Between two pings. */
  batchBytes: number
  batchEvents: number
  /** Read from one log before the next log has its turn. */
  visitBytes: number
  /** With more than this waiting in the socket nothing is added. */
  bufferedBytes: number
  /** A longer line is not sent. */
  lineBytes: number
  /** Events that no log holds, kept in memory. */
  unloggedEvents: number
  unloggedBytes: number
}

const KIB = 1024
const MIB = 1024 * KIB

/** What holds when nothing else is said. */
export const RELAY_LIMITS: RelayLimits = {
  connectMs: 10_000,
  helloMs: 10_000,
  pongMs: 30_000,
  keepaliveMs: 30_000,
  backoffFirstMs: 500,
  backoffMostMs: 30_000,
  windowBytes: MIB,
  windowEvents: 2000,
  batchBytes: 256 * KIB,
  batchEvents: 500,
  visitBytes: 64 * KIB,
  bufferedBytes: 512 * KIB,
  lineBytes: 16 * MIB,
  unloggedEvents: 5000,
  unloggedBytes: 4 * MIB,
}
