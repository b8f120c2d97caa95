/**
 * Chance with a seed, so that a red run can be repeated: the same seed gives the same feed and the same kill plan.
 * When the processes meet in time is still the machine's, which is the point of the suite.
 */

/** A source of chance. */
export interface Random {
  /** 0 up to, not including, 1. */
  fraction(): number
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number
  /** One of the list. Throws on an empty one. */
  pick<T>(list: readonly T[]): T
}

/** Mulberry32: small, and even enough for choosing delays. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (least: number, most: number) => least + Math.floor(fraction() * (most - least + 1))
  return {
    fraction,
    whole,
    pick: (list) => {
      const picked = list[whole(0, list.length - 1)]
      if (picked === undefined) throw new Error("nothing to pick from")
      return picked
    },
  }
}
