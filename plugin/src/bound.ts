/**
 * Writes one moment as JSON text of at most 64 KiB, at the moment the hook is called: afterwards nothing of ours
 * holds the agent's objects. What is too large is made lighter before it is written, so that a large value is
 * never turned into text as a whole.
 */
import { clipStrings } from "./clip.ts"
import type { TrimmedMoment } from "./table.ts"
import { longestThatFits, sparseCopy, weigh } from "./weight.ts"

/** Bound of a moment as JSON, in UTF-8 bytes. */
export const MOMENT_BYTES = 64 * 1024

/** A moment ready to travel. */
export interface WrittenMoment {
  text: string
  bytes: number
}

const ENVELOPE = 256
const ATTEMPTS = 3
const scratch = new Uint8Array(MOMENT_BYTES)
const encoder = new TextEncoder()

/**
 * The moment with its index and clock as JSON. Above the bound the largest strings are cut and named in `cut`;
 * where not strings weigh, most of it is left out. Throws what JSON does (cycles, bigints): the caller counts.
 */
export function writeMoment(moment: TrimmedMoment, n: number, at: number): WrittenMoment {
  const { cut: earlier, ...body } = moment
  let limit = MOMENT_BYTES - ENVELOPE
  const weight = weigh(body)
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const longest = longestThatFits(weight, limit)
    if (longest === undefined) break
    const cuts = earlier?.slice() ?? []
    const lighter = longest === Number.POSITIVE_INFINITY ? body : clipStrings(body, longest, "", cuts)
    const written = write(lighter, n, at, cuts)
    if (written.bytes <= MOMENT_BYTES) return written
    // Escapes and wide characters took more room than counted: the next attempt leaves that room.
    limit = Math.floor((limit * MOMENT_BYTES * 0.9) / written.bytes)
  }
  const cuts = earlier?.slice() ?? []
  return write(sparseCopy(body, cuts), n, at, cuts)
}

function write(body: unknown, n: number, at: number, cuts: string[]): WrittenMoment {
  const stamp = cuts.length === 0 ? { n, at } : { n, at, cut: [...new Set(cuts)] }
  const text = JSON.stringify(Object.assign(stamp, body))
  return { text, bytes: countBytes(text) }
}

function countBytes(text: string): number {
  if (text.length <= MOMENT_BYTES) {
    const { read, written } = encoder.encodeInto(text, scratch)
    if (read === text.length) return written
  }
  return encoder.encode(text).byteLength
}
