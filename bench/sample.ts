/**
 * Samples and what is said of them: the median of fresh processes in alternating order, and ratios within one run.
 * Absolute times tell of the machine.
 */

/** Writes one line of the report. */
export const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** The middle of the values; not a number when there is none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The value below which a share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Runs every subject once a round, each round in the other direction, so that a drift of the machine hits all. */
export async function alternate<T>(
  rounds: number,
  subjects: readonly T[],
  measure: (subject: T, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of round % 2 === 0 ? subjects : [...subjects].reverse()) await measure(subject, round)
  }
}

/** Columns of equal width, the first one to the left. */
export function row(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join("  ")
    .trimEnd()
}
