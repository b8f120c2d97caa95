/**
 * The port band of all suites, 18390-18489 on 127.0.0.1: ten ports a suite, so that suites can run side by
 * side and a leaked listener is traced to its owner. `test/fast/ports.test.ts` holds the table to that.
 */
export const BAND = { first: 18390, last: 18489 } as const

/** First port of each suite; it owns that one and the nine after it. */
export const SUITES = {
  fast: 18390,
  smoke: 18400,
  live: 18410,
  crash: 18420,
  starve: 18430,
  bench: 18440,
  demo: 18450,
  record: 18460,
  hub: 18470,
  relay: 18480,
} as const

export type Suite = keyof typeof SUITES

/** The `index`-th of a suite's ten ports (0-9). */
export function suitePort(suite: Suite, index: number): number {
  if (!Number.isInteger(index) || index < 0 || index > 9) {
    throw new Error(`suite ${suite} owns ports 0 to 9, asked for ${index}`)
  }
  return SUITES[suite] + index
}
