/**
 * Ids and positions: `(source, id)` names one event (AEP-0001 §5.1, §7.4), `(epoch, seq)` ascends within a session
 * (§7.2), and a cause names an event of the same session (§5.1). The only rules whose memory grows with every line.
 */
import { canonicalJson } from "../capture/digest.ts"
import type { Read, Rule, Tell } from "./event.ts"

/** A number for a text, equal for equal texts. A collision makes two events under one id look like one. */
export type Hash = (text: string) => number

interface Seen {
  line: number
  content: number
}

/** Remembers each `(source, id)`: its line and a hash of what stood there, in canonical form. */
export class Ids {
  private readonly sources = new Map<string, Map<string, Seen>>()

  constructor(private readonly hash: Hash) {}

  /** Whether the event was met before with the same content; then no other rule may hear of it again (§2.5). */
  isRepeated(event: Read, tell: Tell): boolean {
    let ids = this.sources.get(event.source)
    if (ids === undefined) {
      ids = new Map()
      this.sources.set(event.source, ids)
    }
    const content = this.hash(canonicalJson(event.raw))
    const earlier = ids.get(event.id)
    if (earlier === undefined) {
      ids.set(event.id, { line: event.line, content })
      return false
    }
    if (earlier.content === content) {
      tell(
        "id.duplicate",
        `the same event stands in line ${earlier.line}; a file holds each event once`,
        "id",
      )
      return true
    }
    tell("id.collision", `line ${earlier.line} has the same source and id with other content`, "id")
    return false
  }
}

/** Order of `(epoch, seq)` per session and owner, by the highest position so far. Gaps are legal. */
export function order(): Rule {
  const highest = new Map<number, { epoch: number; seq: number; line: number }>()
  return ({ owner, epoch, seq, line }, tell) => {
    if (owner === undefined || seq === undefined) return
    if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(epoch)) {
      tell("order.inexact", "the position is above 2^53 - 1, where readers cannot compare it exactly", "seq")
    }
    const last = highest.get(owner)
    if (last === undefined || epoch > last.epoch || (epoch === last.epoch && seq > last.seq)) {
      highest.set(owner, { epoch, seq, line })
    } else if (epoch < last.epoch) {
      tell(
        "order.epoch",
        `the epoch is lower than in line ${last.line}; an epoch is never used again`,
        "epoch",
      )
    } else if (seq === last.seq) {
      tell("order.repeated", `line ${last.line} has the same position; it may name one event only`, "seq")
    } else {
      tell("order.seq", `seq is lower than in line ${last.line} and the epoch is the same`, "seq")
    }
  }
}

/** A cause must have stood in an earlier line of the session, whoever sent it. Agent-scoped events have no session. */
export function causes(): Rule {
  const sessions = new Map<string, Set<string>>()
  return ({ session, id, cause }, tell) => {
    if (session === undefined) return
    let known = sessions.get(session)
    if (known === undefined) {
      known = new Set()
      sessions.set(session, known)
    }
    if (cause !== undefined && !known.has(cause)) {
      tell("cause.unknown", "cause names no earlier event of this session in the file", "cause")
    }
    known.add(id)
  }
}
