/**
 * Has the validator judge text, bytes or events, for the suites about it. Not a suite.
 */
import type { Code, Finding } from "../../service/validate/codes.ts"
import { type Counts, Validator, type ValidatorOptions } from "../../service/validate/validator.ts"

export type Event = Record<string, unknown>

/** What came of it. */
export interface Verdict {
  counts: Counts
  findings: Finding[]
  /** Codes with their lines, as `7 run.terminal`. */
  told: string[]
  codes: Code[]
}

/** Equal texts, equal numbers; what the command uses too. */
export const hash = (text: string): number => Number(BigInt.asUintN(53, BigInt(Bun.hash(text))))

/** Judges bytes in chunks of `chunkBytes`, or at once. */
export function judgeBytes(
  bytes: Uint8Array,
  options: Omit<ValidatorOptions, "hash" | "onFinding"> = {},
  chunkBytes = bytes.byteLength,
): Verdict {
  const findings: Finding[] = []
  const validator = new Validator({ ...options, hash, onFinding: (finding) => findings.push(finding) })
  // One buffer for all chunks, as a reader of files has it.
  const buffer = new Uint8Array(chunkBytes)
  for (let start = 0; start < bytes.byteLength; start += chunkBytes) {
    const chunk = bytes.subarray(start, start + chunkBytes)
    buffer.set(chunk)
    validator.push(buffer.subarray(0, chunk.byteLength))
  }
  const counts = validator.end()
  return {
    counts,
    findings,
    told: findings.map(({ line, code }) => `${line} ${code}`),
    codes: findings.map(({ code }) => code),
  }
}

/** Judges events, one a line. */
export function judgeEvents(events: readonly unknown[], isStrict = false): Verdict {
  return judgeLines(
    events.map((event) => JSON.stringify(event)),
    isStrict,
  )
}

/** Judges lines, each ended by a line feed. */
export function judgeLines(lines: readonly string[], isStrict = false): Verdict {
  return judgeBytes(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")), { isStrict })
}

/** Lines of a JSONL text as objects. */
export const eventsOf = (text: string): Event[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event)
