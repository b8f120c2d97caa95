/**
 * The servers that are measured, each in a fresh process: the real service with a home of its own, the bare Hono
 * route, the bare `Bun.serve`.
 */
import { createHmac } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startChild } from "../../test/agent/child.ts"
import { waitFor } from "../../test/agent/wait.ts"

const ROOT = join(import.meta.dir, "../..")
const KEY = "0123456789abcdef0123456789abcdef"

/** What is measured. */
export const SERVERS = ["service", "hono", "plain"] as const
export type ServerName = (typeof SERVERS)[number]

/** What its door wants to see; the bare ones do not look. */
export const CREDENTIAL = createHmac("sha256", KEY).update("door/1").digest("hex")

/** A server that listens. */
export interface Server {
  /** Processor time of the process so far, milliseconds, in steps of ten. */
  cpuMs(): number
  stop(): Promise<void>
}

/** Starts a server and waits until it listens. */
export async function startServer(name: ServerName, port: number): Promise<Server> {
  const home = mkdtempSync(join(tmpdir(), "aep-bench-"))
  const file = name === "service" ? "service/main.ts" : `bench/intake/${name}.ts`
  const child = startChild({
    command: [process.execPath, join(ROOT, file), ...(name === "service" ? [] : [`${port}`])],
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      AEP_HOME: home,
      AEP_OPENCODE_PORT: `${port}`,
      AEP_OPENCODE_KEY: KEY,
    },
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
    cpuMs: () => cpuOf(child.pid),
    async stop() {
      await child.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** User and system time of all threads; Linux only, like the figures in the README. */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  // The second field is the name in brackets and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const TICK_MS = 10
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
