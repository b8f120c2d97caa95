/**
 * What the relay binding counts, and what it says on stderr: each thing once, so that a relay that fails all
 * night does not fill a log. Held by `relay.ts`, handed to every part.
 */

/** Since start, over all agents. */
export interface RelayCounts {
  /** Events handed to a socket, repetitions included. */
  sent: number
  /** Events that the relay has for certain. */
  confirmed: number
  /** Events taken back at a loss, to be sent again. */
  resent: number
  /** Last lines sent again to claim a session. */
  claimed: number
  /** Attempts after the first one of each connection. */
  reconnects: number
  /** Error frames, and frames nobody could read. */
  errors: number
  /** Events without a log line that did not fit in memory. */
  dropped: number
  /** Lines that are too long or no event. */
  skipped: number
  /** Logs that held less than was written to them. */
  cut: number
  /** Commands handed on. */
  commands: number
}

/** All at zero. */
export function zeroCounts(): RelayCounts {
  return {
    sent: 0,
    confirmed: 0,
    resent: 0,
    claimed: 0,
    reconnects: 0,
    errors: 0,
    dropped: 0,
    skipped: 0,
    cut: 0,
    commands: 0,
  }
}

/** Codes come from the other side: more than this many are not told apart. */
const MOST_TOPICS = 64

/** Says each thing once, until it is over. */
export class Teller {
  private readonly told = new Set<string>()

  constructor(private readonly tell: (line: string) => void) {}

  /** Says `line` unless something was said on this topic. */
  once(topic: string, line: string): void {
    if (this.told.has(topic) || this.told.size >= MOST_TOPICS) return
    this.told.add(topic)
    this.tell(line)
  }

  /** What a topic was about is over; its next time is news. */
  over(topic: string): void {
    this.told.delete(topic)
  }
}
