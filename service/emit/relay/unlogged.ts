/**
 * Events that could not be written to a log and wait for the relay in memory: bounded in number and bytes,
 * debug and info go first, and what goes is counted (AEP-0003 §8.4). Where each stands among its session's
 * lines is the matter of `outbox.ts`, the only user.
 */
import { DEFAULT_SEVERITY, isAtLeast, SEVERITIES } from "../../../shared/aep.ts"

/** One such event. `at`: bytes of the log that were said before it; never beyond the log's known end, or it
 *  would wait for ever. */
export interface Unlogged {
  readonly text: string
  at: number
  state: "waiting" | "sent" | "gone"
}

/** See the head of the file. */
export class UnloggedBound {
  private events = 0
  private bytes = 0
  /** Waiting events that may go for others, oldest first. */
  private readonly lesser = new Set<Unlogged>()

  constructor(private readonly most: { events: number; bytes: number }) {}

  /** Takes an event in, at the cost of lesser ones. Returns the number of events that are lost by it; the
   *  event itself is `gone` when there was no room for it. */
  admit(event: Unlogged): number {
    const isLesser = isDebugOrInfo(event.text)
    let lost = 0
    while (!isLesser && !this.hasRoomFor(event)) {
      const [oldest] = this.lesser
      if (oldest === undefined) break
      oldest.state = "gone"
      this.leave(oldest)
      lost += 1
    }
    if (!this.hasRoomFor(event)) {
      event.state = "gone"
      return lost + 1
    }
    this.events += 1
    this.bytes += event.text.length
    if (isLesser) this.lesser.add(event)
    return lost
  }

  /** Its text was handed to a socket; it cannot be given up for another now. */
  sent(event: Unlogged): void {
    event.state = "sent"
    this.lesser.delete(event)
  }

  /** The socket is lost, so it waits again. */
  again(event: Unlogged): void {
    event.state = "waiting"
    if (isDebugOrInfo(event.text)) this.lesser.add(event)
  }

  /** The relay has it, or nobody wants it any more. */
  leave(event: Unlogged): void {
    this.events -= 1
    this.bytes -= event.text.length
    this.lesser.delete(event)
  }

  private hasRoomFor(event: Unlogged): boolean {
    return this.events < this.most.events && this.bytes + event.text.length <= this.most.bytes
  }
}

/** Text that says nothing of its severity has the default one. */
function isDebugOrInfo(text: string): boolean {
  const event: unknown = JSON.parse(text)
  const found =
    typeof event === "object" && event !== null && "severity" in event ? event.severity : undefined
  const severity = SEVERITIES.find((known) => known === found) ?? DEFAULT_SEVERITY
  return !isAtLeast(severity, "notice")
}
