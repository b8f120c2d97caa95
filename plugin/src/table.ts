/**
 * The one table of what leaves the agent's process: per bus type forward or drop, which fields are kept, and
 * which plane a moment is of when a full queue must choose. Pure but for the memory it is given; it cuts single
 * fields only, the bound of a whole moment is `bound.ts`. Shapes as recorded from OpenCode 1.0.185, 1.18.33 and
 * Kilo 7.7.7.
 */
import type { MomentBody } from "../../shared/moments.ts"
import { asFields, type Fields, isFields } from "./fields.ts"
import { ask, boundMetadata, failure, type Keep, message, session, status, whole } from "./keep.ts"
import { part } from "./keep-part.ts"
import type { Memory } from "./memory.ts"

/** The hooks whose calls can become moments. */
export type HookName =
  | "event"
  | "tool.execute.before"
  | "tool.execute.after"
  | "chat.message"
  | "permission.ask"
  | "dispose"

/** `stream` goes first when the queue is full: its loss costs detail, not the state of a session. */
export type Plane = "stream" | "state"

type Drop = { verdict: "drop"; why: string }
type Forward = { verdict: "forward"; plane: Plane; keep: Keep }

const drop = (why: string): Drop => ({ verdict: "drop", why })
const state = (keep: Keep): Forward => ({ verdict: "forward", plane: "state", keep })
const stream = (keep: Keep): Forward => ({ verdict: "forward", plane: "stream", keep })

const BUS: ReadonlyMap<string, Drop | Forward> = new Map(
  Object.entries<Drop | Forward>({
    "message.part.delta": drop("one for each token"),
    "plugin.added": drop("some 45 at the first prompt"),
    "catalog.updated": drop("start-up noise"),
    "reference.updated": drop("start-up noise"),
    "integration.updated": drop("start-up noise"),
    "session.diff": drop("the content of every changed file"),

    "session.created": state(session),
    "session.updated": state(session),
    "session.deleted": state(session),
    "session.status": state(status),
    "session.idle": state(whole),
    "session.error": state(failure),
    "session.compacted": state(whole),

    "message.updated": state(message),
    "message.part.updated": state(part),
    "message.removed": stream(whole),
    "message.part.removed": stream(whole),

    "permission.asked": state(ask),
    "permission.updated": state(ask),
    "permission.v2.asked": state(ask),
    "permission.replied": state(whole),
    "permission.v2.replied": state(whole),
    "question.asked": state(whole),
    "question.replied": state(whole),
    "question.rejected": state(whole),
    "question.v2.asked": state(whole),
    "question.v2.replied": state(whole),
    "question.v2.rejected": state(whole),
    "todo.updated": state(whole),

    "command.executed": state(whole),
    "file.edited": stream(whole),
    "file.watcher.updated": stream(whole),
    "vcs.branch.updated": stream(whole),
    "tui.toast.show": stream(whole),
    "server.instance.disposed": state(whole),
  }),
)

/** Bus types without a row, and dropped ones when the stream is switched on. */
const OTHER = stream(whole)

/** A moment as the table lets it pass, with the dotted paths of what the table itself had to cut. */
export type TrimmedMoment = MomentBody & { cut?: string[] }

/**
 * What of a hook call is forwarded; undefined = nothing. `input` and `output` are the hook's two arguments, for
 * `event` the bus event itself. Never changes them, but the result shares their nested values: serialise it
 * before the agent goes on. Malformed input gives undefined. May throw when a getter of the agent's object does.
 */
export function trimMoment(
  hook: HookName,
  input: unknown,
  output: unknown,
  memory: Memory,
): TrimmedMoment | undefined {
  if (hook === "dispose") return { kind: "dispose" }
  if (!isFields(input)) return undefined
  switch (hook) {
    case "event":
      return trimBusEvent(input, memory)
    case "tool.execute.before":
      return isToolInput(input)
        ? { kind: "tool.before", input, output: isFields(output) ? output : {} }
        : undefined
    case "tool.execute.after":
      return isToolInput(input) ? { kind: "tool.after", input, output: output ?? {} } : undefined
    case "chat.message":
      return { kind: "chat.message", input, output: asFields(output) }
    case "permission.ask":
      return trimAsk(input)
  }
}

/** What is forwarded of the `permission.ask` hook's first argument. */
export function trimAsk(input: Fields): TrimmedMoment {
  const cut: string[] = []
  const permission = boundMetadata(input, "permission", cut)
  return withCut({ kind: "permission.ask", permission }, cut)
}

/** The plane of a hook call: everything but bus events decides the state of a session. */
export function planeOf(hook: HookName, input: unknown): Plane {
  if (hook !== "event") return "state"
  const { type, properties } = asFields(input)
  // Text and reasoning parts only come here when the stream is switched on.
  if (type === "message.part.updated" && asFields(asFields(properties).part).type !== "tool") return "stream"
  const row = BUS.get(`${type}`) ?? OTHER
  return row.verdict === "forward" ? row.plane : "stream"
}

/** True when the table never forwards this call, seen from its bus type alone: no field is read. */
export function isNoise(hook: HookName, input: unknown, memory: Memory): boolean {
  if (hook !== "event" || memory.stream) return false
  return BUS.get(`${asFields(input).type}`)?.verdict === "drop"
}

function trimBusEvent(event: Fields, memory: Memory): TrimmedMoment | undefined {
  const { id, type } = event
  if (typeof type !== "string") return undefined
  const row = BUS.get(type) ?? OTHER
  if (row.verdict === "drop" && !memory.stream) return undefined
  const { keep } = row.verdict === "forward" ? row : OTHER
  const cut: string[] = []
  const properties = keep(asFields(event.properties), memory, cut)
  if (properties === undefined) return undefined
  const told = typeof id === "string" ? { id, type, properties } : { type, properties }
  return withCut({ kind: "bus", event: told }, cut)
}

function withCut(body: MomentBody, cut: string[]): TrimmedMoment {
  return cut.length === 0 ? body : { ...body, cut }
}

function isToolInput(input: Fields): input is Fields & { tool: string; sessionID: string; callID: string } {
  return (
    typeof input.tool === "string" && typeof input.sessionID === "string" && typeof input.callID === "string"
  )
}
