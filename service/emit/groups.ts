/**
 * Reads a log file group by group: the lines that one moment caused in one session belong together, and a group
 * that was not finished never happened. Finds the end of the last whole group, so that a torn tail can be cut
 * there. Reads in chunks; a log of any size costs a chunk and one group of memory. Called by `entry.ts`.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs"

/** An event line as parsed; its members are judged by whoever reads them. */
export type LoggedEvent = Record<string, unknown>

/** Which moment caused a line; `more` = how many lines of it still follow in this log (0 on the last). */
export interface LineMarks {
  instance: string
  moment: number
  more: number
}

/** Reads the marks off an event; `undefined` for events that no moment caused: each is a group of its own. */
export type MarksOf = (event: LoggedEvent) => LineMarks | undefined

/** What a reading found. */
export interface Reading {
  /** Where the last whole group ends; everything beyond is a torn tail. */
  end: number
  /** Broken lines before that, left in place and not handed on. */
  skipped: number
}

const CHUNK = 256 * 1024
/** No line of ours comes near; a longer stretch without a line feed is damage, e.g. zeros after a power cut. */
const MAX_LINE = 64 * 1024 * 1024

/**
 * Hands every whole group from byte `from` on (the start of a line) to `onGroup`, in order. Throws what the system
 * says when the file cannot be read.
 */
export function readGroups(
  path: string,
  from: number,
  marksOf: MarksOf,
  onGroup: (group: readonly LoggedEvent[], marks: LineMarks | undefined) => void,
): Reading {
  let end = from
  let skipped = 0
  let broken = 0
  let pending: { events: LoggedEvent[]; marks: LineMarks; end: number } | undefined

  const finish = (group: LoggedEvent[], marks: LineMarks | undefined, groupEnd: number): void => {
    onGroup(group, marks)
    pending = undefined
    end = groupEnd
    skipped += broken
    broken = 0
  }

  readLines(path, from, (text, lineEnd) => {
    const event = text === undefined ? undefined : parseEvent(text)
    if (event === undefined) {
      broken += 1
      return
    }
    const marks = marksOf(event)
    if (pending !== undefined && !continues(pending.marks, marks)) {
      // An unfinished group that is not at the end was read by others long ago; it is history.
      finish(pending.events, pending.marks, pending.end)
    }
    const events = pending?.events ?? []
    events.push(event)
    if (marks !== undefined && marks.more > 0) {
      pending = { events, marks, end: lineEnd }
      return
    }
    finish(events, marks, lineEnd)
  })
  return { end, skipped }
}

function continues(before: LineMarks, now: LineMarks | undefined): boolean {
  return (
    now !== undefined &&
    now.instance === before.instance &&
    now.moment === before.moment &&
    now.more === before.more - 1
  )
}

/** Calls `onLine` with each line that ends in a line feed and the offset behind it; `undefined` = too long. */
function readLines(
  path: string,
  from: number,
  onLine: (text: string | undefined, end: number) => void,
): void {
  const fd = openSync(path, "r")
  try {
    // Most logs are far smaller than a chunk, and a scan reads thousands of them.
    const chunk = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK, fstatSync(fd).size - from)))
    let at = from
    let carried: Buffer[] = []
    let carriedBytes = 0
    for (;;) {
      const bytes = readSync(fd, chunk, 0, chunk.length, at)
      if (bytes === 0) return
      let start = 0
      for (;;) {
        const feed = chunk.subarray(0, bytes).indexOf(10, start)
        if (feed < 0) break
        const tooLong = carriedBytes > MAX_LINE
        const tail = chunk.subarray(start, feed)
        const line = carriedBytes === 0 ? tail : Buffer.concat([...carried, tail])
        onLine(tooLong ? undefined : line.toString("utf8"), at + feed + 1)
        carried = []
        carriedBytes = 0
        start = feed + 1
      }
      carriedBytes += bytes - start
      if (carriedBytes > MAX_LINE) carried = []
      else if (start < bytes) carried.push(Buffer.from(chunk.subarray(start, bytes)))
      at += bytes
    }
  } finally {
    closeSync(fd)
  }
}

function parseEvent(text: string): LoggedEvent | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isEvent(value) ? value : undefined
  } catch {
    // A torn or damaged line: counted by the caller, or cut when it is the last.
    return undefined
  }
}

function isEvent(value: unknown): value is LoggedEvent {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
