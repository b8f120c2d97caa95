/**
 * What one append to a session's log costs beside the bare system call: `bun bench/intake/append.ts`, in a process
 * of its own. Prints microseconds as JSON: `{append, write}`.
 */
import { mkdtempSync, openSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { LogFiles } from "../../service/emit/log.ts"

const LINES = 20_000
const SESSIONS = 20
const line = Buffer.from(`${JSON.stringify({ data: "x".repeat(450) })}\n`)
const folder = mkdtempSync(join(tmpdir(), "aep-append-"))

const logs = new LogFiles(folder)
const sizes = new Array<number>(SESSIONS).fill(0)
const descriptors = sizes.map((_, index) => openSync(join(folder, `bare-${index}`), "a", 0o600))

const append = (turn: number) => {
  const session = turn % SESSIONS
  const done = logs.append(`agent/ses_${session}.jsonl`, sizes[session] ?? 0, line)
  if (done.kind !== "written") throw new Error(done.kind)
  sizes[session] = done.end
}
const write = (turn: number) => void writeSync(descriptors[turn % SESSIONS] ?? -1, line)

const timed = (work: (turn: number) => void): number => {
  for (let turn = 0; turn < 2_000; turn += 1) work(turn)
  const started = performance.now()
  for (let turn = 0; turn < LINES; turn += 1) work(turn)
  return ((performance.now() - started) * 1000) / LINES
}

const result = { write: timed(write), append: timed(append) }
logs.close()
rmSync(folder, { recursive: true })
process.stdout.write(JSON.stringify(result))
