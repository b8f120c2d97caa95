/**
 * Timers that neither keep the agent's process alive nor let a throw of ours end it.
 */

/** Calls `run` once after `delayMs`; the returned function takes it back. A throw goes to `onFault`. */
export function after(delayMs: number, run: () => void, onFault: () => void): () => void {
  const timer: unknown = setTimeout(() => {
    try {
      run()
    } catch {
      // An uncaught throw in a timer makes `opencode run` exit with 1: counted instead.
      onFault()
    }
  }, delayMs)
  unref(timer)
  return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0])
}

function unref(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return
  if (typeof timer.unref === "function") timer.unref()
}
