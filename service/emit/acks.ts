/**
 * Finds an acknowledgement in a session's log, for a command that comes again after a restart: the log is the memory of what
 * was decided (AEP-0004 §3). Looks at the end of the file only; reads, never writes.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { systemCode } from "./log.ts"

/** How much of a log is looked through. A command is repeated within minutes, not days. */
const MAX_BYTES = 8 * 1024 * 1024

/** The whole line that holds `needle`, the last one if there are several; `undefined` when there is none, or no log. */
export function findLine(path: string, needle: string): string | undefined {
  try {
    const fd = openSync(path, "r")
    try {
      const { size } = fstatSync(fd)
      const bytes = Math.min(size, MAX_BYTES)
      const buffer = Buffer.allocUnsafe(bytes)
      const got = readSync(fd, buffer, 0, bytes, size - bytes)
      return lineAround(buffer.subarray(0, got), needle)
    } finally {
      closeSync(fd)
    }
  } catch (fault) {
    // No log, or none that can be read: nothing was decided that anybody could know of.
    systemCode(fault)
    return undefined
  }
}

function lineAround(bytes: Buffer, needle: string): string | undefined {
  const found = bytes.lastIndexOf(needle)
  if (found < 0) return undefined
  const start = bytes.lastIndexOf(10, found) + 1
  const end = bytes.indexOf(10, found)
  return end < 0 ? undefined : bytes.toString("utf8", start, end)
}
