/**
 * Wakes a session when one of its requests lapses. Holds one timer a session, for whichever is next; the requests themselves
 * are the session's own state. Called by the intake after each turn.
 */

/** What the deadlines need. */
export interface DeadlineParts {
  /** Epoch milliseconds. */
  now: () => number
  timers: { set(run: () => void, afterMs: number): unknown; clear(handle: unknown): void }
  /** A request of this session lapses now. Must not throw. */
  due: (agent: string, session: string) => void
}

/** Longest wait of a timer; a later deadline is looked at again then. */
const MAX_WAIT_MS = 2 ** 31 - 1

/** See the head of the file. */
export class Deadlines {
  private readonly armed = new Map<string, { at: number; handle: unknown }>()

  constructor(private readonly parts: DeadlineParts) {}

  /** The next deadline of a session is at this time; none when absent. Cheap when nothing changed. */
  arm(agent: string, session: string, at: number | undefined): void {
    const name = `${agent}/${session}`
    const before = this.armed.get(name)
    if (before?.at === at) return
    if (before !== undefined) {
      this.parts.timers.clear(before.handle)
      this.armed.delete(name)
    }
    if (at === undefined) return
    const wait = Math.min(Math.max(0, at - this.parts.now()), MAX_WAIT_MS)
    const handle = this.parts.timers.set(() => {
      this.armed.delete(name)
      this.parts.due(agent, session)
    }, wait)
    this.armed.set(name, { at, handle })
  }

  /** Stops all timers. */
  close(): void {
    for (const { handle } of this.armed.values()) this.parts.timers.clear(handle)
    this.armed.clear()
  }
}
