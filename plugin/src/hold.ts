/**
 * One `permission.ask` hook in which the agent waits (OpenCode 1.0): until somebody decided, until nobody will, or until nothing
 * was heard for too long. Void, it throws: were it to return, the agent would ask or write although it was stopped
 * (surface.md §0.2).
 */
import { type Fields, isFields } from "./fields.ts"
import { after } from "./timer.ts"

/** A hook that is held. */
export interface Hold {
  /** Settles when the hook may return; rejects when it must throw. */
  readonly over: Promise<void>
  /** Sets what was decided and lets go; false when there is nothing to set it on, or it is over. */
  decide(status: "allow" | "deny"): boolean
  /** The service waits that long; so do we, and a little longer. False when it is over. */
  extend(ms: number): boolean
  /** Lets go untouched: the agent asks in its own dialog. False when it is over. */
  release(): boolean
  /** Throws into the agent. */
  annul(): void
}

/** What a hold needs. */
export interface HoldParts {
  /** The hook's second argument. */
  output: unknown
  /** Patience without a word, milliseconds. */
  holdMs: number
  /** Added to what the service says, milliseconds: it speaks first. */
  graceMs: number
  /** Told when it is over, however. Must not throw. */
  onOver(): void
  onFault(): void
}

/** Longest wait of one hook whatever is said, milliseconds. */
const MOST_MS = 24 * 60 * 60 * 1000

/** What the model reads where a stopped call ends by this. */
const STOPPED = "The session was stopped while this permission was asked for."

/** A hold that has begun. */
export function createHold({ output, holdMs, graceMs, onOver, onFault }: HoldParts): Hold {
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  // Whoever does not wait for it must not make it an unhandled rejection.
  over.catch(() => undefined)
  let isOver = false
  const finish = (settle: () => void): boolean => {
    if (isOver) return false
    isOver = true
    cancel()
    onOver()
    settle()
    return true
  }
  const release = (): boolean => finish(resolve)
  let cancel = after(holdMs, release, onFault)
  return {
    over,
    release,
    decide(status) {
      return isFields(output) && finish(() => settleOn(output, status, resolve))
    },
    extend(ms) {
      if (isOver) return false
      cancel()
      cancel = after(Math.min(Math.max(0, ms), MOST_MS) + graceMs, release, onFault)
      return true
    },
    annul() {
      finish(() => reject(new Error(STOPPED)))
    },
  }
}

/** The one thing of the agent's that this plugin ever writes: what its hook exists for. */
function settleOn(output: Fields, status: "allow" | "deny", resolve: () => void): void {
  try {
    output.status = status
  } finally {
    resolve()
  }
}
