/** A server that is measured: a fresh process with a home of its own, its memory and its processor time. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startChild } from "../test/agent/child.ts"
import { waitFor } from "../test/agent/wait.ts"

export const ROOT = join(import.meta.dir, "..")

/** What is started. */
export interface Measured {
  name: string
  port: number
  /** File relative to the repository, which takes the port as its argument; the real service when absent. */
  bare?: string
  /** Its live memory will be asked for; nothing is loaded before it otherwise. */
  isWeighed?: boolean
  /** More of its environment. */
  env?: Readonly<Record<string, string>>
}

/** A server that listens. */
export interface Server {
  pid: number
  port: number
  /** Processor time of the process so far, milliseconds, in steps of ten. */
  cpuMs(): number
  /** Resident memory, bytes. */
  rss(): number
  /** Memory that is held after a full collection, bytes; of a server that was started to be weighed only. */
  live(): Promise<number>
  stop(): Promise<void>
}

/** Starts it and waits until it listens. Throws with what it printed when it ends before. */
export async function startMeasured({
  name,
  port,
  bare,
  isWeighed = false,
  env = {},
}: Measured): Promise<Server> {
  const home = mkdtempSync(join(tmpdir(), "aep-bench-"))
  const command = bare === undefined ? [join(ROOT, "service/main.ts")] : [join(ROOT, bare), `${port}`]
  const preload = isWeighed ? ["--preload", join(import.meta.dir, "live-heap.ts")] : []
  const child = startChild({
    command: [process.execPath, ...preload, ...command],
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? "", HOME: home, AEP_HOME: home, AEP_OPENCODE_PORT: `${port}`, ...env },
  })
  const print = () => `${child.stdout()}\n${child.stderr()}`
  await waitFor(
    `start of ${name}`,
    10_000,
    () => child.stdout().includes("listens") || !child.isRunning(),
    print,
  )
  if (!child.isRunning()) throw new Error(`${name} ended at its start\n${print()}`)
  return {
    pid: child.pid,
    port,
    cpuMs: () => cpuOf(child.pid),
    rss: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) * 1024,
    async live() {
      // The signal would end a server that does not listen to it.
      if (!isWeighed) throw new Error(`${name} was not started to be weighed`)
      const seen = () => [...child.stdout().matchAll(/^live (\d+)$/gm)]
      const before = seen().length
      process.kill(child.pid, "SIGUSR2")
      await waitFor(`memory of ${name}`, 10_000, () => seen().length > before, print)
      return Number(seen().at(-1)?.[1])
    },
    async stop() {
      await child.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** User and system time of all threads of a process, milliseconds; Linux only, like the figures in the README. */
export function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  // The second field is the name in brackets and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const TICK_MS = 10
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
