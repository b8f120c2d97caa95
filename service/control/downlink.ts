/**
 * The way down to the plugins: what was decided waits here for its instance's next poll, signed for that very poll, until
 * the plugin says what came of it. One poll an instance; none waits for longer than is promised. Decides nothing, knows no
 * request and no session; `http/downlink.ts` holds the door.
 */
import type { Decision, DownMessage } from "../../shared/moments.ts"

/** What the downlink needs. */
export interface DownlinkParts {
  /** The proof of one decision for one poll: see `DownMessage.proof`. */
  sign: (nonce: string, instance: string, request: string, decision: string) => string
  /** Epoch milliseconds. */
  now: () => number
  timers: { set(run: () => void, afterMs: number): unknown; clear(handle: unknown): void }
}

/** How long a poll without news is held. The plugin gives up on it some seconds later. */
export const POLL_MS = 25_000
/** A plugin whose last poll ended this long ago is about to poll again. */
const GRACE_MS = 5_000
/** What was sent and not reported of is sent again after so long: its answer may have been lost. */
const AGAIN_MS = 5_000
/** Decisions waiting for one instance; more means that it takes none. */
const MAX_WAITING = 1_000

interface Waiting {
  decision: string
  /** Not sent any more from then on: a late decision must not act. */
  until: number
  sentAt?: number
}

interface Line {
  waiting: Map<string, Waiting>
  poll?: { nonce: string; believesAnswerable: boolean | undefined; end: (messages: DownMessage[]) => void }
  /** When the last poll ended. */
  leftAt?: number
}

/** See the head of the file. */
export class Downlink {
  private readonly lines = new Map<string, Line>()
  private closed = false
  private answerable = false

  constructor(private readonly parts: DownlinkParts) {}

  /** Whether somebody could answer asks now. */
  get isAnswerable(): boolean {
    return this.answerable
  }

  /** Somebody who could answer is there now, or nobody any more: polls of instances that believe otherwise end. */
  setAnswerable(answerable: boolean): void {
    this.answerable = answerable
    for (const { poll } of this.lines.values()) {
      if (poll?.believesAnswerable === !answerable) poll.end([])
    }
  }

  /** One poll: resolves as soon as there is something, with nothing after `POLL_MS`, when a younger poll takes its place,
   *  when its `signal` says that nobody waits for it, or when its instance believes of `isAnswerable` what is not so. */
  poll(
    instance: string,
    nonce: string,
    signal: AbortSignal,
    believesAnswerable?: boolean,
  ): Promise<DownMessage[]> {
    const line: Line = this.lines.get(instance) ?? { waiting: new Map() }
    this.lines.set(instance, line)
    line.poll?.end([])
    const due = this.due(instance, line, nonce)
    const isMistaken = believesAnswerable === !this.answerable
    if (due.length > 0 || this.closed || signal.aborted || isMistaken) {
      line.leftAt = this.parts.now()
      return Promise.resolve(due)
    }
    return new Promise((resolve) => {
      const end = (messages: DownMessage[]): void => {
        if (line.poll?.end !== end) return
        delete line.poll
        line.leftAt = this.parts.now()
        this.parts.timers.clear(timer)
        signal.removeEventListener("abort", gone)
        resolve(messages)
      }
      const gone = (): void => end([])
      const timer = this.parts.timers.set(gone, POLL_MS)
      signal.addEventListener("abort", gone, { once: true })
      line.poll = { nonce, believesAnswerable, end }
    })
  }

  /** Has a decision brought down until a time, again and again until it is settled. False when it cannot be taken. */
  push(instance: string, request: string, decision: Decision, until: number): boolean {
    const line = this.lines.get(instance)
    if (line === undefined || line.waiting.size >= MAX_WAITING) return false
    line.waiting.set(request, { decision: JSON.stringify(decision), until })
    const { poll } = line
    if (poll !== undefined) poll.end(this.due(instance, line, poll.nonce))
    return true
  }

  /** The plugin reported, or nobody wants it any more. Returns whether it was ever sent down. */
  settle(instance: string, request: string): boolean {
    const waiting = this.lines.get(instance)?.waiting
    const isSent = waiting?.get(request)?.sentAt !== undefined
    waiting?.delete(request)
    return isSent
  }

  /** Whether the instance polls, or did a moment ago. */
  isListening(instance: string): boolean {
    const line = this.lines.get(instance)
    if (line === undefined) return false
    return line.poll !== undefined || this.parts.now() - (line.leftAt ?? 0) < GRACE_MS
  }

  /** The instance is gone. */
  forget(instance: string): void {
    const line = this.lines.get(instance)
    this.lines.delete(instance)
    line?.poll?.end([])
  }

  /** Ends all polls, and holds none any more. May be called twice. */
  close(): void {
    this.closed = true
    for (const line of this.lines.values()) line.poll?.end([])
  }

  private due(instance: string, line: Line, nonce: string): DownMessage[] {
    const now = this.parts.now()
    const messages: DownMessage[] = []
    for (const [request, waiting] of line.waiting) {
      if (now >= waiting.until) {
        line.waiting.delete(request)
        continue
      }
      if (waiting.sentAt !== undefined && now - waiting.sentAt < AGAIN_MS) continue
      waiting.sentAt = now
      const { decision } = waiting
      messages.push({ request, decision, proof: this.parts.sign(nonce, instance, request, decision) })
    }
    return messages
  }
}
