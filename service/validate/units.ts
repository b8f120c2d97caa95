/**
 * What opens and ends once: runs, sessions, tool calls (AEP-0002 §2.1, §2.5), and the one decision on a command
 * (AEP-0004 §3). Ends count across all epochs. Zero terminals are legal, and so are later events; a second end is not.
 */
import { objectOf, textOf } from "../map/members.ts"
import type { Read, Rule } from "./event.ts"

const RUN_TERMINALS: ReadonlySet<string> = new Set(["run.finished", "run.failed", "run.cancelled"])
const TOOL_TERMINALS: ReadonlySet<string> = new Set(["tool.completed", "tool.failed", "tool.denied"])
const ACKS: ReadonlySet<string> = new Set(["control.accepted", "control.rejected"])

/** The value kept for a session and its owner, made on first use. */
function kept<T>(store: Map<number, T>, owner: number, make: () => T): T {
  const found = store.get(owner)
  if (found !== undefined) return found
  const made = make()
  store.set(owner, made)
  return made
}

interface Runs {
  byId: Map<string, { start?: number; end?: number }>
  /** The run that goes on; where runs overlap, the latest. */
  current?: { id: string; line: number }
}

/** At most one terminal for a run; strict also wants it opened once, before, alone, and ended before its session is. */
export function runs(): Rule {
  const sessions = new Map<number, Runs>()
  return ({ owner, type, run, line }, tell) => {
    const isTerminal = RUN_TERMINALS.has(type)
    if (owner === undefined || (type !== "run.started" && type !== "session.ended" && !isTerminal)) return
    const known = kept(sessions, owner, (): Runs => ({ byId: new Map() }))
    const { current } = known
    if (type === "session.ended") {
      if (current !== undefined) tell("run.open", `the run of line ${current.line} is still open`)
      return
    }
    if (run === undefined) {
      tell("run.unnamed", "the event names no run, so nothing can be said of how often it ends", "run")
      return
    }
    const seen = known.byId.get(run) ?? {}
    known.byId.set(run, seen)
    if (isTerminal) {
      if (seen.end !== undefined) tell("run.terminal", `the run ended in line ${seen.end} already`, "run")
      if (seen.start === undefined) tell("run.unopened", "the run ends and never started in this file", "run")
      seen.end ??= line
      if (current?.id === run) delete known.current
      return
    }
    if (seen.start !== undefined) tell("run.reopened", `the run started in line ${seen.start} already`, "run")
    else if (current !== undefined)
      tell("run.overlap", `the run of line ${current.line} is still open`, "run")
    seen.start ??= line
    known.current = { id: run, line }
  }
}

/** At most one `session.ended`; strict wants nothing but vendor types and acks after it. */
export function sessions(): Rule {
  const ended = new Map<number, number>()
  return ({ owner, type, line }, tell) => {
    if (owner === undefined) return
    const before = ended.get(owner)
    if (type !== "session.ended") {
      if (before !== undefined && !type.startsWith("x.") && !ACKS.has(type)) {
        tell("session.after-end", `the session ended in line ${before}`)
      }
    } else if (before === undefined) ended.set(owner, line)
    else tell("session.terminal", `the session ended in line ${before} already`)
  }
}

interface Call {
  line: number
  run: string | undefined
  end?: number
}
interface Calls {
  byRequest: Map<string, Call>
  /** The last request of each call id: vendors use them again. */
  byCallId: Map<string, Call>
  open: Set<Call>
}

/** Our own invariant: a requested call ends exactly once, by the end of its run and its session. Strict only. */
export function tools(): Rule {
  const all = new Map<number, Calls>()
  return (event, tell) => {
    const { owner, type } = event
    if (owner === undefined) return
    const calls = kept(
      all,
      owner,
      (): Calls => ({ byRequest: new Map(), byCallId: new Map(), open: new Set() }),
    )
    if (type === "tool.requested") {
      const callId = callIdOf(event)
      const earlier = callId === undefined ? undefined : calls.byCallId.get(callId)
      if (earlier !== undefined && calls.open.has(earlier)) {
        tell("tool.reopened", `the call of line ${earlier.line} has the same id and is still open`)
      }
      const call: Call = { line: event.line, run: event.run }
      calls.byRequest.set(event.id, call)
      if (callId !== undefined) calls.byCallId.set(callId, call)
      calls.open.add(call)
    } else if (TOOL_TERMINALS.has(type)) {
      const call = calls.byRequest.get(event.cause ?? "") ?? calls.byCallId.get(callIdOf(event) ?? "")
      if (call === undefined) {
        // A denied call was stopped before it was made, and may come alone (AEP-0002 §4.1).
        if (type !== "tool.denied")
          tell("tool.unrequested", "the call ends and was not requested in this file")
        return
      }
      if (call.end !== undefined) tell("tool.terminal", `the call ended in line ${call.end} already`)
      call.end ??= event.line
      calls.open.delete(call)
    } else if (type === "session.ended" || RUN_TERMINALS.has(type)) {
      for (const call of calls.open) {
        if (type !== "session.ended" && call.run !== event.run) continue
        tell("tool.open", `the call of line ${call.line} is still open`)
        // Told once: the session's end need not repeat what its run's end said.
        calls.open.delete(call)
      }
    }
  }
}

const callIdOf = (event: Read): string | undefined => textOf(objectOf(event.data?.tool).call_id)

/** One decision for each command, by whoever acks and the command's id. */
export function acks(): Rule {
  const decided = new Map<string, Map<string, number>>()
  return ({ type, source, cause, line }, tell) => {
    if (!ACKS.has(type)) return
    if (cause === undefined) {
      tell("ack.cause", "the ack names no command as its cause", "cause")
      return
    }
    const known = decided.get(source) ?? new Map<string, number>()
    decided.set(source, known)
    const before = known.get(cause)
    if (before === undefined) known.set(cause, line)
    else tell("ack.second", `line ${before} decided on the same command already`, "cause")
  }
}
