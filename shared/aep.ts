/**
 * AEP 0.1 as this project knows it: levels, the envelope, and the registry of types. The one source of truth
 * for types, validation, gating and down-leveling; the payload schemas it lists stand in `aep-payloads.ts`.
 * Pure: nothing here reads a file, a clock or the environment. Tests hold it against the official JSON Schemas.
 */
import * as v from "valibot"
import { type Exception, isDateTime, isObject, payloads } from "./aep-payloads.ts"

/** Version marker that every event carries (AEP-0001 §5.1). */
export const AEP_VERSION = "0.1"

/** Severities in ascending order (AEP-0001 §8.1). */
export const SEVERITIES = ["debug", "info", "notice", "warning", "error", "critical"] as const
/** How much an event matters, as its emitter asserts it. */
export type Severity = (typeof SEVERITIES)[number]
/** What a missing `severity` means (AEP-0001 §5.1). */
export const DEFAULT_SEVERITY: Severity = "info"

/** Capture levels in ascending order (AEP-0001 §8.2). */
export const CAPTURES = ["none", "metadata", "redacted", "full"] as const
/** How much an event may tell: envelope only, structure, text that went through redaction, everything. */
export type Capture = (typeof CAPTURES)[number]
/** What a missing `capture`, and a payload field without annotation, means (AEP-0001 §5.1, AEP-0002 §5.1). */
export const DEFAULT_CAPTURE: Capture = "metadata"

const captureRank: Record<Capture, number> = { none: 0, metadata: 1, redacted: 2, full: 3 }
const severityRank: Record<Severity, number> = {
  debug: 0,
  info: 1,
  notice: 2,
  warning: 3,
  error: 4,
  critical: 5,
}

/** Whether something of this level may not be told under this ceiling. */
export const isAboveCeiling = (level: Capture, ceiling: Capture): boolean =>
  captureRank[level] > captureRank[ceiling]

/** Whether a severity is `least` or more severe. */
export const isAtLeast = (severity: Severity, least: Severity): boolean =>
  severityRank[severity] >= severityRank[least]

/** Grammar of `type` (AEP-0001 §6): a closed set of categories, or `x.{vendor}.{category}.{rest}`. */
export const TYPE =
  /^((agent|session|run|progress|tool|delegation|attention|resource|error|state|assessment|message|control)(\.[a-z0-9_]+)+|x\.[a-z0-9_-]+\.[a-z0-9_]+(\.[a-z0-9_]+)+)$/
/** W3C `traceparent` as AEP-0001 §5.1 takes it. */
export const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/
/** Name of an extension attribute (AEP-0001 §5.4). */
export const EXTENSION_NAME = /^[a-z0-9]{1,20}$/
/** RFC 3986 URI with a scheme; brackets only around an IP literal as host. Relative references do not match. */
export const URI =
  /^[a-z][a-z0-9+.-]*:(?:\/\/\[[0-9a-fv:.]+\])?(?:[\w.~:/?@!$&'()*+,;=-]|%[0-9a-f]{2})*(?:#(?:[\w.~:/?@!$&'()*+,;=-]|%[0-9a-f]{2})*)?$/i
const FOREIGN =
  /^(?:control\.(?:attention\.respond|cancel|pause|resume)|x\.[a-z0-9_-]+\.control\..+|attention\.routed)$/

/**
 * Where an event stands (AEP-0001 §5.2). `sequenced`: in its session, needs `session` and `seq`; `foreign`: in
 * a session owned by somebody else (commands, `attention.routed`), needs `session` and has no `seq`; `agent`:
 * in no session, carries none of `session`, `run`, `step`, `seq`.
 */
export type Placement = "sequenced" | "foreign" | "agent"

/** The placement that a type's name demands; it holds for unregistered and vendor types too. */
export function placementOf(type: string): Placement {
  if (type.startsWith("agent.")) return "agent"
  return FOREIGN.test(type) ? "foreign" : "sequenced"
}

/** The names of the sixteen context attributes and `data`, in the order of the table in AEP-0001 §5. */
export const CORE_ATTRIBUTES = [
  "aep",
  "id",
  "type",
  "subject",
  "time",
  "source",
  "agent",
  "session",
  "run",
  "step",
  "seq",
  "epoch",
  "cause",
  "traceparent",
  "severity",
  "capture",
  "data",
] as const
const coreNames: ReadonlySet<string> = new Set(CORE_ATTRIBUTES)

/** Whether a name belongs to the envelope itself and so is closed to extensions (AEP-0001 §5.4). */
export const isCoreAttribute = (name: string): boolean => coreNames.has(name)

/** A value an extension attribute may have (AEP-0001 §5.4): never null, an object, or a fraction. */
export type ExtensionValue = string | number | boolean

/** Whether a value is a legal extension value. */
export const isExtensionValue = (value: unknown): value is ExtensionValue =>
  typeof value === "string" || typeof value === "boolean" || Number.isInteger(value)

const named = v.pipe(v.string(), v.nonEmpty())
const counter = v.pipe(v.number(), v.integer(), v.minValue(0))
const sessionBound = ["session", "run", "step", "seq"] as const

/**
 * The envelope (AEP-0001 §5) with its cross rules: extension names and values, and what placement demands.
 * `time` and `source` are checked for real, where the official schema only annotates their format. Not
 * checked: whether the type is registered, and the payload (`payloadSchemaOf`).
 */
export const envelopeSchema = v.pipe(
  v.custom<Record<string, unknown>>(isObject, "Expected an object"),
  // Before the object schema, because that one passes over members such as `constructor`.
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    for (const name of Object.keys(dataset.value)) {
      if (isCoreAttribute(name)) continue
      if (!EXTENSION_NAME.test(name)) addIssue({ message: "An extension name must match [a-z0-9]{1,20}" })
      else if (!isExtensionValue(dataset.value[name])) {
        addIssue({ message: "An extension value must be a string, an integer or a boolean" })
      }
    }
  }),
  v.looseObject({
    aep: v.literal(AEP_VERSION),
    id: named,
    type: v.pipe(v.string(), v.regex(TYPE)),
    subject: v.exactOptional(named),
    time: v.pipe(v.string(), v.check(isDateTime, "Expected an RFC 3339 date-time with zone")),
    source: v.pipe(v.string(), v.regex(URI)),
    agent: named,
    session: v.exactOptional(named),
    run: v.exactOptional(named),
    step: v.exactOptional(named),
    seq: v.exactOptional(counter),
    epoch: v.exactOptional(counter),
    cause: v.exactOptional(named),
    traceparent: v.exactOptional(v.pipe(v.string(), v.regex(TRACEPARENT))),
    severity: v.exactOptional(v.picklist(SEVERITIES)),
    capture: v.exactOptional(v.picklist(CAPTURES)),
    data: v.exactOptional(v.custom<Record<string, unknown>>(isObject, "Expected an object")),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const event = dataset.value
    const placement = placementOf(event.type)
    if (placement === "agent") {
      for (const name of sessionBound) {
        if (event[name] !== undefined) addIssue({ message: `An agent-scoped event omits ${name}` })
      }
      return
    }
    if (event.session === undefined) addIssue({ message: "A session event needs session" })
    if (placement === "sequenced" && event.seq === undefined) {
      addIssue({ message: "A session event needs seq" })
    }
    if (placement === "foreign" && event.seq !== undefined) {
      addIssue({ message: "An event sent into another's session omits seq" })
    }
  }),
)

/** One AEP event. Members beyond the named ones are extension attributes (`ExtensionValue`). */
export type AepEvent = v.InferOutput<typeof envelopeSchema>

/** A registered type's standing: whether a consumer must understand it (AEP-0002 §4). */
export type Status = "mandatory" | "optional" | "reserved"
/** A registered type's scope in the registry; `command` types are foreign, and so is `attention.routed`. */
export type Scope = "session" | "agent" | "command"
/** A registered type that has a payload schema. */
export type PayloadType = keyof typeof payloads
/** The payload of a type, for code that makes one. */
export type PayloadOf<T extends PayloadType> = v.InferOutput<(typeof payloads)[T]>

const MANDATORY = new Set<string>([
  "session.started",
  "session.ended",
  "run.started",
  "run.finished",
  "run.failed",
  "run.cancelled",
  "tool.requested",
  "tool.completed",
  "tool.failed",
  "tool.denied",
  "attention.requested",
  "attention.answered",
  "attention.resolved",
  "attention.timeout",
])
const COMMANDS = new Set<string>([
  "control.attention.respond",
  "control.cancel",
  "control.pause",
  "control.resume",
])
/** Registered names without a payload, which nobody may emit yet (AEP-0002 §4.3). */
const RESERVED = ["message.user.submitted", "message.agent.replied"]

/**
 * A payload field: its least level, whether its parent must have it, and what lies under it. `members` for an
 * object, `item` for an array of objects; neither for a value that is kept or dropped as one.
 */
export interface Field {
  level: Capture
  exception?: Exception
  required: boolean
  members?: Fields
  item?: Fields
}
/** The annotated members of an object, by name; names may contain dots (`gen_ai.usage.input_tokens`). */
export type Fields = ReadonlyMap<string, Field>

/** One row of the registry (AEP-0002 §4). */
export interface Registered {
  status: Status
  scope: Scope
  /** Absent for reserved types. */
  schema?: v.GenericSchema
  /** Absent for reserved types; empty where the payload has no members. */
  fields?: Fields
}

/** What is read of a schema to find its fields; every valibot schema has the parts that concern it. */
interface Parts {
  kind?: string
  type?: string
  pipe?: readonly Parts[]
  wrapped?: Parts
  item?: Parts
  entries?: Record<string, Parts>
  metadata?: { capture?: Capture; exception?: Exception }
}

function membersOf(schema: Parts): Fields | undefined {
  if (schema.entries !== undefined) {
    return new Map(Object.entries(schema.entries).map(([name, member]) => [name, fieldOf(member)]))
  }
  for (const part of schema.pipe ?? []) {
    const found = part === schema ? undefined : membersOf(part)
    if (found !== undefined) return found
  }
  return undefined
}

function itemOf(schema: Parts): Fields | undefined {
  const list = [schema, ...(schema.pipe ?? [])].find((part) => part.item !== undefined)
  return list?.item === undefined ? undefined : membersOf(list.item)
}

function fieldOf(member: Parts): Field {
  const schema = member.wrapped ?? member
  const note = schema.pipe?.find((part) => part.kind === "metadata")?.metadata
  const members = membersOf(schema)
  const item = itemOf(schema)
  return {
    level: note?.capture ?? DEFAULT_CAPTURE,
    required: member.type !== "exact_optional",
    ...(note?.exception === undefined ? {} : { exception: note.exception }),
    ...(members === undefined ? {} : { members }),
    ...(item === undefined ? {} : { item }),
  }
}

/** Every registered type (AEP-0002 §4), read once from the schemas when the module loads. */
export const registry: ReadonlyMap<string, Registered> = new Map<string, Registered>([
  ...Object.entries(payloads).map(([type, schema]): [string, Registered] => [
    type,
    {
      status: MANDATORY.has(type) ? "mandatory" : "optional",
      scope: COMMANDS.has(type) ? "command" : placementOf(type) === "agent" ? "agent" : "session",
      schema,
      fields: membersOf(schema) ?? new Map(),
    },
  ]),
  ...RESERVED.map((type): [string, Registered] => [type, { status: "reserved", scope: "session" }]),
])

/** Whether a type is in the core registry, reserved names included; vendor types never are. */
export const isRegistered = (type: string): boolean => registry.has(type)
/** Scope of a registered type, absent for all others. */
export const scopeOf = (type: string): Scope | undefined => registry.get(type)?.scope
/** The annotated fields of a type's payload; absent where the type has no annotations (vendor, unknown, reserved). */
export const fieldsOf = (type: string): Fields | undefined => registry.get(type)?.fields
/** The payload schema of a type; absent where the type has none. */
export const payloadSchemaOf = (type: string): v.GenericSchema | undefined => registry.get(type)?.schema
