/**
 * Which message parts are forwarded and what of them: the stream of text, reasoning and tool output stays in the
 * agent, the states of a tool call and the marks of synthetic text and compaction go up. Named in the table.
 */
import { clipText } from "./clip.ts"
import { asFields, asText, type Fields, isFields, pick } from "./fields.ts"
import { ERROR_STRING, type Keep } from "./keep.ts"
import { type Memory, remember } from "./memory.ts"

const IDS = ["type", "id", "messageID", "sessionID"]

/** `message.part.updated`. With the stream switched on every part goes whole. */
export const part: Keep = (properties, memory, cuts) => {
  if (memory.stream) return properties
  const kept = trimPart(asFields(properties.part), memory, cuts)
  return kept === undefined ? undefined : { ...pick(properties, ["sessionID", "time"]), part: kept }
}

function trimPart(source: Fields, memory: Memory, cuts: string[]): Fields | undefined {
  switch (source.type) {
    case "step-start":
    case "step-finish":
    case "snapshot":
    case "patch":
    case "reasoning":
      return undefined
    case "text":
      // The agent's own insertions look like prompts; their mark is needed to tell them apart, their text is not.
      return source.synthetic === true ? pick(source, [...IDS, "synthetic"]) : undefined
    case "tool":
      return trimTool(source, memory, cuts)
    case "file":
      // A file's `url` is its whole content.
      return pick(source, [...IDS, "mime", "filename"])
    default:
      return source
  }
}

function trimTool(source: Fields, memory: Memory, cuts: string[]): Fields | undefined {
  const state = asFields(source.state)
  const kept = pick(source, [...IDS, "tool", "callID"])
  const id = asText(source.id) ?? asText(source.callID) ?? ""
  switch (state.status) {
    case "pending":
      return undefined
    case "running":
      return hasNews(id, state, memory) ? { ...kept, state: trimRunning(state) } : undefined
    case "completed":
      memory.running.delete(id)
      // The output is carried by `tool.execute.after`.
      return { ...kept, state: trimState(state, ["status", "input", "title", "time"], COMPLETED) }
    case "error":
      memory.running.delete(id)
      return { ...kept, state: trimErrorState(state, cuts) }
    default:
      return source
  }
}

const COMPLETED = ["sessionId", "exit", "truncated"]

/** A running part is repeated for each chunk of output: told are the first, its arguments, and its sub-agent. */
function hasNews(id: string, state: Fields, memory: Memory): boolean {
  const told = memory.running.get(id)
  const input = isFields(state.input) && Object.keys(state.input).length > 0
  const child = asFields(state.metadata).sessionId !== undefined
  if (told !== undefined && !(input && !told.input) && !(child && !told.child)) return false
  remember(memory.running, id, { input: input || told?.input === true, child: child || told?.child === true })
  return true
}

function trimRunning(state: Fields): Fields {
  return trimState(state, ["status", "input", "title", "time"], ["sessionId", "description"])
}

function trimState(state: Fields, keys: readonly string[], metadataKeys: readonly string[]): Fields {
  const metadata = pick(asFields(state.metadata), metadataKeys)
  const kept = pick(state, keys)
  return Object.keys(metadata).length === 0 ? kept : { ...kept, metadata }
}

function trimErrorState(state: Fields, cuts: string[]): Fields {
  if (typeof state.error !== "string" || state.error.length <= ERROR_STRING) return state
  cuts.push("event.properties.part.state.error")
  return { ...state, error: clipText(state.error, ERROR_STRING) }
}
