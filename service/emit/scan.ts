/**
 * The look at all logs when the service starts: one `stat` each, and only what is longer than its row says (or has
 * no row) is read. Afterwards every log on the disk has a row, and the moments found above the cursors are known.
 * Called once by `open.ts`.
 */
import { type Dirent, readdirSync, type Stats, statSync } from "node:fs"
import { join } from "node:path"
import type { SessionKey, Store } from "../session/store.ts"
import { candidateFiles, isLogName } from "./filename.ts"
import { systemCode } from "./log.ts"
import { readFirstLine } from "./owner.ts"
import type { SessionShelf } from "./shelf.ts"

/** What the scan met and did. */
export interface ScanReport {
  /** Log files looked at. */
  files: number
  /** Files that had to be read. */
  filesRead: number
  linesFolded: number
  /** Files whose torn tail was cut, and the bytes of it. */
  filesCut: number
  bytesCut: number
  /** Broken lines inside logs, left in place. */
  linesSkipped: number
  /** Sessions whose log holds less than was written to it, or is gone. */
  lostTails: number
  /** Files that are no log of ours, or cannot be read; left alone. */
  foreign: number
}

interface FoundFile {
  file: string
  size: number
  modifiedMs: number
}

/** Sessions read before what is known of them is saved and let go. */
const BATCH = 256

/** Reads what the database does not know yet. Folders that cannot be read count as foreign. */
export function scanLogs<S>(root: string, store: Store, shelf: SessionShelf<S>): ScanReport {
  const report: ScanReport = {
    files: 0,
    filesRead: 0,
    linesFolded: 0,
    filesCut: 0,
    bytesCut: 0,
    linesSkipped: 0,
    lostTails: 0,
    foreign: 0,
  }
  const sizes = store.sizes()
  const changed: FoundFile[] = []
  for (const found of walk(root, report)) {
    report.files += 1
    const known = sizes.get(found.file)
    sizes.delete(found.file)
    if (known !== found.size && (known !== undefined || found.size > 0)) changed.push(found)
  }
  // What is left has a row and no file; its session moves on when it is met.
  for (const size of sizes.values()) report.lostTails += size > 0 ? 1 : 0

  // Last written last, so that the instances that may still be alive are the last to be forgotten.
  changed.sort((a, b) => a.modifiedMs - b.modifiedMs)
  let unsaved = 0
  for (const { file } of changed) {
    if (!readLog(file, root, store, shelf, report)) report.foreign += 1
    unsaved += 1
    if (unsaved < BATCH) continue
    shelf.save(false)
    unsaved = 0
  }
  return report
}

function readLog<S>(
  file: string,
  root: string,
  store: Store,
  shelf: SessionShelf<S>,
  report: ScanReport,
): boolean {
  try {
    const key = store.ownerOf(file) ?? ownerByFirstLine(file, root)
    if (key === undefined) return false
    const loaded = shelf.load(key, false)
    // A copy of a log under another name has the same first line.
    if (loaded.entry.file !== file) return false
    report.filesRead += 1
    report.linesFolded += loaded.linesFolded
    report.filesCut += loaded.bytesCut > 0 ? 1 : 0
    report.bytesCut += loaded.bytesCut
    report.linesSkipped += loaded.linesSkipped
    report.lostTails += loaded.lostTail ? 1 : 0
    return true
  } catch (fault) {
    // One unreadable log must not keep the others from being served.
    systemCode(fault)
    return false
  }
}

function ownerByFirstLine(file: string, root: string): SessionKey | undefined {
  const first = readFirstLine(join(root, file))
  if (first.kind !== "session" || !candidateFiles(first.key).includes(file)) return undefined
  return first.key
}

function* walk(root: string, report: ScanReport): Generator<FoundFile> {
  for (const folder of entriesOf(root, report)) {
    if (!folder.isDirectory()) continue
    for (const entry of entriesOf(join(root, folder.name), report)) {
      if (!isLogName(entry.name)) continue
      const file = `${folder.name}/${entry.name}`
      const found = statIfPossible(join(root, file))
      if (found === undefined) report.foreign += 1
      else if (found.isFile()) yield { file, size: found.size, modifiedMs: found.mtimeMs }
    }
  }
}

function statIfPossible(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (fault) {
    // Whoever owns this log finds it unreadable when it speaks, and says so then.
    systemCode(fault)
    return undefined
  }
}

function entriesOf(path: string, report: ScanReport): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch (fault) {
    // The root does not exist before the first event; a folder of another owner is not ours to read.
    if (systemCode(fault) !== "ENOENT") report.foreign += 1
    return []
  }
}
