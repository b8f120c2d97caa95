/**
 * What the rules about asks need of the house beyond the session itself: how long a request waits, what a command answered,
 * and who is told that an ask waits. Handed in, so that the rules stay without clock and network.
 */
import type { Applied } from "../attention/answer.ts"

/** See the head of the file. Nothing here may throw. */
export interface Desk {
  /** Epoch milliseconds by the service's clock; the moment's own time where nobody has one. */
  now?: () => number
  /** How long a request stays open, milliseconds: one that blocks the agent's own dialog, and any other. */
  readonly windows: { readonly hookMs: number; readonly askMs: number }
  /** What the command of this mark answered, while that is remembered; it may be content. */
  applied: (mark: string) => Applied | undefined
  /** Whether a command of this mark has its decision already. */
  isDecided: (mark: string) => boolean
  /** Whether an answer to the ask is on its way to the agent: its deadline waits for what comes of it. */
  isUnderWay: (session: string, ask: string) => boolean
  /** The agent waits in its hook for `ms` at most. */
  onHeld: (instance: string, session: string, ask: string, ms: number) => void
  /** It need not wait any more. */
  onLapse: (instance: string, session: string, ask: string) => void
  /** An ask that is open here was told once more. */
  onOfferedAgain: (session: string, ask: string) => void
}

/** A desk nobody sits at: what is asked waits its time. */
export const NO_DESK: Desk = {
  windows: { hookMs: 55_000, askMs: 1_800_000 },
  applied: () => undefined,
  isDecided: () => false,
  isUnderWay: () => false,
  onHeld: () => undefined,
  onLapse: () => undefined,
  onOfferedAgain: () => undefined,
}
