/**
 * The servers that are measured, each in a fresh process: the real service with a home of its own, as it comes and
 * with redaction of everything, the bare Hono route, the bare `Bun.serve`.
 */
import { createHmac } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startChild } from "../../test/agent/child.ts"
import { waitFor } from "../../test/agent/wait.ts"

const ROOT = join(import.meta.dir, "../..")
const KEY = "0123456789abcdef0123456789abcdef"

/** What is measured; `redacting` is the service with everything told at `redacted`. */
export const SERVERS = ["service", "redacting", "hono", "plain"] as const
export type ServerName = (typeof SERVERS)[number]

/** What its door wants to see; the bare ones do not look. */
export const CREDENTIAL = createHmac("sha256", KEY).update("door/1").digest("hex")

/** A server that listens. */
export interface Server {
  pid: number
  /** Processor time of the process so far, milliseconds, in steps of ten. */
  cpuMs(): number
  stop(): Promise<void>
}

/** Starts a server and waits until it listens. */
export async function startServer(
  name: ServerName,
  port: number,
  extra: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const home = mkdtempSync(join(tmpdir(), "aep-bench-"))
  const isBare = name === "hono" || name === "plain"
  const file = isBare ? `bench/intake/${name}.ts` : "service/main.ts"
  const child = startChild({
    command: [process.execPath, join(ROOT, file), ...(isBare ? [`${port}`] : [])],
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      AEP_HOME: home,
      AEP_OPENCODE_PORT: `${port}`,
      AEP_OPENCODE_KEY: KEY,
      ...(name === "redacting" ? { AEP_CAPTURE: "redacted" } : {}),
      ...extra,
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
    pid: child.pid,
    cpuMs: () => cpuOf(child.pid),
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
