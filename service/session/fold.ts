/**
 * Rebuilds a session's state from its own events, one at a time. The same function runs on every event as it is
 * emitted and on every line read back at start, so that what is remembered is what the log says, by construction.
 * No IO, no clock.
 */
import { answerableOf } from "../attention/answer.ts"
import { countOf, type Json, listOf, numberOf, objectOf, textOf } from "../map/members.ts"
import type { Way } from "../map/request.ts"
import type { MarkNames } from "./marks.ts"
import { type EndedAsk, remember, rememberMember, type SessionState } from "./state.ts"

/** What the fold reads of an event: an envelope with its time as epoch milliseconds. */
export interface FoldedEvent {
  id: string
  type: string
  time: number
  source?: string
  subject?: string
  run?: string
  cause?: string
  data: Json
  /** Extension attributes. */
  extensions: Readonly<Record<string, unknown>>
}

/** Applies one event of the session to its state. */
export function fold(state: SessionState, event: FoldedEvent, marks: MarkNames): void {
  if (state.source === undefined && event.source !== undefined) state.source = event.source
  const instance = textOf(event.extensions[marks.instance])
  if (instance !== undefined) state.instance = instance
  const message = textOf(event.extensions[marks.message])
  if (message !== undefined) rememberMember(state.seenMessages, message)
  const step = STEPS[event.type.startsWith("x.") ? vendorStep(event.type) : event.type]
  step?.(state, event, marks)
}

type Step = (state: SessionState, event: FoldedEvent, marks: MarkNames) => void

/** `x.{vendor}.a.b` -> `x.a.b`: the vendor is data. */
function vendorStep(type: string): string {
  return `x.${type.slice(type.indexOf(".", 2) + 1)}`
}

const endRun: Step = (state, event) => {
  if (state.run?.id === event.run) delete state.run
}

const endTool: Step = (state, event) => {
  const call = textOf(objectOf(event.data.tool).call_id)
  if (call === undefined) return
  const how = textOf(objectOf(event.data.error).type)
  const open = state.tools.get(call)
  state.tools.delete(call)
  if (how === "aborted" && open !== undefined) remember(state.abortedTools, call, open.eventId)
  // Calls of one step run side by side: another one's end does not undo that a person stopped the loop.
  if (state.run !== undefined && (how === "rejected" || how === "dismissed")) state.run.stoppedBy = how
}

const closeAsk =
  (ended: (data: Json) => EndedAsk["how"]): Step =>
  (state, event) => {
    for (const [request, ask] of state.asks) {
      if (ask.eventId !== event.subject) continue
      state.asks.delete(request)
      const { eventId } = ask
      remember(state.endedAsks, request, { how: ended(event.data), eventId, terminal: event.id })
      // Kilo calls the tool of a dismissed question completed, so the question itself says that a person stopped
      // the loop. One that idle or an abort took away is closed when the run is idle or has its error.
      const { run } = state
      if (ask.kind === "form" && event.data.resolution === "dismissed" && run !== undefined) {
        if (run.idleAt === undefined) run.stoppedBy = "dismissed"
      }
    }
  }

const WAYS: readonly Way[] = ["reply", "legacy", "hook", "question"]

/** A log from before requests said so holds none that can be answered. */
function wayOf(mark: unknown, kind: "permission" | "form"): Way {
  return WAYS.find((way) => way === mark) ?? (kind === "form" ? "question" : "reply")
}

const STEPS: Readonly<Record<string, Step>> = {
  "session.started": (state, event) => {
    state.startedAt ??= event.time
    const parent = textOf(objectOf(event.data.parent).session)
    if (parent !== undefined) state.parent = parent
  },
  "session.ended": (state) => {
    state.ended = true
  },
  "run.started": (state, event) => {
    const id = event.run ?? event.id
    state.run = { id, eventId: event.id, startedAt: event.time, messages: new Map() }
    state.runs += 1
    delete state.candidate
  },
  "control.accepted": (state, event, marks) => {
    const ask = state.asks.get(textOf(event.extensions[marks.request]) ?? "")
    if (ask !== undefined && event.cause !== undefined) ask.accepted = event.cause
    if (textOf(event.extensions[marks.command])?.startsWith("cancel:") !== true) return
    if (state.run !== undefined && state.run.id === event.run && event.cause !== undefined) {
      state.run.cancel = event.cause
    }
  },
  "run.finished": endRun,
  "run.failed": endRun,
  "run.cancelled": endRun,
  "tool.requested": (state, event) => {
    const tool = objectOf(event.data.tool)
    const call = textOf(tool.call_id)
    if (call === undefined) return
    state.tools.set(call, { name: textOf(tool.name) ?? "", eventId: event.id, at: event.time })
    remember(state.strangerCalls, call, "hook")
  },
  "tool.completed": endTool,
  "tool.failed": endTool,
  "tool.denied": endTool,
  "attention.requested": (state, event, marks) => {
    const request = textOf(event.extensions[marks.request])
    if (request === undefined) return
    const call = textOf(event.extensions[marks.call])
    const kind = event.data.kind === "form" ? "form" : "permission"
    const expiresAt = Date.parse(textOf(event.data.expires_at) ?? "")
    state.asks.set(request, {
      kind,
      eventId: event.id,
      at: event.time,
      ...answerableOf(wayOf(event.extensions[marks.way], kind), event.data),
      isAnswerable: listOf(event.data.respond_via).includes("control"),
      ...(call === undefined ? {} : { callID: call }),
      ...(Number.isNaN(expiresAt) ? {} : { expiresAt }),
    })
  },
  "attention.answered": (state, event) => {
    const reply = textOf(objectOf(event.data.answer).option)
    if (reply === undefined) return
    const ask = [...state.asks.values()].find(({ eventId }) => eventId === event.subject)
    // A form's one option dismisses it, which ends the loop; it takes no other ask along.
    if (ask?.kind !== "form") state.lastReply = { at: event.time, reply }
    else if (state.run !== undefined && state.run.idleAt === undefined) state.run.stoppedBy = "dismissed"
  },
  "attention.resolved": closeAsk((data) => (data.resolution === "dismissed" ? "void" : "settled")),
  "attention.timeout": closeAsk(() => "expired"),
  "progress.status": (state, event) => {
    if (event.subject === undefined) return
    state.status = event.subject
    if (state.run === undefined) return
    if (event.subject === "idle") state.run.idleAt = event.time
    else delete state.run.idleAt
  },
  "progress.task.planned": (state, event, marks) => {
    const id = event.subject
    if (id === undefined) return
    const key = textOf(event.extensions[marks.todo]) ?? ""
    const rest = state.todos.filter((todo) => todo.id !== id)
    state.todos = [...rest, { id, key, completed: false }]
    const counted = /^t(\d+)$/.exec(id)
    if (counted !== null && key !== "") state.todoCounter = Math.max(state.todoCounter, Number(counted[1]))
  },
  "progress.task.completed": (state, event) => {
    const todo = state.todos.find((known) => known.id === event.subject)
    if (todo !== undefined) todo.completed = true
  },
  "delegation.subagent.started": (state, event) => {
    for (const tool of state.tools.values()) {
      if (tool.eventId !== event.cause) continue
      if (event.subject !== undefined) tool.child = event.subject
      tool.childEventId = event.id
    }
  },
  "delegation.subagent.stopped": (state, event) => {
    for (const tool of state.tools.values()) {
      if (tool.childEventId === event.cause) delete tool.childEventId
    }
  },
  "x.session.linked": (state, event) => {
    const parent = textOf(objectOf(event.data.parent).session)
    if (parent !== undefined) state.parent ??= parent
  },
  "x.tool.late": (state, event) => {
    const call = textOf(objectOf(event.data.tool).call_id)
    if (call !== undefined) state.abortedTools.delete(call)
  },
  "x.session.error": (state, event) => {
    const name = textOf(event.data.type)
    if (state.run !== undefined && name !== undefined) state.run.error = name
  },
  "x.message.updated": (state, event, marks) => {
    const id = textOf(event.extensions[marks.message])
    if (state.run === undefined || id === undefined || event.data.role !== "assistant") return
    const finish = textOf(event.data.finish)
    const error = textOf(event.data.error)
    const input = countOf(event.data["gen_ai.usage.input_tokens"])
    const output = countOf(event.data["gen_ai.usage.output_tokens"])
    const cost = numberOf(objectOf(event.data.cost).total)
    // The loop goes on to another step, so nobody stopped it (a refusal with a word for the model does not).
    if (!state.run.messages.has(id)) delete state.run.stoppedBy
    state.run.messages.set(id, {
      ...(finish === undefined ? {} : { finish }),
      ...(error === undefined ? {} : { error }),
      ...(input === undefined ? {} : { input }),
      ...(output === undefined ? {} : { output }),
      ...(cost === undefined ? {} : { cost }),
      compaction: event.data.compaction === true,
    })
  },
}
