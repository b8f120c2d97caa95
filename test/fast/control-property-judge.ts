/**
 * Holds the record of one run against what truly happened: one end a request and before the session's, no consent that nobody
 * gave, one decision a command whose bytes never change. Imports nothing of the product.
 */
import type { Ask, Truth } from "./control-property-model.ts"

/** An event of the record, with its line. */
export interface Line {
  id: string
  type: string
  session?: string
  subject?: string
  cause?: string
  data?: Record<string, unknown>
  [attribute: string]: unknown
}

/** A command as it was sent. `isDue`: somebody was there to decide, and nothing made that undone. */
export interface Sent {
  id: string
  /** Id of the event it is about. */
  subject: string
  answer: Record<string, unknown>
  isDue: boolean
}

/** A decision as it came down. `isLate`: no request of its ask was open in the record any more. */
export interface CameDown {
  ask: string
  command: string
  isPermissive: boolean
  isLate: boolean
}

/** All that is known of one run. */
export interface Evidence {
  /** Lines of each session, in order. */
  logs: readonly (readonly string[])[]
  asks: readonly Ask[]
  sent: readonly Sent[]
  cameDown: readonly CameDown[]
  /** Decisions that were told again. */
  repeated: readonly string[]
}

const CONSENTS = new Set(["once", "always", "allow", "allow once"])
const ENDS = new Set(["attention.resolved", "attention.timeout"])
const ACKS = new Set(["control.accepted", "control.rejected"])

/** What is wrong, one sentence each; nothing where all is as it should be. */
export function faultsOf(evidence: Evidence): string[] {
  const faults: string[] = []
  const lines = evidence.logs.flat()
  const requests = new Map<string, { ask: string; ends: number }>()
  for (const log of evidence.logs) faults.push(...faultsOfLog(log.map(parse), evidence, requests))
  for (const [id, { ends }] of requests) if (ends !== 1) faults.push(`request ${id} has ${ends} ends`)
  faults.push(...faultsOfDecisions(lines, evidence))
  faults.push(...faultsOfWayDown(evidence, requests))
  return faults
}

function faultsOfLog(
  events: readonly Line[],
  { asks }: Evidence,
  requests: Map<string, { ask: string; ends: number }>,
): string[] {
  const faults: string[] = []
  const answered = new Map<string, number>()
  let isOver = false
  for (const event of events) {
    const { type, subject = "" } = event
    if (type === "attention.requested")
      requests.set(event.id, { ask: String(event.opencoderequest), ends: 0 })
    if (type === "session.ended") isOver = true
    if (isOver && type.startsWith("attention.")) faults.push(`${type} of ${subject} after the session's end`)
    const request = requests.get(subject)
    if (ENDS.has(type)) {
      if (request === undefined) faults.push(`an end of ${subject}, which nobody asked`)
      else request.ends += 1
    }
    if (type !== "attention.answered") continue
    answered.set(subject, (answered.get(subject) ?? 0) + 1)
    if (request === undefined || request.ends > 0) faults.push(`an answer to ${subject}, which is not open`)
    const truth = asks.find(({ id }) => id === request?.ask)?.truth
    faults.push(...faultsOfAnswer(event, truth))
  }
  for (const [subject, count] of answered) if (count > 1) faults.push(`${count} answers to ${subject}`)
  return faults
}

function faultsOfAnswer({ subject, cause, data = {} }: Line, truth: Truth | undefined): string[] {
  const { option, values } = (data.answer ?? {}) as Record<string, unknown>
  const isConsent = CONSENTS.has(String(option)) || values !== undefined
  if (truth === undefined) return [`an answer to ${subject} that the agent never got`]
  const faults: string[] = []
  if (isConsent && !truth.permissive) faults.push(`a consent to ${subject} that nobody gave`)
  const byCommand = data.via === "control"
  if (byCommand !== (truth.by === "command")) faults.push(`an answer to ${subject} told as ${data.via}`)
  if (byCommand && truth.command !== cause) faults.push(`an answer to ${subject} caused by ${cause}`)
  return faults
}

function faultsOfDecisions(lines: readonly string[], { sent, repeated }: Evidence): string[] {
  const faults: string[] = []
  const decisions = new Map<string, string[]>()
  for (const line of lines) {
    const { type, cause = "" } = parse(line)
    if (ACKS.has(type)) decisions.set(cause, [...(decisions.get(cause) ?? []), line])
  }
  for (const [command, told] of decisions) {
    if (told.length > 1) faults.push(`${told.length} decisions on ${command}`)
    if (!sent.some(({ id }) => id === command)) faults.push(`a decision on ${command}, which nobody sent`)
  }
  for (const { id, isDue } of sent) if (isDue && !decisions.has(id)) faults.push(`no decision on ${id}`)
  for (const line of repeated) {
    const { cause = "" } = parse(line)
    if (decisions.get(cause)?.[0] !== line) faults.push(`a decision on ${cause} told again with other bytes`)
  }
  return faults
}

/** What came down was wanted by the command that it names, of that very ask, and while it was open. */
function faultsOfWayDown(
  { cameDown, sent, asks }: Evidence,
  requests: ReadonlyMap<string, { ask: string }>,
): string[] {
  const faults: string[] = []
  for (const { ask, command, isPermissive, isLate } of cameDown) {
    if (isLate) faults.push(`a decision of ${command} after the end of ${ask}`)
    const wanted = sent.find(({ id }) => id === command)
    if (wanted === undefined) faults.push(`a decision of ${command}, which nobody sent`)
    else if (requests.get(wanted.subject)?.ask !== ask) faults.push(`the answer of ${command} went to ${ask}`)
    else if (isPermissive && !consents(wanted.answer, asks.find(({ id }) => id === ask)?.family))
      faults.push(`a consent in the name of ${command}`)
  }
  return faults
}

/** To a form everything is an answer but its dismissal; to an ask only what names a consent. */
function consents({ option, text, values }: Record<string, unknown>, family: string | undefined): boolean {
  const said = String(option ?? text ?? "")
    .trim()
    .toLowerCase()
  if (family === "question") return values !== undefined || (said !== "" && said !== "reject")
  return CONSENTS.has(said)
}

function parse(line: string): Line {
  return JSON.parse(line)
}
