/**
 * What holds for the log of any session, whatever happened in it: lines, ids, order, and that everything opened is
 * closed once. Returns the faults in words; none means the log holds. Not judged: what happened (`digest.ts`).
 */

import type { LoggedEvent } from "../agent/service.ts"
import { officialData, validateOfficial } from "../official.ts"

const RUN_ENDS = new Set(["run.finished", "run.failed", "run.cancelled"])
const TOOL_ENDS = new Set(["tool.completed", "tool.failed", "tool.denied"])
const ASK_ENDS = new Set(["attention.resolved", "attention.timeout"])

/** The faults of one session's log. `lines` are its lines as they stand in the file. */
export function faultsOfLog(name: string, lines: readonly string[]): string[] {
  const faults: string[] = []
  const say = (fault: string) => faults.push(`${name}: ${fault}`)
  const events: LoggedEvent[] = []
  lines.forEach((line, index) => {
    try {
      events.push(JSON.parse(line) as LoggedEvent)
    } catch (error) {
      say(`line ${index + 1} is no JSON: ${String(error)}`)
    }
  })
  judgeBySchema(events, say)
  if (new Set(events.map(({ id }) => id)).size !== events.length) say("an id stands twice")
  judgeOrder(events, say)
  judgePairs(events, "tool.requested", TOOL_ENDS, (event) => String(callOf(event)), say)
  judgePairs(events, "attention.requested", ASK_ENDS, (event) => closedAsk(event), say)
  judgePairs(events, "run.started", RUN_ENDS, (event) => String(event.run), say)
  if (events.filter(({ type }) => type === "session.ended").length > 1) say("the session ends twice")
  return faults
}

/** The one place where the official schemas judge what the service wrote. */
function judgeBySchema(events: readonly LoggedEvent[], say: (fault: string) => void): void {
  if (officialData().kind === "absent") return
  for (const event of events) {
    for (const fault of validateOfficial(event)) say(`${event.type} ${event.id}: ${fault}`)
  }
}

function judgeOrder(events: readonly LoggedEvent[], say: (fault: string) => void): void {
  events.slice(1).forEach((event, index) => {
    const before = events[index]
    // Agent-scoped events have no place in a session.
    if (before?.seq === undefined || event.seq === undefined) return
    const [epoch, last] = [event.epoch ?? 0, before.epoch ?? 0]
    if (epoch < last || (epoch === last && event.seq <= before.seq)) {
      say(`${event.type} has position ${epoch}/${event.seq} after ${last}/${before.seq}`)
    }
  })
}

/** Every start has exactly one end, and no end comes without its start. */
function judgePairs(
  events: readonly LoggedEvent[],
  start: string,
  ends: ReadonlySet<string>,
  keyOf: (event: LoggedEvent) => string,
  say: (fault: string) => void,
): void {
  const open = new Set<string>()
  const closed = new Set<string>()
  for (const event of events) {
    if (event.type === start) {
      const key = keyOf(event)
      if (open.has(key) || closed.has(key)) say(`${start} ${key} comes twice`)
      open.add(key)
    } else if (ends.has(event.type)) {
      const key = keyOf(event)
      if (!open.delete(key)) say(`${event.type} ${key} closes nothing that is open`)
      closed.add(key)
    }
  }
  for (const key of open) say(`${start} ${key} has no end`)
}

function callOf(event: LoggedEvent): unknown {
  return (event.data?.tool as { call_id?: unknown } | undefined)?.call_id
}

/** A request's own id; the id of the request for what follows it. */
function closedAsk(event: LoggedEvent): string {
  return event.type === "attention.requested" ? event.id : String(event.subject)
}
