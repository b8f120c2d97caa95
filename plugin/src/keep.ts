/**
 * Which fields of a bus event are forwarded: one function a family of types, named in the table. Each takes the
 * event's properties and gives the kept ones, or undefined when the event says nothing new. They change nothing
 * and may share nested values with the agent's object: the caller serialises at once.
 */
import { clipStrings, clipText } from "./clip.ts"
import { asFields, asText, type Fields, pick } from "./fields.ts"
import { type Memory, remember } from "./memory.ts"

/** Keeps some properties of an event; appends to `cuts` the dotted path of every string it had to cut. */
export type Keep = (properties: Fields, memory: Memory, cuts: string[]) => Fields | undefined

/** Bound of each string in an ask's metadata (a write carries its whole diff there), in characters. */
export const METADATA_STRING = 4096
/** Bound of the text of an error, in characters. */
export const ERROR_STRING = 8192

const PROPERTIES = "event.properties"
const SESSION = ["id", "version", "parentID", "directory", "title", "time", "projectID"]
const MESSAGE = [
  ...["id", "role", "sessionID", "parentID", "mode", "agent", "cost", "tokens"],
  ...["modelID", "providerID", "model", "time", "finish"],
]

/** Everything as it is. */
export const whole: Keep = (properties) => properties

/** `session.created/updated/deleted`: who and where; never `summary`, `revert` or `permission`. */
export const session: Keep = (properties) => ({
  ...pick(properties, ["sessionID"]),
  info: pick(asFields(properties.info), SESSION),
})

/** `session.status`: only a change of type, or the next attempt of a retry; `busy` repeats within a turn. */
export const status: Keep = (properties, memory) => {
  const id = asText(properties.sessionID) ?? ""
  const now = asFields(properties.status)
  const told = now.type === "retry" ? `retry ${now.attempt}` : `${now.type}`
  if (memory.status.get(id) === told) return undefined
  remember(memory.status, id, told)
  return properties
}

/** `session.error`: the error without response body and headers. */
export const failure: Keep = (properties, _memory, cuts) => ({
  ...pick(properties, ["sessionID"]),
  error: trimError(properties.error, `${PROPERTIES}.error`, cuts),
})

/** `message.updated`: the message's facts. `summary.diffs` holds every changed file again and never leaves. */
export const message: Keep = (properties, _memory, cuts) => {
  const info = asFields(properties.info)
  const kept = pick(info, MESSAGE)
  if (info.error !== undefined) kept.error = trimError(info.error, `${PROPERTIES}.info.error`, cuts)
  if (info.role === "user") {
    if (info.summary !== undefined) kept.summarised = true
  } else if (info.summary === true) kept.summary = true
  return { ...pick(properties, ["sessionID"]), info: kept }
}

/** An ask: whole, but each string of its metadata is cut to 4096 characters; every key stays. */
export const ask: Keep = (properties, _memory, cuts) => boundMetadata(properties, PROPERTIES, cuts)

/** The ask of the 1.0 hook or a bus ask with the strings of its `metadata` bounded, whose path is `path`. */
export function boundMetadata(request: Fields, path: string, cuts: string[]): Fields {
  if (request.metadata === undefined) return request
  const metadata = clipStrings(request.metadata, METADATA_STRING, `${path}.metadata`, cuts)
  return metadata === request.metadata ? request : { ...request, metadata }
}

function trimError(error: unknown, path: string, cuts: string[]): unknown {
  const { name, data } = asFields(error)
  const kept = pick(asFields(data), ["message", "statusCode", "isRetryable"])
  if (typeof kept.message === "string" && kept.message.length > ERROR_STRING) {
    kept.message = clipText(kept.message, ERROR_STRING)
    cuts.push(`${path}.data.message`)
  }
  return { ...(name === undefined ? {} : { name }), data: kept }
}
