/** Counts requests by what became of them, from what was said since the start. For `/metrics`. */
import type { AepEvent } from "../../shared/aep.ts"

/** Requests raised, and ends by kind. */
export interface RequestCounts {
  raised: number
  answered: number
  /** Settled together with another one. */
  auto: number
  dismissed: number
  /** Nobody answered in time. */
  lapsed: number
}

/** See the head of the file. */
export class RequestTally {
  readonly counts: RequestCounts = { raised: 0, answered: 0, auto: 0, dismissed: 0, lapsed: 0 }

  /** Told of everything our emitter said. */
  said(messages: readonly { event: AepEvent }[]): void {
    for (const { event } of messages) {
      const { type, data = {} } = event
      if (type === "attention.requested") this.counts.raised += 1
      else if (type === "attention.timeout") this.counts.lapsed += 1
      else if (type === "attention.resolved") {
        const { resolution } = data
        if (resolution === "answered" || resolution === "auto" || resolution === "dismissed") {
          this.counts[resolution] += 1
        }
      }
    }
  }
}
