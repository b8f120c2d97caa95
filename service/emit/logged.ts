/**
 * How the ledger reads our own event lines back: as what the fold takes, and as the marks by which it knows the
 * moment behind a line. A line of another vendor, or of another writer, has no marks and folds as far as it goes.
 */
import { isCoreAttribute } from "../../shared/aep.ts"
import { countOf, objectOf, textOf } from "../map/members.ts"
import { profileOf } from "../map/profile.ts"
import { fold } from "../session/fold.ts"
import { type MarkNames, markNames } from "../session/marks.ts"
import { initialState, type SessionState } from "../session/state.ts"
import type { SessionKey } from "../session/store.ts"
import type { Folding } from "./entry.ts"
import type { LineMarks, LoggedEvent } from "./groups.ts"

const marksByAgent = new Map<string, MarkNames>()

/** Mark names of an agent's events. */
export function marksOfAgent(agent: string): MarkNames {
  const known = marksByAgent.get(agent)
  if (known !== undefined) return known
  const names = markNames(profileOf(agent)?.namespace ?? agent)
  marksByAgent.set(agent, names)
  return names
}

/** The folding of session states, for the ledger. */
export const sessionFolding: Folding<SessionState> = {
  initial: (key: SessionKey) => initialState(key.agent, key.session ?? ""),
  fold: foldLine,
  marksOf,
  isState: isSessionState,
}

function marksOf(event: LoggedEvent): LineMarks | undefined {
  const names = marksOfAgent(textOf(event.agent) ?? "")
  const instance = textOf(event[names.instance])
  const moment = countOf(event[names.moment])
  if (instance === undefined || moment === undefined) return undefined
  return { instance, moment, more: countOf(event[names.more]) ?? 0 }
}

function foldLine(state: SessionState, event: LoggedEvent): void {
  const id = textOf(event.id)
  const type = textOf(event.type)
  const time = Date.parse(textOf(event.time) ?? "")
  if (id === undefined || type === undefined || Number.isNaN(time)) return
  const extensions: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(event)) {
    if (!isCoreAttribute(name)) extensions[name] = value
  }
  const [source, subject, run, cause] = [event.source, event.subject, event.run, event.cause].map(textOf)
  fold(
    state,
    {
      id,
      type,
      time,
      ...(source === undefined ? {} : { source }),
      ...(subject === undefined ? {} : { subject }),
      ...(run === undefined ? {} : { run }),
      ...(cause === undefined ? {} : { cause }),
      data: objectOf(event.data),
      extensions,
    },
    marksOfAgent(textOf(event.agent) ?? ""),
  )
}

/** A snapshot of an earlier release lacks members; the log is then folded anew, which is always possible. */
function isSessionState(value: unknown): value is SessionState {
  const state = objectOf(value)
  return (
    typeof state.session === "string" &&
    state.seenMessages instanceof Set &&
    state.told instanceof Map &&
    [state.tools, state.abortedTools, state.asks, state.endedAsks, state.strangerCalls].every(
      (member) => member instanceof Map,
    ) &&
    Array.isArray(state.todos)
  )
}
