/**
 * The services `bench/enqueue.ts` measures against: our real one in a process of its own, and one that answers
 * every batch after a second.
 */
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { suitePort } from "../../test/ports.ts"

const ROOT = new URL("../..", import.meta.url).pathname

/** A running service: the environment that leads the drop-in to it, and its end. */
export interface Running {
  what: string
  env: Record<string, string>
  stop(): Promise<void>
}

/** Starts `service/main.ts` with a home of its own; resolves once it has written `plugin.json`. */
export async function startReal(home: string): Promise<Running> {
  const child = Bun.spawn([process.execPath, join(ROOT, "service/main.ts")], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      AEP_HOME: home,
      AEP_OPENCODE_PORT: `${suitePort("bench", 0)}`,
    },
    stdout: "ignore",
    stderr: "inherit",
  })
  const file = Bun.file(join(home, "plugin.json"))
  const deadline = Date.now() + 10_000
  while (!(await file.exists())) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error("service/main.ts did not start")
    await Bun.sleep(20)
  }
  return {
    what: "service/main.ts over its Unix socket",
    env: { AEP_HOME: home },
    async stop() {
      child.kill()
      await child.exited
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Starts a server that acknowledges every batch after `delayMs`. */
export function startSlow(delayMs: number): Running {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: suitePort("bench", 1),
    async fetch(request) {
      const { first, moments } = (await request.json()) as { first: number; moments: { n: number }[] }
      await Bun.sleep(delayMs)
      return Response.json({ next: (moments.at(-1)?.n ?? first - 1) + 1, rejected: [] }, { status: 202 })
    },
  })
  return {
    what: `a server that answers after ${delayMs} ms`,
    env: { AEP_OPENCODE_URL: `http://127.0.0.1:${suitePort("bench", 1)}`, AEP_OPENCODE_KEY: "bench" },
    stop: () => server.stop(true),
  }
}
