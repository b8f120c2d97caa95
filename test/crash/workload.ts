/**
 * What the agent of the crash suite does: sessions of several turns, a few at a time, mixed at random. Each moment
 * says which event it must leave in whose log, or that it must leave none, so that the record can be held against
 * it one by one. Shapes are those the plugin's table lets pass.
 */
import type { MomentBody } from "../../shared/moments.ts"
import type { Random } from "./random.ts"

/** A moment to feed, and what must come of it. */
export interface Deed {
  body: MomentBody
  /** The session whose log it belongs to; absent = the instance's own. */
  session?: string
  /** Type of an event it must leave there; absent = it must leave none. */
  event?: string
}

/** An endless stream of deeds. */
export interface Workload {
  next(): Deed
  /** Every session begun so far. */
  readonly sessions: ReadonlySet<string>
}

/** Sessions that go on side by side. */
const SIDE_BY_SIDE = 5
const MOST_TURNS = 3

/** A workload whose ids all start with `name`. */
export function createWorkload(name: string, random: Random): Workload {
  const sessions = new Set<string>()
  const going: Generator<Deed>[] = []
  const begin = () => {
    const session = `ses_${name}x${sessions.size}`
    sessions.add(session)
    return liveThrough(session, random)
  }
  return {
    sessions,
    next() {
      for (;;) {
        // Every hundredth deed or so belongs to no session.
        if (random.whole(0, 99) === 0) return edited(`${name}.txt`)
        while (going.length < SIDE_BY_SIDE) going.push(begin())
        const session = random.pick(going)
        const step = session.next()
        if (step.done !== true) return step.value
        going.splice(going.indexOf(session), 1)
      }
    },
  }
}

function* liveThrough(session: string, random: Random): Generator<Deed> {
  yield created(session)
  const turns = random.whole(1, MOST_TURNS)
  for (let turn = 0; turn < turns; turn += 1) yield* takeTurn(session, `${session}t${turn}`, random)
  if (random.whole(0, 1) === 0)
    yield told(session, "session.deleted", { info: { id: session } }, "session.ended")
}

/** The beginning of a session. */
export function created(session: string): Deed {
  const info = { id: session, time: { created: Date.now() } }
  return told(session, "session.created", { info }, "session.started")
}

/** One prompt and all that follows it, to its idle. */
export function* takeTurn(session: string, turn: string, random: Random): Generator<Deed> {
  yield {
    session,
    body: { kind: "chat.message", input: { sessionID: session }, output: { message: { id: `msg_${turn}` } } },
    event: "run.started",
  }
  yield told(session, "session.status", { status: { type: "busy" } }, "progress.status")
  yield told(session, "session.updated", { info: { id: session, title: "a title" } })
  const calls = random.whole(0, 3)
  for (let call = 0; call < calls; call += 1) yield* callTool(session, `call_${turn}c${call}`, random)
  const info = {
    id: `msg_${turn}a`,
    role: "assistant",
    finish: "stop",
    tokens: { input: random.whole(1, 900), output: random.whole(1, 900) },
    time: { created: 1, completed: 2 },
  }
  yield told(session, "message.updated", { info }, "x.opencode.message.updated")
  yield told(session, "session.idle", {}, "progress.status")
}

/** One tool call, perhaps with an ask. */
export function* callTool(session: string, call: string, random: Random): Generator<Deed> {
  const input = { tool: random.pick(["bash", "read", "edit"]), sessionID: session, callID: call }
  const args = { command: "x".repeat(random.whole(1, 4000)) }
  yield { session, body: { kind: "tool.before", input, output: { args } }, event: "tool.requested" }
  const part = {
    type: "tool",
    sessionID: session,
    callID: call,
    tool: input.tool,
    state: { status: "running" },
  }
  yield told(session, "message.part.updated", { part })
  if (random.whole(0, 2) === 0) {
    const request = `per_${call}`
    const asked = { id: request, permission: "bash", patterns: ["*"], tool: { callID: call } }
    yield told(session, "permission.asked", asked, "attention.requested")
    yield told(session, "permission.replied", { requestID: request, reply: "once" }, "attention.resolved")
  }
  const output = { title: "", output: "y".repeat(random.whole(0, 4000)), metadata: {} }
  yield { session, body: { kind: "tool.after", input, output }, event: "tool.completed" }
}

function told(session: string, type: string, properties: Record<string, unknown>, event?: string): Deed {
  const body: MomentBody = { kind: "bus", event: { type, properties: { sessionID: session, ...properties } } }
  return { session, body, ...(event === undefined ? {} : { event }) }
}

function edited(file: string): Deed {
  return {
    body: { kind: "bus", event: { type: "file.edited", properties: { file } } },
    event: "x.opencode.file.edited",
  }
}
