/**
 * A session's record as rows a person can review: one line an event, the run and the cause as numbers, digests and
 * what only repeats the envelope left out. Used by the suites that hold recordings against `fixtures/expected`.
 */

import type { AepEvent } from "../shared/aep.ts"
import { isAtLeast } from "../shared/aep.ts"

/** Rows by session. */
export type Rows = Record<string, string[]>

/** Rows of the core events and of the vendor events that a person should see (`warning` and above). */
export function rowsOf(sessions: ReadonlyMap<string, readonly AepEvent[]>): Rows {
  return Object.fromEntries([...sessions].map(([session, events]) => [session, rowsOfSession(events)]))
}

function rowsOfSession(events: readonly AepEvent[]): string[] {
  const told = events.filter(
    (event) => !event.type.startsWith("x.") || isAtLeast(event.severity ?? "info", "warning"),
  )
  const numbers = new Map(told.map((event, index) => [event.id, index]))
  const runs = new Map<string, number>()
  return told.map((event, index) => {
    const { run, cause, subject } = event
    if (run !== undefined && !runs.has(run)) runs.set(run, runs.size + 1)
    const target = subject === undefined ? undefined : numbers.get(subject)
    return [
      String(index),
      event.type,
      ...(target === undefined ? (subject === undefined ? [] : [subject]) : [`@${target}`]),
      ...fields("", event.data, Date.parse(event.time)),
      ...placeOf(event),
      ...(run === undefined ? [] : [`run=${runs.get(run)}`]),
      ...(cause === undefined ? [] : [`<${numbers.get(cause) ?? "?"}`]),
    ].join(" ")
  })
}

/** Leaves as `path=value`, a deadline by how far away it is; the agent's own name and version, and digests, are the same everywhere or unreadable. */
function fields(path: string, value: unknown, at: number): string[] {
  if (path === "client" || path.endsWith("_digest")) return []
  if (path === "expires_at") return [`expires=+${(Date.parse(String(value)) - at) / 1000}s`]
  if (Array.isArray(value)) return [`${path}=${value.map(nameOf).join("|")}`]
  if (typeof value !== "object" || value === null) return [`${path}=${String(value)}`]
  return Object.entries(value).flatMap(([name, member]) =>
    fields(path === "" ? name : `${path}.${name}`, member, at),
  )
}

/** The way from the root session to a sub-agent's that asks. */
function placeOf(event: Record<string, unknown>): string[] {
  const path = event.opencodepath ?? event.kilocodepath
  return typeof path === "string" ? [`path=${path}`] : []
}

function nameOf(item: unknown): string {
  if (typeof item !== "object" || item === null) return String(item)
  const { id, choices } = item as { id?: unknown; choices?: unknown }
  return Array.isArray(choices) ? `${id}(${choices.map(nameOf).join(",")})` : String(id)
}
