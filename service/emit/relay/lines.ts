/**
 * Reads the lines that are still to be sent back from the logs, which are the queue. Whole lines only, a
 * bounded piece at a time, no descriptor kept. Looks at nothing inside a line but its braces; which lines to
 * read is decided by `outbox.ts`.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { join } from "node:path"
import { systemCode } from "../log.ts"

/**
 * `lines`: whole lines in order, `end` is the offset behind the last of them, `skipped` counts those before
 * `end` that were too long or no event. `cut`: the file holds `size` bytes, which is less than asked for (0 =
 * it is gone). `failed`: it cannot be read now; `code` is the system's.
 */
export type LinesRead =
  | { kind: "lines"; texts: string[]; end: number; skipped: number }
  | { kind: "cut"; size: number }
  | { kind: "failed"; code: string }

/** How much to read at once. The first line comes whole, however long (up to the reader's bound). */
export interface Portion {
  bytes: number
  lines: number
}

/** What the outbox needs of a reader. */
export interface ReadsLines {
  /** Lines of `file` from byte `from` (the start of a line) to at most byte `to`. */
  read(file: string, from: number, to: number, portion: Portion): LinesRead
  /** The last whole line of a log, unless it is too long or there is none. */
  last(file: string): string | undefined
}

const FEED = 10
const OPEN = 123
const CLOSE = 125
const SEARCH_BYTES = 64 * 1024
const FIRST_TAIL_BYTES = 4 * 1024

/** Reads below one log root. Blocking, as all reading of logs is: a piece is small and mostly in the
 *  cache. */
export class LineReader implements ReadsLines {
  constructor(
    private readonly root: string,
    private readonly longestLine: number,
  ) {}

  read(file: string, from: number, to: number, portion: Portion): LinesRead {
    const read = this.opened(file, (fd, size): LinesRead => {
      if (size < to) return { kind: "cut", size }
      const left = to - from
      for (let bytes = Math.min(left, Math.max(1, portion.bytes)); ; bytes = Math.min(left, bytes * 4)) {
        const wanted = Math.min(bytes, this.longestLine + 1)
        const piece = readPiece(fd, from, wanted)
        if (piece.length < wanted) return { kind: "cut", size: from + piece.length }
        // A piece that had to grow was for the sake of its first line.
        const most = wanted > portion.bytes ? 1 : portion.lines
        if (piece.lastIndexOf(FEED) >= 0) return split(piece, from, most)
        if (wanted < Math.min(left, this.longestLine + 1)) continue
        // A line beyond the bound, or the rest of one that was never finished.
        return { kind: "lines", texts: [], end: nextLine(fd, from + piece.length, to), skipped: 1 }
      }
    })
    return read ?? { kind: "cut", size: 0 }
  }

  last(file: string): string | undefined {
    const found = this.opened(file, (fd, size) => {
      for (let bytes = FIRST_TAIL_BYTES; ; bytes *= 4) {
        const start = Math.max(0, size - Math.min(bytes, this.longestLine + 2))
        const piece = readPiece(fd, start, size - start)
        const end = piece.lastIndexOf(FEED)
        const before = end <= 0 ? -1 : piece.lastIndexOf(FEED, end - 1)
        const isWhole = end >= 0 && (before >= 0 || start === 0)
        if (isWhole) return textOf(piece, before + 1, end)
        if (start === 0 || bytes > this.longestLine) return undefined
      }
    })
    return typeof found === "string" ? found : undefined
  }

  /** `undefined` = there is no such file. */
  private opened<T>(
    file: string,
    read: (fd: number, size: number) => T,
  ): T | { kind: "failed"; code: string } | undefined {
    let fd: number | undefined
    try {
      fd = openSync(join(this.root, file), "r")
      return read(fd, fstatSync(fd).size)
    } catch (fault) {
      const code = systemCode(fault)
      return code === "ENOENT" ? undefined : { kind: "failed", code }
    } finally {
      if (fd !== undefined) closeSync(fd)
    }
  }
}

function readPiece(fd: number, from: number, bytes: number): Buffer {
  const piece = Buffer.allocUnsafe(bytes)
  let got = 0
  while (got < bytes) {
    const more = readSync(fd, piece, got, bytes - got, from + got)
    if (more === 0) break
    got += more
  }
  return piece.subarray(0, got)
}

function split(piece: Buffer, from: number, most: number): LinesRead {
  const texts: string[] = []
  let skipped = 0
  let start = 0
  while (texts.length < most) {
    const feed = piece.indexOf(FEED, start)
    if (feed < 0) break
    const text = textOf(piece, start, feed)
    if (text === undefined) skipped += 1
    else texts.push(text)
    start = feed + 1
  }
  return { kind: "lines", texts, end: from + start, skipped }
}

/** The remains of a torn write stay in a log as a line that is no event; nobody else wants them. */
function textOf(piece: Buffer, start: number, end: number): string | undefined {
  return piece[start] === OPEN && piece[end - 1] === CLOSE ? piece.toString("utf8", start, end) : undefined
}

function nextLine(fd: number, from: number, to: number): number {
  for (let at = from; at < to; at += SEARCH_BYTES) {
    const feed = readPiece(fd, at, Math.min(SEARCH_BYTES, to - at)).indexOf(FEED)
    if (feed >= 0) return at + feed + 1
  }
  return to
}
