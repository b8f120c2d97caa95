/**
 * An event as one line of text, with the fields that carry its meaning, so that an expected log can be read and
 * reviewed as a list. Machinery (`x.*`) has no line unless it is a warning, and status has none. Ids of sessions and tasks become names.
 */

import type { Expected, Roles, Scenario } from "../agent/scenario.ts"
import type { AgentVersion } from "../agent/versions.ts"

type Data = Record<string, unknown>

/** What a line is made of. */
export interface Told {
  type: string
  subject?: string
  severity?: string
  data?: Data
}

/** Role of the session of the plugin instance that told another role's session. */
const INSTANCE = "instance of "

/** The lines of every session that a scenario looks at, by role. `eventsOf` gives a session's log. */
export function digestRoles<E extends Told>(
  scenario: Scenario,
  agent: AgentVersion,
  roles: Roles,
  eventsOf: (session: string) => readonly E[],
): Expected {
  const named = Object.keys(scenario.expected(agent)).filter((role) => role.startsWith(INSTANCE))
  const instances = named.map((role): [string, string] => {
    const told = eventsOf(roles[role.slice(INSTANCE.length)] ?? "")
    return [role, `instance-${instanceOf(told)}`]
  })
  return Object.fromEntries(
    [...Object.entries(roles), ...instances].map(([role, session]) => [
      role,
      arrange(scenario, digestLog(eventsOf(session), roles)),
    ]),
  )
}

/** What a scenario expects, as `digestRoles` puts what happened. */
export function expectedRoles(scenario: Scenario, agent: AgentVersion): Expected {
  return Object.fromEntries(
    Object.entries(scenario.expected(agent)).map(([role, lines]) => [role, arrange(scenario, lines)]),
  )
}

/** Lines without a fixed order in one that is. */
function arrange({ isParallel = false }: Scenario, lines: readonly string[]): readonly string[] {
  const answer = lines.findIndex((line) => line.startsWith("attention.answered"))
  return isParallel ? [...lines.slice(0, answer).sort(), ...lines.slice(answer)] : lines
}

/** The instances that told the sessions the scenario wants told apart. */
export function instancesApart<E extends Told>(
  { apart = [] }: Scenario,
  roles: Roles,
  eventsOf: (session: string) => readonly E[],
): unknown[] {
  return apart.map((role) => instanceOf(eventsOf(roles[role] ?? "")))
}

/** The plugin instance that spoke last, by the vendor's extension attribute. */
function instanceOf(events: readonly Told[]): unknown {
  const last = events.at(-1)
  return Object.entries(last ?? {}).find(([name]) => /^(opencode|kilocode)instance$/.test(name))?.[1]
}

/** The lines of a session's log, in order. `roles` names the sessions that payloads point to. */
export function digestLog(events: readonly Told[], roles: Roles): string[] {
  const nameOf = (session: unknown) =>
    Object.entries(roles).find(([, id]) => id === session)?.[0] ?? String(session)
  const tasks: unknown[] = []
  return events
    .filter(({ type, severity }) => severity === "warning" || !/^(x\.|progress\.status$)/.test(type))
    .map((event) =>
      event.type.startsWith("x.")
        ? // The vendor is data.
          `warning ${event.type.split(".").slice(2).join(".")}`
        : [event.type, ...wordsOf(event, nameOf, tasks)].join(" "),
    )
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
