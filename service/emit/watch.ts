/**
 * A look at the leases every few seconds, and whether the machine slept in between: then nobody could renew anything. Held
 * by the intake, which knows what to look for.
 */
import type { Timers } from "./shelf.ts"

/** What the watch needs. */
export interface WatchParts {
  timers: Timers
  /** Epoch milliseconds. */
  now: () => number
  /** One look; `slept` = this one comes far too late. */
  look: (at: number, slept: boolean) => void
  /** Told of a look that failed: the next one tries again. */
  onFault: (error: unknown) => void
}

/** How often leases are looked at. */
const WATCH_MS = 5_000
/** A look that comes this late means that the machine slept. */
const SLEPT_MS = 20_000

/** See the head of the file. */
export class Watch {
  private timer: unknown
  private lookedAt: number

  constructor(private readonly parts: WatchParts) {
    this.lookedAt = parts.now()
  }

  /** Begins, and goes on until `stop`. */
  start(): void {
    const { timers, now, look, onFault } = this.parts
    this.lookedAt = now()
    this.timer = timers.set(() => {
      const at = now()
      try {
        look(at, at - this.lookedAt > WATCH_MS + SLEPT_MS)
      } catch (error) {
        onFault(error)
      }
      this.start()
    }, WATCH_MS)
  }

  /** Ends it. May be called twice. */
  stop(): void {
    this.parts.timers.clear(this.timer)
  }
}
