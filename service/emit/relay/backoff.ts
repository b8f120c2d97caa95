/**
 * How long to wait before the next attempt: doubling, bounded, and spread by chance so that many services do
 * not come back to a relay in one breath. Pure but for the chance handed in. Used by `link.ts`.
 */

export class Backoff {
  private nextMs: number

  /** `random` gives numbers from 0 to below 1. */
  constructor(
    private readonly random: () => number,
    private readonly firstMs: number,
    private readonly mostMs: number,
  ) {
    this.nextMs = firstMs
  }

  /** Milliseconds to wait now: between half of the pause and the whole; the next pause is twice as long. */
  next(): number {
    const pauseMs = this.nextMs
    this.nextMs = Math.min(pauseMs * 2, this.mostMs)
    return this.spread(pauseMs)
  }

  /** The longest pause at once: for a refusal that only a person can lift. */
  slowest(): number {
    this.nextMs = this.mostMs
    return this.spread(this.mostMs)
  }

  /** The other side is well again. */
  reset(): void {
    this.nextMs = this.firstMs
  }

  private spread(pauseMs: number): number {
    return Math.round(pauseMs * (0.5 + this.random() / 2))
  }
}
