/**
 * The record as it stands on disk, and what must hold of any record: every line an event, no position twice, no
 * second terminal, one group of lines for each moment and session. Reads only; knows nothing of processes.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Deed } from "./workload.ts"

/** One line. */
export interface Line {
  id: string
  type: string
  session: string
  epoch: number
  seq: number
  subject?: string
  run?: string
  cause?: string
  data?: Record<string, unknown>
  opencodeinstance?: string
  opencodemoment?: number
  opencodemore?: number
}

/** All sessions' lines in order, by session; the agent's own log is under the empty name. */
export type SessionRecord = ReadonlyMap<string, readonly Line[]>

/** Reads every log. `whole` = nobody writes now, so that a line without its end is a fault as well. */
export function readRecord(logs: string, whole: boolean): SessionRecord {
  const record = new Map<string, Line[]>()
  const folder = join(logs, "opencode")
  if (!existsSync(folder)) return record
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), "utf8")
    const end = text.lastIndexOf("\n") + 1
    if (whole && end !== text.length) throw new Error(`${name} ends in the middle of a line`)
    const lines = text
      .slice(0, end)
      .split("\n")
      .slice(0, -1)
      .map((line, index) => parse(name, index, line))
    record.set(name.startsWith("_") ? "" : name.slice(0, -".jsonl".length), lines)
  }
  return record
}

function parse(name: string, index: number, line: string): Line {
  try {
    return JSON.parse(line) as Line
  } catch {
    // The parser's own words quote the line and do not say where it stands.
    throw new Error(`line ${index + 1} of ${name} is no JSON`)
  }
}

/** What is wrong with the order, the terminals and the groups of a record; empty = nothing. */
export function faultsOf(record: SessionRecord): string[] {
  const faults: string[] = []
  const ids = new Set<string>()
  for (const [session, lines] of record) {
    for (const { id } of lines) {
      if (ids.has(id)) faults.push(`${session}: event id ${id} twice`)
      ids.add(id)
    }
    if (session === "") continue
    faults.push(
      ...orderFaults(session, lines),
      ...terminalFaults(session, lines),
      ...groupFaults(session, lines),
    )
  }
  return faults
}

function orderFaults(session: string, lines: readonly Line[]): string[] {
  const faults: string[] = []
  let before: Line | undefined
  for (const line of lines) {
    if (line.session !== session) faults.push(`${session}: a line of ${line.session}`)
    const later =
      before === undefined ||
      line.epoch > before.epoch ||
      (line.epoch === before.epoch && line.seq > before.seq)
    if (!later)
      faults.push(`${session}: (${line.epoch}, ${line.seq}) after (${before?.epoch}, ${before?.seq})`)
    before = line
  }
  return faults
}

const RUN_ENDS = ["run.finished", "run.failed", "run.cancelled"]
const TOOL_ENDS = ["tool.completed", "tool.failed", "tool.denied"]
const ASK_ENDS = ["attention.resolved", "attention.timeout"]

function terminalFaults(session: string, lines: readonly Line[]): string[] {
  const begun = new Set(lines.map(({ id }) => id))
  const ended = new Map<string, number>()
  let starts = 0
  let ends = 0
  for (const line of lines) {
    starts += line.type === "session.started" ? 1 : 0
    ends += line.type === "session.ended" ? 1 : 0
    const of = ASK_ENDS.includes(line.type)
      ? line.subject
      : RUN_ENDS.includes(line.type) || TOOL_ENDS.includes(line.type)
        ? line.cause
        : undefined
    if (of === undefined) continue
    ended.set(of, (ended.get(of) ?? 0) + 1)
  }
  return [
    ...(starts > 1 ? [`${session}: ${starts} session.started`] : []),
    ...(ends > 1 ? [`${session}: ${ends} session.ended`] : []),
    ...[...ended].flatMap(([id, times]) => [
      ...(times > 1 ? [`${session}: ${times} terminals of ${id}`] : []),
      ...(begun.has(id) ? [] : [`${session}: a terminal of ${id}, which is not there`]),
    ]),
  ]
}

/** One moment's lines stand together, count down, and come once. */
function groupFaults(session: string, lines: readonly Line[]): string[] {
  const faults: string[] = []
  const closed = new Set<string>()
  let open: { name: string; left: number } | undefined
  for (const line of lines) {
    const name = markOf(line)
    if (open !== undefined && (name !== open.name || (line.opencodemore ?? 0) !== open.left)) {
      faults.push(`${session}: the lines of moment ${open.name} break off`)
      open = undefined
    }
    if (name === undefined) continue
    if (open === undefined && closed.has(name)) faults.push(`${session}: moment ${name} twice`)
    closed.add(name)
    const more = line.opencodemore ?? 0
    open = more === 0 ? undefined : { name, left: more - 1 }
  }
  return faults
}

function markOf(line: Line): string | undefined {
  return line.opencodemoment === undefined ? undefined : `${line.opencodeinstance}/${line.opencodemoment}`
}

/** What one instance was promised: everything below `acknowledged` is in the record. */
export interface Promised {
  instance: string
  fed: readonly Deed[]
  acknowledged: number
}

/** Acknowledged moments whose lines are absent or are not theirs, and silent ones that spoke. */
export function brokenPromises(record: SessionRecord, { instance, fed, acknowledged }: Promised): string[] {
  const spoken = new Map<string, string[]>()
  for (const [session, lines] of record) {
    for (const line of lines) {
      if (line.opencodeinstance !== instance || line.opencodemoment === undefined) continue
      const name = `${session}/${line.opencodemoment}`
      spoken.set(name, [...(spoken.get(name) ?? []), line.type])
    }
  }
  return fed.slice(0, acknowledged).flatMap((deed, n) => {
    const types = spoken.get(`${deed.session ?? `instance-${instance}`}/${n}`) ?? []
    if (deed.event === undefined) return types.length === 0 ? [] : [`${instance}/${n} spoke: ${types}`]
    const times = types.filter((type) => type === deed.event).length
    return times === 1 ? [] : [`${instance}/${n}: ${deed.event} ${times} times among [${types}]`]
  })
}

/** Sessions that used another epoch than 0. */
export function raisedEpochs(record: SessionRecord): string[] {
  return [...record].flatMap(([session, lines]) => (lines.some(({ epoch }) => epoch !== 0) ? [session] : []))
}
