/**
 * The real service as a process of its own, in a temporary home, to be stopped in every way there is. Knows nothing
 * of what is fed to it.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type Child, startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"

const ROOT = resolve(import.meta.dir, "../..")
const START_MS = 15_000
const STOP_MS = 10_000

/** A service that listens. */
export interface Running {
  readonly child: Child
  readonly pid: number
  readonly url: string
  /** `kill -9`, and its end. */
  kill(): Promise<void>
  /** Sends a signal and waits for the exit code. */
  end(signal: "SIGTERM" | "SIGINT"): Promise<number>
}

/** A home on disk. */
export interface Home {
  readonly path: string
  readonly logs: string
  readonly database: string
  remove(): void
}

/** A new, empty home. Short, since a socket path must fit. */
export function openHome(): Home {
  const path = mkdtempSync(join(tmpdir(), "aep-crash-"))
  return {
    path,
    logs: join(path, "logs"),
    database: join(path, "opencode-aep.db"),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** Starts the process and returns at once. `env` replaces single variables. */
export function launch(home: string, port: number, env: Record<string, string> = {}): Child {
  return startChild({
    command: [process.execPath, join(ROOT, "service/main.ts")],
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: tmpdir(),
      AEP_HOME: home,
      AEP_OPENCODE_PORT: String(port),
      ...env,
    },
  })
}

/** Waits until a launched process listens. Throws with what it printed when it ends before. */
export async function listening(child: Child, port: number): Promise<Running> {
  const print = () => `${child.stdout()}\n${child.stderr()}`
  await waitFor(
    "listening service",
    START_MS,
    () => {
      if (!child.isRunning()) throw new Error(`the service ended at its start\n${print()}`)
      return child.stdout().includes("listens on")
    },
    print,
  )
  return {
    child,
    pid: child.pid,
    url: `http://127.0.0.1:${port}`,
    async kill() {
      killNow(child)
      await child.exited
    },
    async end(signal) {
      process.kill(child.pid, signal)
      await waitFor(`end after ${signal}`, STOP_MS, () => !child.isRunning(), print)
      return child.exited
    },
  }
}

/** Starts a service and waits until it listens. */
export async function startService(
  home: string,
  port: number,
  env: Record<string, string> = {},
): Promise<Running> {
  return listening(launch(home, port, env), port)
}

/** `kill -9` without a turn of the event loop in between. */
export function killNow(child: Child): void {
  if (child.isRunning()) process.kill(child.pid, "SIGKILL")
}

/** The text of a file; absent when there is none. */
export function textOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined
}
