/**
 * The only place where envelopes are built (AEP-0001 §5). Finished parts in, an event and its JSON line out, or
 * a refusal that names the attribute. It decides nothing about sequence, capture or content, and writes
 * nothing. Runs for every event: cheap checks, no schema. Tests hold every event it builds against the schemas.
 */
import {
  AEP_VERSION,
  type AepEvent,
  CAPTURES,
  type Capture,
  EXTENSION_NAME,
  type ExtensionValue,
  fieldsOf,
  isCoreAttribute,
  isExtensionValue,
  placementOf,
  SEVERITIES,
  type Severity,
  TRACEPARENT,
  TYPE,
  URI,
} from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import { severityOf } from "./severity.ts"

/** The parts of one event. An absent optional part is left out of the envelope; null is never legal. */
export interface EnvelopeParts {
  /** Unique per source, minted by the caller; a ULID. */
  id: string
  type: string
  subject?: string
  /** Epoch milliseconds. */
  time: number
  /** A URI, from `sessionSource` or `agentSource`. */
  source: string
  agent: string
  session?: string
  run?: string
  step?: string
  seq?: number
  /** 0 when absent. */
  epoch?: number
  cause?: string
  traceparent?: string
  /** The type's own severity when absent. */
  severity?: Severity
  capture: Capture
  /** Gated payload. Must be JSON; it is neither copied nor changed. */
  data?: Record<string, unknown>
  /** Extension attributes (AEP-0001 §5.4), by name. */
  extensions?: Readonly<Record<string, ExtensionValue>>
}

/**
 * Why no envelope was built. `missing`: needed and absent; `ill-formed`: there, but not legal; `forbidden`:
 * there, but this type must not carry it; `unregistered`: a core name that is not in the registry or reserved;
 * `collision`: an extension under a core name; `unserialisable`: the payload is no JSON.
 */
export type RefusalCode =
  | "missing"
  | "ill-formed"
  | "forbidden"
  | "unregistered"
  | "collision"
  | "unserialisable"

/** A refusal; `detail` says what is accepted and never repeats a value. */
export interface Refusal {
  kind: "refused"
  code: RefusalCode
  /** The attribute or extension name, shortened. */
  field: string
  detail: string
}

/** The event, and the same as JSON on one line without its newline. */
export interface Built {
  kind: "built"
  event: AepEvent
  line: string
}

/** Last millisecond of the year 9999; RFC 3339 has four-digit years. */
const MAX_TIME = 253_402_300_799_999
/** Legal in JSON, but many readers split lines at them. */
const LINE_BREAKS = /[\u0085\u2028\u2029]/g

const refuse = (code: RefusalCode, field: string, detail: string): Refusal => ({
  kind: "refused",
  code,
  field: field.slice(0, 40),
  detail,
})

/**
 * Builds an event, attributes in the order of the specification's table, extensions before `data`. `epoch`,
 * `severity` and `capture` are always written. Refuses what is ill-formed, never repairs or overwrites it
 * (AEP-0001 §5.4). Not checked: that the payload fits its schema and its capture level, which is the gate's.
 */
export function buildEnvelope(parts: EnvelopeParts): Built | Refusal {
  const refusal = checkType(parts) ?? checkAttributes(parts) ?? checkExtensions(parts.extensions)
  if (refusal !== undefined) return refusal
  const event: Partial<AepEvent> = { aep: AEP_VERSION, id: parts.id, type: parts.type }
  if (parts.subject !== undefined) event.subject = parts.subject
  event.time = new Date(parts.time).toISOString()
  event.source = parts.source
  event.agent = parts.agent
  if (parts.session !== undefined) event.session = parts.session
  if (parts.run !== undefined) event.run = parts.run
  if (parts.step !== undefined) event.step = parts.step
  if (parts.seq !== undefined) event.seq = parts.seq
  event.epoch = parts.epoch ?? 0
  if (parts.cause !== undefined) event.cause = parts.cause
  if (parts.traceparent !== undefined) event.traceparent = parts.traceparent
  event.severity = parts.severity ?? severityOf(parts.type)
  event.capture = parts.capture
  if (parts.extensions !== undefined) Object.assign(event, parts.extensions)
  if (parts.data !== undefined) event.data = parts.data
  const line = toLine(event)
  if (line === undefined) {
    return refuse("unserialisable", "data", "the payload has a cycle, a bigint or too many levels; give JSON")
  }
  // Every required attribute was set above.
  return { kind: "built", event: event as AepEvent, line }
}

/** One line whatever the content says: the separators that JSON leaves bare are escaped. */
function toLine(event: Partial<AepEvent>): string | undefined {
  try {
    const line = JSON.stringify(event)
    if (line.search(LINE_BREAKS) === -1) return line
    return line.replace(LINE_BREAKS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`)
  } catch {
    // Only `data` can bring this about, and the caller is told so by name.
    return undefined
  }
}

const isName = (value: unknown) => typeof value === "string" && value !== ""
const isCounter = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0

function checkType(parts: EnvelopeParts): Refusal | undefined {
  const { type } = parts
  if (typeof type !== "string" || !TYPE.test(type)) {
    return refuse(
      "ill-formed",
      "type",
      "give {category}.{name} or x.{vendor}.{category}.{name} in lower case",
    )
  }
  if (!type.startsWith("x.") && fieldsOf(type) === undefined) {
    return refuse(
      "unregistered",
      "type",
      "the registry has no such type to emit; vendor facts go under x.{vendor}",
    )
  }
  const placement = placementOf(type)
  if (placement === "agent") {
    for (const field of ["session", "run", "step", "seq"] as const) {
      if (parts[field] !== undefined) return refuse("forbidden", field, "agent-scoped events omit it")
    }
    return undefined
  }
  if (parts.session === undefined) return refuse("missing", "session", "session events name their session")
  if (placement === "foreign") {
    return parts.seq === undefined
      ? undefined
      : refuse("forbidden", "seq", "only a session's owner counts in it")
  }
  return parts.seq === undefined ? refuse("missing", "seq", "session events carry their position") : undefined
}

const REQUIRED_NAMES = ["id", "source", "agent"] as const
const OPTIONAL_NAMES = ["subject", "session", "run", "step", "cause"] as const
const severities: ReadonlySet<unknown> = new Set(SEVERITIES)
const captures: ReadonlySet<unknown> = new Set(CAPTURES)

function checkAttributes(parts: EnvelopeParts): Refusal | undefined {
  for (const field of REQUIRED_NAMES) {
    if (parts[field] === undefined) return refuse("missing", field, "give a non-empty text")
    if (!isName(parts[field])) return refuse("ill-formed", field, "give a non-empty text")
  }
  for (const field of OPTIONAL_NAMES) {
    const value = parts[field]
    if (value !== undefined && !isName(value)) {
      return refuse("ill-formed", field, "give a non-empty text, or leave it out")
    }
  }
  if (!URI.test(parts.source))
    return refuse("ill-formed", "source", "give a URI such as aep://host/agent/name")
  if (!Number.isFinite(parts.time) || parts.time < 0 || parts.time > MAX_TIME) {
    return refuse("ill-formed", "time", "give epoch milliseconds between the years 1970 and 9999")
  }
  for (const field of ["seq", "epoch"] as const) {
    const value = parts[field]
    if (value !== undefined && !isCounter(value))
      return refuse("ill-formed", field, "give a whole number from 0 on")
  }
  if (parts.traceparent !== undefined && !TRACEPARENT.test(parts.traceparent)) {
    return refuse("ill-formed", "traceparent", "give the value of a W3C traceparent header")
  }
  if (parts.severity !== undefined && !severities.has(parts.severity)) {
    return refuse("ill-formed", "severity", `give one of ${SEVERITIES.join(", ")}`)
  }
  if (!captures.has(parts.capture))
    return refuse("ill-formed", "capture", `give one of ${CAPTURES.join(", ")}`)
  if (parts.data === undefined) return undefined
  if (!isObject(parts.data)) return refuse("ill-formed", "data", "give an object, or leave it out")
  return parts.capture === "none" ? refuse("forbidden", "data", "capture none carries no payload") : undefined
}

function checkExtensions(extensions: EnvelopeParts["extensions"]): Refusal | undefined {
  if (extensions === undefined) return undefined
  for (const name of Object.keys(extensions)) {
    const value = extensions[name]
    if (!EXTENSION_NAME.test(name)) {
      return refuse("ill-formed", name, "name an extension with 1 to 20 lower-case letters and digits")
    }
    if (isCoreAttribute(name)) return refuse("collision", name, "the envelope owns this name; choose another")
    if (!isExtensionValue(value)) return refuse("ill-formed", name, "give a string, an integer or a boolean")
  }
  return undefined
}

// A lone surrogate has no UTF-8 form, on which `encodeURIComponent` would throw.
const segment = (text: string) => encodeURIComponent(text.toWellFormed())

/**
 * The `source` of a session's events (AEP-0001 §5.1): the same for all the session's life, restarts included,
 * because consumers key sessions by it. Each part is escaped, whatever the vendor's id contains.
 */
export const sessionSource = (host: string, agent: string, session: string): string =>
  `${agentSource(host, agent)}/session/${segment(session)}`

/** The `source` of events in no session of the agent's own: presence, health, commands. */
export const agentSource = (host: string, agent: string): string =>
  `aep://${segment(host)}/agent/${segment(agent)}`
