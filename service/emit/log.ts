/**
 * The log files: whole groups of lines appended with one write each, cut back where a write failed half way, behind
 * a bounded set of open descriptors. It knows bytes and sizes only; what the lines mean is the ledger's matter.
 * Files are relative to the log root and come from `filename.ts`.
 */
import {
  closeSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs"
import { dirname, join } from "node:path"

/** Descriptors kept open when nothing else is configured. */
export const DEFAULT_MAX_HANDLES = 128

/** Whether others could read or write; logs are the owner's alone. */
const FOREIGN_MODE = 0o077

/**
 * `failed`: nothing of the group is in the file, or the rest of it goes before the next write; `code` is the
 * system's (`ENOSPC`, `EIO`, ...) or `ESHORT` for a write that took a part. `misfit`: the file holds more or less
 * than was written to it, so somebody else was at it; nothing was written.
 */
export type Appended =
  | { kind: "written"; start: number; end: number }
  | { kind: "failed"; code: string }
  | { kind: "misfit" }

interface Handle {
  fd: number
  /** The size was compared with what is expected; once per descriptor, since a failed write closes it. */
  checked: boolean
}

/** The files below one root. Not safe for two processes; the database's lock sees to that. */
export class LogFiles {
  private readonly handles = new Map<string, Handle>()
  /** Files with the rest of a failed write behind this size, as cutting them failed too. */
  private readonly torn = new Map<string, number>()

  constructor(
    readonly root: string,
    private readonly maxHandles: number = DEFAULT_MAX_HANDLES,
  ) {}

  /** Absolute path of a log file. */
  path(file: string): string {
    return join(this.root, file)
  }

  /** Bytes in the file; `undefined` when there is none. Throws what is not absence. */
  size(file: string): number | undefined {
    return statSync(this.path(file), { throwIfNoEntry: false })?.size
  }

  /** Whether `offset` is the start of the file or follows a line feed. */
  endsLine(file: string, offset: number): boolean {
    if (offset === 0) return true
    const fd = openIfThere(this.path(file))
    if (fd === undefined) return false
    try {
      const byte = new Uint8Array(1)
      return readSync(fd, byte, 0, 1, offset - 1) === 1 && byte[0] === 10
    } finally {
      closeSync(fd)
    }
  }

  /** Number of descriptors held now. */
  get openHandles(): number {
    return this.handles.size
  }

  /** Writes `bytes` at the end of a file that is expected to hold `size` bytes. */
  append(file: string, size: number, bytes: Uint8Array): Appended {
    const appended = this.tryAppend(file, size, bytes)
    // A new descriptor sees what has become of the place: another file, a disk mounted again.
    if (appended.kind !== "written") this.release(file)
    return appended
  }

  /** Cuts a file to its first `size` bytes. Returns the system's code when that cannot be done; then the next
   *  `append` tries again. */
  cut(file: string, size: number): string | undefined {
    try {
      ftruncateSync(this.open(file).fd, size)
      return undefined
    } catch (fault) {
      this.torn.set(file, size)
      return systemCode(fault)
    }
  }

  /** Closes the descriptor of one file, so that the next write opens whatever is there by then. */
  release(file: string): void {
    const handle = this.handles.get(file)
    if (handle === undefined) return
    this.handles.delete(file)
    closeSync(handle.fd)
  }

  /** Closes all descriptors; may be called twice. */
  close(): void {
    for (const file of [...this.handles.keys()]) this.release(file)
  }

  private tryAppend(file: string, size: number, bytes: Uint8Array): Appended {
    try {
      const handle = this.open(file)
      if (!handle.checked) {
        const found = fstatSync(handle.fd).size
        const isOurs = found === size || (found > size && this.torn.get(file) === size)
        // A file that appears anew, say on a disk mounted again, is somebody's record and not cut on a guess.
        if (!isOurs) return { kind: "misfit" }
        if (found > size) ftruncateSync(handle.fd, size)
        this.torn.delete(file)
        handle.checked = true
      }
      const written = writeSync(handle.fd, bytes)
      if (written === bytes.byteLength) return { kind: "written", start: size, end: size + written }
      this.cut(file, size)
      return { kind: "failed", code: "ESHORT" }
    } catch (fault) {
      return { kind: "failed", code: systemCode(fault) }
    }
  }

  private open(file: string): Handle {
    const known = this.handles.get(file)
    if (known !== undefined) {
      // Youngest last: a Map keeps the order of insertion.
      this.handles.delete(file)
      this.handles.set(file, known)
      return known
    }
    for (const oldest of this.handles.keys()) {
      if (this.handles.size < this.maxHandles) break
      this.release(oldest)
    }
    const handle = { fd: openPrivately(this.path(file)), checked: false }
    this.handles.set(file, handle)
    return handle
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r")
  } catch (fault) {
    if (systemCode(fault) === "ENOENT") return undefined
    throw fault
  }
}

function openPrivately(path: string): number {
  let fd: number
  try {
    fd = openSync(path, "a", 0o600)
  } catch (fault) {
    if (systemCode(fault) !== "ENOENT") throw fault
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    fd = openSync(path, "a", 0o600)
  }
  const found = fstatSync(fd)
  if (found.isFile() && (found.mode & FOREIGN_MODE) !== 0) fchmodSync(fd, 0o600)
  return fd
}

/** The system's error code; rethrows what is no system error, since that is a fault of ours. */
export function systemCode(fault: unknown): string {
  const code = fault instanceof Error && "code" in fault ? fault.code : undefined
  if (typeof code !== "string") throw fault
  return code
}
