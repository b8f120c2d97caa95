/**
 * A child process of a driver: its own process group, its output kept, an end in bounded time. Used for the agent
 * and for the service. Not for the TUI, which lives in a terminal of its own.
 */
import { waitFor } from "./wait.ts"

/** How long a process may take to leave after SIGTERM before its group is killed. */
const LEAVE_MS = 5_000
/** Kept of each output stream; what came first is dropped. */
const MOST_CHARACTERS = 200_000

export interface Child {
  pid: number
  /** Exit code once it ended; 128 + n after signal n. */
  exited: Promise<number>
  stdout: () => string
  stderr: () => string
  isRunning: () => boolean
  /** SIGTERM, then SIGKILL to the whole group. May be called twice; resolves with the exit code. */
  stop: () => Promise<number>
}

export interface ChildOptions {
  command: string[]
  cwd: string
  /** The whole environment; nothing of ours is inherited. */
  env: Record<string, string>
  /** Standard input, closed after it; none when absent. */
  input?: string
}

/** Ends of what is still running, called when our own process goes before its children. */
const ends = new Set<() => void>()
const endAll = () => {
  for (const end of ends) end()
}
process.once("exit", endAll)
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  // Children in groups of their own do not get the signal we got.
  process.once(signal, () => {
    endAll()
    process.exit(code)
  })
}

/** Has `end` called, once and without waiting, should our own process end first; returns the way to take it back. */
export function endWithUs(end: () => void): () => void {
  ends.add(end)
  return () => void ends.delete(end)
}

/** Starts the process. Throws when the program is not there. */
export function startChild(options: ChildOptions): Child {
  const child = Bun.spawn(options.command, {
    cwd: options.cwd,
    env: options.env,
    stdin: options.input === undefined ? "ignore" : new TextEncoder().encode(options.input),
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  })
  const stdout = keep(child.stdout)
  const stderr = keep(child.stderr)
  const running = () => child.exitCode === null && child.signalCode === null
  const killGroup = () => {
    try {
      process.kill(-child.pid, "SIGKILL")
    } catch (error) {
      // The group is gone already, which is what was wanted.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
    }
  }
  const forget = endWithUs(killGroup)
  return {
    pid: child.pid,
    exited: child.exited.then(async (code) => {
      await Promise.all([stdout.done, stderr.done])
      return code
    }),
    stdout: stdout.text,
    stderr: stderr.text,
    isRunning: running,
    stop: async () => {
      if (running()) {
        child.kill("SIGTERM")
        await Promise.race([child.exited, waitFor("exit", LEAVE_MS, () => !running()).catch(killGroup)])
      }
      // A tool the agent started may outlive it and would hold the output pipes open.
      killGroup()
      forget()
      return child.exited
    },
  }
}

function keep(stream: ReadableStream<Uint8Array>): { text: () => string; done: Promise<void> } {
  let text = ""
  const decoder = new TextDecoder()
  const done = (async () => {
    for await (const chunk of stream) {
      text = (text + decoder.decode(chunk, { stream: true })).slice(-MOST_CHARACTERS)
    }
  })()
  return { text: () => text, done }
}
