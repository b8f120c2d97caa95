/**
 * A clock that stands until a test moves it, and the timers that hang on it. Deterministic: what is due runs in the
 * order of its time, then of its setting, with the clock standing at that time. For parts that are handed `now` and
 * `timers`.
 */
import type { Timers } from "../service/emit/shelf.ts"

/** Nine in the morning of 2026-11-03, epoch milliseconds. */
export const MORNING = Date.UTC(2026, 10, 3, 9)

interface Timer {
  at: number
  run: () => void
}

export class Clock {
  private readonly pending = new Map<number, Timer>()
  private handles = 0
  private time = MORNING

  /** Epoch milliseconds. */
  readonly now = (): number => this.time

  readonly timers: Timers = {
    set: (run, afterMs) => {
      this.handles += 1
      this.pending.set(this.handles, { at: this.time + afterMs, run })
      return this.handles
    },
    clear: (handle) => void this.pending.delete(Number(handle)),
  }

  /** Lets time pass; whatever falls due on the way runs, what it sets anew included. */
  advance(ms: number): void {
    const until = this.time + ms
    for (;;) {
      const next = this.nextDue(until)
      if (next === undefined) break
      const [handle, timer] = next
      this.pending.delete(handle)
      this.time = Math.max(this.time, timer.at)
      timer.run()
    }
    this.time = until
  }

  /** The machine sleeps: time passes, no timer runs, and what fell due meanwhile runs on waking. */
  sleep(ms: number): void {
    this.time += ms
    this.advance(0)
  }

  /** Timers set and not yet due. */
  get waiting(): number {
    return this.pending.size
  }

  private nextDue(until: number): [number, Timer] | undefined {
    let found: [number, Timer] | undefined
    for (const entry of this.pending) {
      if (entry[1].at <= until && (found === undefined || entry[1].at < found[1].at)) found = entry
    }
    return found
  }
}
