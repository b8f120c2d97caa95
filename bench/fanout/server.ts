/** The two endpoints that are measured, each in a fresh process: the real service, and the bare publish floor. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startChild } from "../../test/agent/child.ts"
import { waitFor } from "../../test/agent/wait.ts"
import { cpuOf } from "../intake/server.ts"

const ROOT = join(import.meta.dir, "../..")

/** Opens both endpoints; the floor does not look. */
export const BENCH_TOKEN = "bench-token-0123456789abcdef"

/** What is measured. */
export type EndpointName = "service" | "floor"

/** An endpoint that listens. */
export interface Endpoint {
  name: EndpointName
  port: number
  /** Processor time of the process so far, milliseconds. */
  cpuMs(): number
  /** Resident memory, bytes. */
  rss(): Promise<number>
  stop(): Promise<void>
}

/** Starts an endpoint and waits until it listens. */
export async function startEndpoint(name: EndpointName, port: number): Promise<Endpoint> {
  const home = mkdtempSync(join(tmpdir(), "aep-fanout-"))
  const command =
    name === "floor" ? [join(ROOT, "bench/fanout/floor.ts"), `${port}`] : [join(ROOT, "service/main.ts")]
  const child = startChild({
    command: [process.execPath, ...command],
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      AEP_HOME: home,
      AEP_OPENCODE_PORT: `${port}`,
      AEP_TOKEN: BENCH_TOKEN,
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
    name,
    port,
    cpuMs: () => cpuOf(child.pid),
    rss: async () => {
      const status = await Bun.file(`/proc/${child.pid}/status`).text()
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024
    },
    async stop() {
      await child.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
