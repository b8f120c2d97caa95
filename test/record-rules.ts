/**
 * What must hold of every session's record whatever the agent did (AEP-0001 §5, AEP-0002 §2.5 and §7, design
 * section 6), as rules over the session's events in order. Used on replayed recordings and on what fuzzing leaves.
 */
import * as v from "valibot"
import { ceilingOf, ceilingsFrom } from "../service/capture/ceiling.ts"
import { objectOf, textOf } from "../service/map/members.ts"
import { type AepEvent, envelopeSchema, isAboveCeiling, payloadSchemaOf } from "../shared/aep.ts"
import { officialData, validateOfficial } from "./official.ts"

const TERMINALS = ["run.finished", "run.failed", "run.cancelled"]
const TOOL_TERMINALS = ["tool.completed", "tool.failed", "tool.denied"]
const ASK_TERMINALS = ["attention.resolved", "attention.timeout"]
const DEFAULT_CEILINGS = ceilingsFrom()
const isOfficial = officialData().kind === "present"

/** A rule over one session's events in order; answers with what breaks it. */
export type Rule = (events: readonly AepEvent[]) => string[]

const callOf = (event: AepEvent): string => textOf(objectOf(objectOf(event.data).tool).call_id) ?? "?"
const where = (event: AepEvent): string => `${event.seq} ${event.type}`

/** Every rule, by its sentence. */
export const RULES: Readonly<Record<string, Rule>> = {
  "every event fits the envelope and its payload schema": (events) =>
    events.flatMap((event) => {
      const envelope = v.safeParse(envelopeSchema, event)
      const schema = payloadSchemaOf(event.type)
      const payload = schema === undefined ? undefined : v.safeParse(schema, event.data)
      return [
        ...(envelope.success ? [] : [`${where(event)}: ${envelope.issues[0].message}`]),
        ...(payload === undefined || payload.success
          ? []
          : [`${where(event)}: ${payload.issues[0]?.message}`]),
        ...(isOfficial ? validateOfficial(event).map((fault) => `${where(event)}: ${fault}`) : []),
      ]
    }),
  "positions ascend by one and time never goes back": (events) =>
    events.flatMap((event, index) => {
      const before = events[index - 1]
      const isLate = before !== undefined && Date.parse(event.time) < Date.parse(before.time)
      return event.seq === index && !isLate ? [] : [where(event)]
    }),
  "session.started comes first and once": (events) =>
    events.flatMap((event, index) =>
      (event.type === "session.started") === (index === 0) ? [] : [where(event)],
    ),
  "session.ended comes at most once, and after it only calls and asks of a run that goes on": (events) => {
    const end = events.findIndex((event) => event.type === "session.ended")
    return end < 0
      ? []
      : events
          .slice(end + 1)
          .filter((event) => !/^(x|tool|attention|delegation)\./.test(event.type))
          .map(where)
  },
  "a run opens once, ends once, and never two at a time": (events) => {
    const faults: string[] = []
    const met = new Set<string>()
    let open: string | undefined
    for (const event of events) {
      if (event.type === "run.started") {
        if (open !== undefined || event.run === undefined || met.has(event.run)) faults.push(where(event))
        open = event.run
        met.add(event.run ?? "")
      } else if (TERMINALS.includes(event.type)) {
        if (open === undefined || event.run !== open) faults.push(where(event))
        open = undefined
      } else if (event.run !== undefined && event.run !== open) faults.push(`${where(event)} in no open run`)
    }
    return open === undefined ? faults : [...faults, `run ${open} has no terminal`]
  },
  "a requested call gets exactly one terminal, by the end of its run": (events) => {
    const faults: string[] = []
    const open = new Map<string, string>()
    for (const event of events) {
      const call = callOf(event)
      if (event.type === "tool.requested") {
        if (open.has(call)) faults.push(`${where(event)} is open already`)
        open.set(call, event.id)
      } else if (TOOL_TERMINALS.includes(event.type)) {
        if (open.get(call) !== event.cause) faults.push(`${where(event)} ends no open call`)
        open.delete(call)
      } else if (TERMINALS.includes(event.type) && open.size > 0)
        faults.push(`${where(event)} leaves ${call}`)
    }
    return [...faults, ...[...open.keys()].map((call) => `${call} has no terminal`)]
  },
  "a request gets exactly one terminal by its event id, answered only before": (events) => {
    const faults: string[] = []
    const open = new Map<string, { answered: boolean }>()
    for (const event of events) {
      if (event.type === "session.ended" && open.size > 0) faults.push(`${where(event)} leaves a request`)
      if (event.type === "attention.requested") open.set(event.id, { answered: false })
      if (event.type === "attention.answered") {
        const ask = open.get(event.subject ?? "")
        if (ask === undefined || ask.answered) faults.push(where(event))
        else ask.answered = true
      }
      if (ASK_TERMINALS.includes(event.type)) {
        const ask = open.get(event.subject ?? "")
        const says = objectOf(event.data).resolution === "answered"
        if (ask === undefined || ask.answered !== says) faults.push(where(event))
        open.delete(event.subject ?? "")
      }
    }
    return [...faults, ...[...open.keys()].map((id) => `${id} has no terminal`)]
  },
  "a todo is planned once and before it is completed": (events) => {
    const planned = new Set<string>()
    return events.flatMap((event) => {
      const id = event.subject ?? ""
      if (event.type === "progress.task.completed") return planned.has(id) ? [] : [where(event)]
      if (event.type !== "progress.task.planned") return []
      const isNew = !planned.has(id)
      planned.add(id)
      return isNew ? [] : [where(event)]
    })
  },
  "a sub-agent stops at most once and after it started": (events) => {
    const started = new Map<string, number>()
    return events.flatMap((event) => {
      if (event.type === "delegation.subagent.started") started.set(event.id, 0)
      if (event.type !== "delegation.subagent.stopped") return []
      const count = started.get(event.cause ?? "")
      started.set(event.cause ?? "", 1)
      return count === 0 ? [] : [where(event)]
    })
  },
  "a cause names an earlier event of the session": (events) => {
    const earlier = new Set<string>()
    return events.flatMap((event) => {
      const isKnown = event.cause === undefined || earlier.has(event.cause)
      earlier.add(event.id)
      return isKnown ? [] : [where(event)]
    })
  },
  "source is the same for the life of the session": (events) =>
    events.filter((event) => event.source !== events[0]?.source).map(where),
  "capture is at most what the configuration sets when nothing is said": (events) =>
    events
      .filter(({ type, capture }) => isAboveCeiling(capture ?? "full", ceilingOf(DEFAULT_CEILINGS, type)))
      .map(where),
}
