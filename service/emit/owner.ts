/**
 * Which file a session writes to, and whose a file is. A name alone does not tell: some file systems ignore case,
 * and anybody can put a file into a folder; so the first line of an existing file is asked. Called when a session
 * is met for the first time and when logs are scanned at start.
 */
import { closeSync, openSync, readSync } from "node:fs"
import type { SessionKey, Store } from "../session/store.ts"
import { sessionId } from "./applied.ts"
import { candidateFiles } from "./filename.ts"
import type { LogFiles } from "./log.ts"

/** What the first line of a file says. `torn`: there is no whole line; `foreign`: the line is none of ours. */
export type FirstLine =
  | { kind: "torn" }
  | { kind: "foreign" }
  | { kind: "session"; key: SessionKey; source?: string }

/** Longest first line that is looked at; events are bounded far below. */
const MAX_FIRST_LINE = 4 * 1024 * 1024
const CHUNK = 4 * 1024

/** Reads whose log a file is. Throws what the system says when it cannot be read. */
export function readFirstLine(path: string): FirstLine {
  const fd = openSync(path, "r")
  try {
    const parts: Buffer[] = []
    for (let at = 0; at < MAX_FIRST_LINE; ) {
      const chunk = Buffer.allocUnsafe(CHUNK)
      const bytes = readSync(fd, chunk, 0, CHUNK, at)
      if (bytes === 0) return { kind: "torn" }
      const feed = chunk.subarray(0, bytes).indexOf(10)
      parts.push(chunk.subarray(0, feed < 0 ? bytes : feed))
      if (feed >= 0) return parseOwner(Buffer.concat(parts).toString("utf8"))
      at += bytes
    }
    return { kind: "foreign" }
  } finally {
    closeSync(fd)
  }
}

function parseOwner(line: string): FirstLine {
  let event: unknown
  try {
    event = JSON.parse(line)
  } catch {
    // Not a line of ours; the file is left alone.
    return { kind: "foreign" }
  }
  if (typeof event !== "object" || event === null || !("agent" in event)) return { kind: "foreign" }
  const { agent } = event
  const session = "session" in event ? event.session : undefined
  if (typeof agent !== "string" || (session !== undefined && typeof session !== "string")) {
    return { kind: "foreign" }
  }
  const source = "source" in event && typeof event.source === "string" ? event.source : undefined
  const key = session === undefined ? { agent } : { agent, session }
  return { kind: "session", key, ...(source === undefined ? {} : { source }) }
}

/**
 * The file of a session that has no row yet: the first candidate that is absent, empty, torn or already its own,
 * and that no other session holds. `isTaken` tells of sessions in memory that have not been saved.
 */
export function chooseFile(
  key: SessionKey,
  logs: LogFiles,
  store: Store,
  isTaken: (file: string) => boolean,
): string {
  const candidates = candidateFiles(key)
  for (const file of candidates) {
    if (isTaken(file) || store.ownerOf(file) !== undefined) continue
    if ((logs.size(file) ?? 0) === 0 || isOurs(logs.path(file), key)) return file
  }
  throw new Error(`no log file name is left among ${candidates.length} candidates`)
}

function isOurs(path: string, key: SessionKey): boolean {
  const first = readFirstLine(path)
  if (first.kind === "torn") return true
  // The agent's own log takes whatever events it has written there.
  return first.kind === "session" && sessionId(first.key) === sessionId(key)
}
