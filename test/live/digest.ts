/**
 * An event as one line of text, with the fields that carry its meaning, so that an expected log can be read and
 * reviewed as a list. Machinery (`x.*`) and debug status have no line. Ids of sessions and tasks become names.
 */

import type { Roles } from "../agent/scenario.ts"

type Data = Record<string, unknown>

/** What a line is made of. */
export interface Told {
  type: string
  subject?: string
  data?: Data
}

/** The lines of a session's log, in order. `roles` names the sessions that payloads point to. */
export function digestLog(events: readonly Told[], roles: Roles): string[] {
  const nameOf = (session: unknown) =>
    Object.entries(roles).find(([, id]) => id === session)?.[0] ?? String(session)
  const tasks: unknown[] = []
  return events
    .filter(({ type }) => !type.startsWith("x.") && type !== "progress.status")
    .map((event) => [event.type, ...wordsOf(event, nameOf, tasks)].join(" "))
}

function wordsOf(event: Told, nameOf: (session: unknown) => string, tasks: unknown[]): string[] {
  const data = event.data ?? {}
  switch (event.type) {
    case "session.started":
      return data.parent === undefined ? [] : ["of", nameOf(member(data, "parent").session)]
    case "session.ended":
    case "run.failed":
      return [String(data.reason)]
    case "run.started":
      return [String(data.trigger)]
    case "run.cancelled":
      return [String(data.by)]
    case "tool.requested":
    case "tool.completed":
      return [String(member(data, "tool").name)]
    case "tool.failed":
      return [String(member(data, "tool").name), String(member(data, "error").type)]
    case "tool.denied":
      return [String(member(data, "tool").name), String(data.by)]
    case "attention.requested":
      return requested(event, data)
    case "attention.answered":
      return answered(data)
    case "attention.resolved":
      return [String(data.resolution)]
    case "progress.task.planned":
    case "progress.task.completed":
      return [`task-${placeOf(event.subject, tasks)}`]
    case "delegation.subagent.started":
    case "delegation.subagent.stopped":
      return [nameOf(member(data, "child").session)]
    default:
      return []
  }
}

function requested(event: Told, data: Data): string[] {
  if (data.kind === "permission") {
    const options = list(data.options).map(({ id }) => String(id))
    return ["permission", String(event.subject), options.join("|")]
  }
  return [String(data.kind), ...list(data.fields).map(({ id, type }) => `${id}:${type}`)]
}

function answered(data: Data): string[] {
  const { option, values } = member(data, "answer")
  const answer = option === undefined ? JSON.stringify(values) : String(option)
  return [answer, String(data.via), ...(data.by === undefined ? [] : ["by", String(data.by)])]
}

function placeOf(id: unknown, tasks: unknown[]): number {
  if (!tasks.includes(id)) tasks.push(id)
  return tasks.indexOf(id) + 1
}

const member = (data: Data, name: string): Data => (data[name] ?? {}) as Data
const list = (value: unknown): Data[] => (Array.isArray(value) ? (value as Data[]) : [])
