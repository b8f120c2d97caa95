/**
 * How long `dispose` waits for the last batches: until they are through, at most so long in all, and at most so
 * long without an answer. The agent awaits `dispose`, and one that never resolves hangs `opencode run` for ever.
 */
import { after } from "./timer.ts"

/** What to wait for. */
export interface FlushBounds {
  /** Settles when everything was sent or sending was given up. */
  done: Promise<void>
  mostMs: number
  silenceMs: number
  /** Registers what is to be called at every answer of the service. */
  onProgress(note: () => void): void
}

/** Resolves when done or when a bound is reached, whichever comes first. Never rejects. */
export function flush({ done, mostMs, silenceMs, onProgress }: FlushBounds): Promise<void> {
  return new Promise((resolve) => {
    let cancelSilence: (() => void) | undefined
    const finish = () => {
      cancelSilence?.()
      cancelMost()
      onProgress(() => undefined)
      resolve()
    }
    const listen = () => {
      cancelSilence?.()
      cancelSilence = after(silenceMs, finish, finish)
    }
    const cancelMost = after(mostMs, finish, finish)
    onProgress(listen)
    listen()
    done.then(finish, finish)
  })
}
