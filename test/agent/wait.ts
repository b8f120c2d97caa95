/**
 * The one place where the live suite waits at a process edge: a condition looked at again until it holds or its
 * deadline passes. Not for waiting a while: every use names what it waits for.
 */
import { setTimeout as pause } from "node:timers/promises"

const EVERY_MS = 20

/**
 * The first value that is neither undefined nor false. Throws `no {what} within {deadlineMs} ms` plus what `detail`
 * says, so that a red test shows the state it was in.
 */
export async function waitFor<T>(
  what: string,
  deadlineMs: number,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  detail: () => string = () => "",
): Promise<T> {
  const end = performance.now() + deadlineMs
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    if (performance.now() >= end) throw new Error(`no ${what} within ${deadlineMs} ms\n${detail()}`.trimEnd())
    await pause(EVERY_MS)
  }
}
