/**
 * A session's events as people read them: one line an event, seconds since the start, sub-agents indented where they
 * were started. Pure: events in, lines out. Machinery at `debug` is left out unless asked for.
 */
import type { AepEvent } from "../../shared/aep.ts"
import { type Json, listOf, numberOf, objectOf, textOf } from "../map/members.ts"
import { visible } from "./visible.ts"

/** What is shown. */
export interface TimelineOptions {
  /** Show events of severity `debug` too. */
  verbose?: boolean
}

/** Lines for a root session and, through `childrenOf`, its sub-agents. Events of each session in log order. */
export function timeline(
  events: readonly AepEvent[],
  childrenOf: (session: string) => readonly AepEvent[],
  options: TimelineOptions = {},
): string[] {
  const [first] = events
  if (first === undefined) return []
  const origin = Date.parse(first.time)
  return sessionLines(events, childrenOf, origin, "", new Set(), options.verbose === true)
}

function sessionLines(
  events: readonly AepEvent[],
  childrenOf: (session: string) => readonly AepEvent[],
  origin: number,
  indent: string,
  shown: Set<string>,
  verbose: boolean,
): string[] {
  // An agent's own events stand in no session, and in no other's place.
  const session = events[0]?.session
  if (session !== undefined) {
    if (shown.has(session)) return []
    shown.add(session)
  }
  return events.flatMap((event) => {
    if (event.severity === "debug" && !verbose) return []
    const seconds = ((Date.parse(event.time) - origin) / 1000).toFixed(2).padStart(7)
    const line = `${seconds}s  ${indent}${visible(sentence(event))}`
    const child = childOf(event)
    if (child === undefined) return [line]
    return [line, ...sessionLines(childrenOf(child), childrenOf, origin, `${indent}  | `, shown, verbose)]
  })
}

/** The session a sub-agent's start speaks of. */
export function childOf(event: AepEvent): string | undefined {
  if (event.type !== "delegation.subagent.started") return undefined
  return textOf(objectOf(event.data?.child).session) ?? event.subject
}

type Teller = (event: AepEvent, data: Json) => string

const TELL: Readonly<Record<string, Teller>> = {
  "session.started": (event, data) => {
    const client = objectOf(data.client)
    return `session ${event.session} started (${[textOf(client.name) ?? event.agent, textOf(client.version)].filter(Boolean).join(" ")})`
  },
  "session.ended": (_event, data) => `session ended: ${textOf(data.reason) ?? ""}`,
  "run.started": (_event, data) => `run started by ${textOf(data.trigger) ?? "someone"}`,
  "run.finished": (_event, data) => `run finished${spent(data)}`,
  "run.failed": (_event, data) => `run FAILED: ${textOf(data.reason) ?? "?"}${spent(data)}`,
  "run.cancelled": (_event, data) => `run cancelled by ${textOf(data.by) ?? "someone"}${spent(data)}`,
  "tool.requested": (event) => `tool ${event.subject ?? ""} called`,
  "tool.completed": (event, data) => `tool ${event.subject ?? ""} done${took(data)}`,
  "tool.failed": (event, data) =>
    `tool ${event.subject ?? ""} FAILED: ${textOf(objectOf(data.error).type) ?? "error"}${took(data)}`,
  "tool.denied": (event, data) => `tool ${event.subject ?? ""} DENIED by ${textOf(data.by) ?? "policy"}`,
  "attention.requested": (_event, data) => {
    const options = listOf(data.options).flatMap((option) => textOf(objectOf(option).id) ?? [])
    return `? ${textOf(data.prompt) ?? "attention"}${options.length === 0 ? "" : ` [${options.join(", ")}]`}`
  },
  "attention.answered": (_event, data) => {
    const { option } = objectOf(data.answer)
    return `! answered${textOf(option) === undefined ? "" : `: ${textOf(option)}`} (${textOf(data.via) ?? "?"})`
  },
  "attention.resolved": (_event, data) => `  resolved: ${textOf(data.resolution) ?? "?"}`,
  "attention.timeout": () => "  timed out unanswered",
  "delegation.subagent.started": (event) => `sub-agent ${event.subject ?? ""} started`,
  "delegation.subagent.stopped": (event, data) =>
    `sub-agent ${event.subject ?? ""} stopped: ${textOf(data.status) ?? "?"}`,
  "progress.task.planned": (event) => `task ${event.subject ?? ""} planned`,
  "progress.task.completed": (event) => `task ${event.subject ?? ""} completed`,
  "progress.status": (event) => `status ${event.subject ?? ""}`,
  "session.compacted": () => "context compacted",
  "attention.routed": (event, data) => `  shown to ${textOf(data.to) ?? event.agent}`,
  "control.attention.respond": (event) => `> ${event.agent} answers`,
  "control.cancel": (event, data) => `> ${event.agent} cancels the ${textOf(data.scope) ?? "run"}`,
  "control.accepted": () => "  command accepted",
  "control.rejected": (_event, data) => `  command REJECTED: ${textOf(data.reason) ?? "?"}`,
  "agent.presence": (event, data) => `agent ${event.agent} is ${textOf(data.state) ?? "?"}`,
}

/** What an event says, in words; holds text from outside as it is, to be shown through `visible`. */
export function sentence(event: AepEvent): string {
  const tell = Object.hasOwn(TELL, event.type) ? TELL[event.type] : undefined
  if (tell !== undefined) return tell(event, objectOf(event.data))
  return `${event.type}${event.subject === undefined ? "" : ` ${event.subject}`}`
}

function took(data: Json): string {
  const duration = numberOf(data.duration_ms)
  return duration === undefined ? "" : ` in ${duration} ms`
}

function spent(data: Json): string {
  const input = numberOf(data["gen_ai.usage.input_tokens"])
  const output = numberOf(data["gen_ai.usage.output_tokens"])
  const cost = numberOf(objectOf(data.cost).total)
  const parts = [
    ...(input === undefined && output === undefined ? [] : [`${input ?? 0} tokens in, ${output ?? 0} out`]),
    ...(cost === undefined ? [] : [`${cost} ${textOf(objectOf(data.cost).currency) ?? ""}`]),
  ]
  return `${took(data)}${parts.length === 0 ? "" : ` (${parts.join("; ")})`}`
}
