/**
 * Asks as a person elsewhere sees and answers them: the surfaces on which the real agents ask, the requests in the service's
 * record, an answer sent, and what came of it. What the agent itself did is looked at by the suites.
 */
import type { Commander } from "../agent/commander.ts"
import type { LoggedEvent, Service } from "../agent/service.ts"
import { AGENTS, type AgentVersion } from "../agent/versions.ts"
import { waitFor } from "../agent/wait.ts"
import { faultsOfLog } from "./log-rules.ts"

/** Every wait for the agent or the service. */
export const WAIT_MS = 20_000

/** One way in which one agent asks. */
export interface Surface {
  name: string
  agent: AgentVersion
  /** More of the agent's environment. */
  env: Record<string, string>
  allow: "once" | "allow"
  refuse: "reject" | "deny"
  /** The agent's dialog stays open beside the request. */
  hasDialog: boolean
  /** A reason reaches the model. */
  carriesReason: boolean
}

/** All of them. On 1.0 the hook is held while somebody can answer, unless that is switched off. */
export const SURFACES: readonly Surface[] = AGENTS.flatMap((agent): Surface[] => {
  const reply = { allow: "once", refuse: "reject", hasDialog: true } as const
  if (!agent.features.legacy) {
    return [{ name: `${agent.label} > reply route`, agent, env: {}, ...reply, carriesReason: true }]
  }
  return [
    {
      name: `${agent.label} > event`,
      agent,
      env: { AEP_OPENCODE_HOLD: "event" },
      ...reply,
      carriesReason: false,
    },
    {
      name: `${agent.label} > held hook`,
      agent,
      env: {},
      allow: "allow",
      refuse: "deny",
      hasDialog: false,
      carriesReason: false,
    },
  ]
})

/** The `nth` request of a session, once it stands in the record. */
export async function asked(service: Service, session: string, nth = 1): Promise<LoggedEvent> {
  const requests = (events: readonly LoggedEvent[]) =>
    events.filter(({ type }) => type === "attention.requested")
  const events = await service.until(session, `request ${nth}`, WAIT_MS, (now) => requests(now).length >= nth)
  const request = requests(events)[nth - 1]
  if (request === undefined) throw new Error("the request went missing")
  return request
}

/** Sends an answer to a request; the command's id. */
export function respond(
  commander: Commander,
  request: LoggedEvent,
  answer: Record<string, unknown>,
  members: Record<string, unknown> = {},
): string {
  const isWritten = answer.text !== undefined || answer.values !== undefined
  return commander.send("control.attention.respond", request.session, {
    subject: request.id,
    cause: request.id,
    capture: isWritten ? "redacted" : "metadata",
    data: { answer },
    ...members,
  })
}

/** The decision on a command as `accepted`, as reason and why, or as the code of the router that did not take it. */
export async function decision(commander: Commander, command: string): Promise<string> {
  const said = await commander.said(command)
  if ("code" in said) return String(said.code)
  const { type, data } = said as LoggedEvent
  return type === "control.accepted" ? "accepted" : [data?.reason, data?.why].join(" ")
}

/** How a request ended. */
export interface Ended {
  /** `answered`, `auto`, `dismissed` or `timeout`. */
  how: string
  answer?: unknown
  via?: unknown
  by?: unknown
  /** What caused the answer, or the end where there was none. */
  cause: string | undefined
}

/** The end of a request, once it stands in the record; everything that followed it is looked at. */
export async function ended(service: Service, request: LoggedEvent, deadlineMs = WAIT_MS): Promise<Ended> {
  const about = (events: readonly LoggedEvent[]) => events.filter(({ subject }) => subject === request.id)
  const isEnd = ({ type }: LoggedEvent) => type === "attention.resolved" || type === "attention.timeout"
  const events = await service.until(request.session, "end of the request", deadlineMs, (now) =>
    about(now).some(isEnd),
  )
  const [end, ...more] = about(events).filter(isEnd)
  if (end === undefined || more.length > 0) throw new Error(`${more.length + 1} ends of one request`)
  const answered = about(events).find(({ type }) => type === "attention.answered")
  const { answer, via, by } = answered?.data ?? {}
  return {
    how: end.type === "attention.timeout" ? "timeout" : String(end.data?.resolution),
    ...(answered === undefined ? {} : { answer, via, by }),
    cause: answered?.cause ?? end.cause,
  }
}

/** What the record says of a command's answer that was applied. */
export function byCommand(command: string, answer: Record<string, unknown>): Ended {
  return { how: "answered", answer, via: "control", by: "commander", cause: command }
}

/** Types of a session's events from the request on, without the agent's own. */
export function story(service: Service, session: string): string[] {
  const types = service.events(session).map(({ type }) => type)
  return types
    .slice(types.indexOf("attention.requested"))
    .filter((type) => !type.startsWith("x.") && type !== "progress.status")
}

/** Waits until the session's newest run has its terminal, and gives it. */
export async function runEnd(service: Service, session: string, nth = 1): Promise<LoggedEvent> {
  const ends = (events: readonly LoggedEvent[]) =>
    events.filter(({ type }) => /^run\.(finished|failed|cancelled)$/.test(type))
  const events = await service.until(session, `end of run ${nth}`, WAIT_MS, (now) => ends(now).length >= nth)
  const end = ends(events)[nth - 1]
  if (end === undefined) throw new Error("the run's end went missing")
  return end
}

/** Waits for a fact of the world. */
export const until = (what: string, holds: () => boolean | Promise<boolean>): Promise<boolean> =>
  waitFor(what, WAIT_MS, holds)

/** Waits until every log keeps the rules of any log; throws with what does not. */
export async function soundLogs(service: Service): Promise<void> {
  const faults = () => [...service.lines()].flatMap(([name, lines]) => faultsOfLog(name, lines))
  await waitFor(
    "sound logs",
    WAIT_MS,
    () => faults().length === 0,
    () => faults().join("\n"),
  )
}
