/** Drives `run`: one prompt through standard input, the agent's own exit. For what happens in between see the log. */
import { startChild } from "./child.ts"
import type { Sandbox } from "./sandbox.ts"
import { waitFor } from "./wait.ts"

export interface RunResult {
  code: number
  stdout: string
  stderr: string
  durationMs: number
}

/** Runs the agent once. Throws, after ending it, when it is not done by the deadline. */
export async function runOnce(
  sandbox: Sandbox,
  text: string,
  deadlineMs: number,
  flags: readonly string[] = [],
): Promise<RunResult> {
  const started = performance.now()
  const child = startChild({
    // Text with spaces as an argument reaches the model in quotes; through standard input it comes as it is.
    command: [sandbox.binary, "run", ...flags],
    cwd: sandbox.project,
    env: sandbox.env,
    input: text,
  })
  const print = () => `${child.stdout()}\n${child.stderr()}`.slice(-4_000)
  try {
    await waitFor("end of run", deadlineMs, () => !child.isRunning(), print)
  } finally {
    await child.stop()
  }
  const code = await child.exited
  return { code, stdout: child.stdout(), stderr: child.stderr(), durationMs: performance.now() - started }
}
