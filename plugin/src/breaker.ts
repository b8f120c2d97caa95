/**
 * Whether the service is there: counts failures in a row and says how long to wait for the next attempt. Holds
 * no timer and no clock.
 */

/** The breaker as the uplink uses it. */
export interface Breaker {
  /** Failures in a row. */
  readonly failures: number
  /** True once the service has accepted a batch of this instance. */
  readonly connected: boolean
  /** True while moments are not worth writing: enough failures and no service ever seen. */
  readonly refusing: boolean
  succeed(): void
  /** Notes a failure, `hopeless` when there was not even an address; returns milliseconds to the next attempt. */
  fail(hopeless: boolean): number
}

/** Failures in a row until a service never seen is taken for absent. */
export const PATIENCE = 2

/** A closed breaker; delays double from `firstMs` to `mostMs`, less up to a quarter of chance (`random`: 0 to 1). */
export function createBreaker(firstMs: number, mostMs: number, random: () => number): Breaker {
  let failures = 0
  let connected = false
  let hopeless = false
  return {
    get failures() {
      return failures
    },
    get connected() {
      return connected
    },
    get refusing() {
      return !connected && (hopeless || failures >= PATIENCE)
    },
    succeed() {
      failures = 0
      connected = true
      hopeless = false
    },
    fail(noAddress) {
      failures += 1
      hopeless = noAddress
      const delay = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 20))
      return delay * (1 - random() / 4)
    },
  }
}
