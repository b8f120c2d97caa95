/**
 * What the youngest logs hold, read once at start, so that a consumer that resumes over a restart of ours finds its
 * place in the hub's buffers again. Reads the ends of files only; repairs nothing (the scan did), judges no line.
 */
import { closeSync, type Dirent, openSync, readdirSync, readSync, statSync } from "node:fs"
import { join } from "node:path"
import { isLogName } from "./filename.ts"
import { systemCode } from "./log.ts"

/** How much is read: at most so many logs, so many bytes of each, and so many bytes in all. */
export interface HistoryBounds {
  files: number
  fileBytes: number
  bytes: number
}

/** What a start reads when nothing else is said: a fraction of a second on any home. */
export const HISTORY_BOUNDS = { fileBytes: 1024 * 1024, bytes: 16 * 1024 * 1024 } as const

/** The last whole lines of the logs written last, each log's in order, the youngest log last. A log that cannot be
 *  read is left out: whoever owns it is told when it speaks. */
export function readHistory(root: string, bounds: HistoryBounds): string[][] {
  const youngest = logsOf(root)
    .sort((a, b) => b.modifiedMs - a.modifiedMs)
    .slice(0, bounds.files)
  const read: string[][] = []
  let left = bounds.bytes
  for (const { path, size } of youngest) {
    const bytes = Math.min(size, bounds.fileBytes, left)
    if (bytes <= 0) break
    const lines = attempt(() => lastLines(path, size - bytes, bytes)) ?? []
    left -= bytes
    if (lines.length > 0) read.push(lines)
  }
  return read.reverse()
}

function lastLines(path: string, from: number, bytes: number): string[] {
  const buffer = Buffer.allocUnsafe(bytes)
  const fd = openSync(path, "r")
  let got = 0
  try {
    while (got < bytes) {
      const more = readSync(fd, buffer, got, bytes - got, from + got)
      if (more === 0) break
      got += more
    }
  } finally {
    closeSync(fd)
  }
  // Both ends may stand in the middle of a line.
  const start = from === 0 ? 0 : buffer.subarray(0, got).indexOf(10) + 1
  const end = buffer.subarray(0, got).lastIndexOf(10)
  if (end < start || (from > 0 && start === 0)) return []
  return buffer.toString("utf8", start, end).split("\n")
}

interface Log {
  path: string
  size: number
  modifiedMs: number
}

function logsOf(root: string): Log[] {
  const folders = attempt(() => readdirSync(root, { withFileTypes: true })) ?? []
  return folders.filter(isFolder).flatMap((folder) => {
    const names = attempt(() => readdirSync(join(root, folder.name))) ?? []
    return names.filter(isLogName).flatMap((name) => {
      const path = join(root, folder.name, name)
      const found = attempt(() => statSync(path))
      return found?.isFile() === true ? [{ path, size: found.size, modifiedMs: found.mtimeMs }] : []
    })
  })
}

const isFolder = (entry: Dirent): boolean => entry.isDirectory()

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (fault) {
    // Rethrows what is no word of the system.
    systemCode(fault)
    return undefined
  }
}
