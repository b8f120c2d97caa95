/**
 * A file, or standard input, as chunks of bytes for the commands that read logs. Nothing is held beyond a chunk.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { visible } from "./visible.ts"

/** The name under which standard input is asked for. */
export const STDIN = "-"

/** Read to its end, or why not; `detail` says what to do next. */
export type FileRead = { kind: "read" } | { kind: "unreadable"; code: string; detail: string }

const CHUNK_BYTES = 64 * 1024

/** How a file is called in what we print. */
export const shownName = (path: string): string => (path === STDIN ? "<stdin>" : visible(path))

/** Hands the bytes of a file to `push`, in order; a chunk is valid during the call only. */
export async function readChunks(path: string, push: (chunk: Uint8Array) => void): Promise<FileRead> {
  if (path === STDIN) {
    for await (const chunk of Bun.stdin.stream()) push(chunk)
    return { kind: "read" }
  }
  let file: number | undefined
  try {
    file = openSync(path, "r")
    if (fstatSync(file).isDirectory()) return unreadable(path, "EISDIR")
    const buffer = new Uint8Array(CHUNK_BYTES)
    for (;;) {
      const bytes = readSync(file, buffer)
      if (bytes === 0) return { kind: "read" }
      push(buffer.subarray(0, bytes))
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Only the system's refusals are an outcome; a fault of ours must not look like a bad file.
    if (typeof code !== "string" || !/^E[A-Z0-9]+$/.test(code)) throw error
    return unreadable(path, code)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file; logs are below ~/.aep/logs",
  EISDIR: "it is a folder; give the files in it, as in <folder>/*.jsonl",
  EACCES: "you may not read it; logs are readable by the user whose sessions they hold",
}

function unreadable(path: string, code: string): FileRead {
  const remedy = Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : `the system says ${code}`
  return { kind: "unreadable", code, detail: `cannot read ${shownName(path)}: ${remedy}` }
}
