/**
 * What each registered AEP 0.1 type may carry: one valibot schema a type, and in it the least capture level
 * at which each field may be told (AEP-0002 §5). Data, no behaviour: `aep.ts` makes the registry of it, and
 * `service/capture` reads the levels from there. Schemas are open: further members are legal and count as
 * `metadata`, so a sender may only add what is safe to tell at that level.
 */
import * as v from "valibot"
import type { Capture } from "./aep.ts"

/**
 * The `[metadata*]` exceptions (AEP-0002 §5.3): fields present at `metadata` whose real text needs `redacted`.
 * Below that, `prompt` is put together from structure, `label` becomes its own id, `values` keeps what is no text.
 */
export type Exception = "prompt" | "label" | "values"

/** A JSON object, as opposed to null and to an array; valibot's object schemas alone would let arrays pass. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/** Whether a text is an RFC 3339 date-time with zone. The day must exist; `:60` only as a UTC leap second. */
export function isDateTime(text: string): boolean {
  const found = DATE_TIME.exec(text)
  if (found === null) return false
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number)
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
  if (day < 1 || day > days || hour > 23 || minute > 59) return false
  const [zoneHour, zoneMinute] = [Number(found[8] ?? 0), Number(found[9] ?? 0)]
  if (zoneHour > 23 || zoneMinute > 59) return false
  if (second < 60) return true
  const offset = (zoneHour * 60 + zoneMinute) * (found[7] === "-" ? 1 : -1)
  return second === 60 && (hour * 60 + minute + offset + 1440) % 1440 === 1439
}

/** An open object with the given members. */
const open = <E extends v.ObjectEntries>(entries: E) =>
  v.pipe(v.custom<Record<string, unknown>>(isObject, "Expected an object"), v.looseObject(entries))

type Note = { capture: Capture; exception?: Exception }
const noted = <S extends v.GenericSchema>(schema: S, note: Note) =>
  v.pipe(schema, v.metadata<v.InferOutput<S>, Note>(note))

/** An optional member that may be told from `metadata` on. */
const meta = <S extends v.GenericSchema>(schema: S) => v.exactOptional(noted(schema, { capture: "metadata" }))
/** A required member; all of them are `metadata`, otherwise that level could send no valid event. */
const need = <S extends v.GenericSchema>(schema: S) => noted(schema, { capture: "metadata" })
/** An optional member that needs `redacted`, and there the redaction pipeline (AEP-0003 §9.4). */
const redacted = <S extends v.GenericSchema>(schema: S) =>
  v.exactOptional(noted(schema, { capture: "redacted" }))
/** An optional member that may be told at `full` only. */
const full = <S extends v.GenericSchema>(schema: S) => v.exactOptional(noted(schema, { capture: "full" }))
/** A `[metadata*]` member; wrap in `v.exactOptional` where it is optional. */
const excepted = <S extends v.GenericSchema>(exception: Exception, schema: S) =>
  noted(schema, { capture: "metadata", exception })

const text = v.string()
const real = v.number()
const flag = v.boolean()
const whole = v.pipe(v.number(), v.integer())
const count = v.pipe(v.number(), v.integer(), v.minValue(0))
const amount = v.pipe(v.number(), v.minValue(0))
const anyObject = v.custom<Record<string, unknown>>(isObject, "Expected an object")
const objectOrText = v.union([anyObject, v.string()])
const moment = v.pipe(v.string(), v.check(isDateTime, "Expected an RFC 3339 date-time with zone"))
const usage = { "gen_ai.usage.input_tokens": meta(count), "gen_ai.usage.output_tokens": meta(count) }
const cost = meta(
  open({
    currency: need(text),
    total: meta(amount),
    prompt: meta(amount),
    completion: meta(amount),
    cache: meta(amount),
    reasoning: meta(amount),
  }),
)
const tool = need(open({ name: need(text), call_id: meta(text) }))
const errorInfo = open({ type: meta(text), message: redacted(text) })
const task = meta(open({ id: meta(text), title: redacted(text) }))
const child = meta(open({ session: meta(text), run: meta(text), agent: meta(text) }))
const choice = open({ id: need(text), label: excepted("label", text) })
const document = open({
  id: meta(text),
  score: meta(real),
  content_redacted: redacted(text),
  content: full(text),
  metadata: meta(anyObject),
})
const answer = need(
  open({
    option: meta(text),
    text: redacted(text),
    values: v.exactOptional(excepted("values", anyObject)),
  }),
)

/** One question of a form (AEP-0002 §5.2, AEP-0006): flat; a `select` must list its choices. */
export const fieldSpec = v.pipe(
  open({
    id: need(text),
    type: need(v.picklist(["string", "number", "boolean", "select"])),
    label: excepted("label", text),
    required: meta(flag),
    multi: meta(flag),
    other: meta(flag),
    choices: meta(v.array(choice)),
    min: meta(real),
    max: meta(real),
  }),
  v.check((field) => field.type !== "select" || field.choices !== undefined, "A select needs choices"),
)

/** One question of a form, as in `attention.requested.fields[]`. */
export type FieldSpec = v.InferOutput<typeof fieldSpec>

/** The payload schema of every registered type that has one (AEP-0002 §5). */
export const payloads = {
  "session.started": open({
    label: redacted(text),
    parent: meta(open({ session: need(text), run: meta(text), agent: meta(text) })),
    client: meta(open({ name: need(text), version: meta(text) })),
    "gen_ai.request.model": meta(text),
    cwd: redacted(text),
  }),
  "session.ended": open({
    reason: meta(v.picklist(["normal", "error", "timeout", "killed", "compaction"])),
    duration_ms: meta(count),
    runs: meta(count),
  }),
  "session.compacted": open({
    trigger: meta(text),
    strategy: meta(text),
    estimated_token_count: meta(count),
    forgotten: meta(count),
    ...usage,
  }),
  "run.started": open({
    trigger: meta(v.picklist(["user", "schedule", "agent", "control", "resume"])),
    prompt: redacted(text),
    ...usage,
    cost,
  }),
  "run.finished": open({ duration_ms: meta(count), summary: redacted(text), ...usage, cost }),
  "run.failed": open({ reason: need(text), error: meta(errorInfo), duration_ms: meta(count) }),
  "run.cancelled": open({
    by: meta(v.picklist(["user", "control", "policy", "shutdown"])),
    reason: redacted(text),
    duration_ms: meta(count),
  }),
  "run.step.started": open({ name: redacted(text), initial_num_steps: meta(count) }),
  "run.step.finished": open({ status: meta(text) }),
  "tool.requested": open({
    tool,
    args_digest: meta(text),
    args_redacted: redacted(anyObject),
    args: full(anyObject),
  }),
  "tool.completed": open({
    tool,
    duration_ms: meta(count),
    status: meta(text),
    result_digest: meta(text),
    result_redacted: redacted(objectOrText),
    result: full(objectOrText),
    ...usage,
    cost,
  }),
  "tool.failed": open({ tool, error: need(errorInfo), duration_ms: meta(count) }),
  "tool.denied": open({
    tool,
    by: need(v.picklist(["policy", "user_setting", "runtime"])),
    rule: meta(text),
  }),
  "attention.requested": open({
    kind: need(v.picklist(["permission", "input", "auth", "review", "form", "other"])),
    prompt: excepted("prompt", text),
    options: meta(v.array(choice)),
    fields: meta(v.array(fieldSpec)),
    expires_at: meta(moment),
    respond_via: meta(v.array(v.picklist(["control", "oob"]))),
    context: full(anyObject),
  }),
  "attention.answered": open({ answer, by: meta(text), via: meta(v.picklist(["control", "oob"])) }),
  "attention.resolved": open({
    resolution: need(v.picklist(["answered", "auto", "dismissed"])),
    latency_ms: meta(count),
  }),
  "attention.timeout": open({ after_ms: meta(count) }),
  "attention.routed": open({ to: meta(text), via: meta(text) }),
  "progress.status": open({
    message: redacted(text),
    phase: meta(text),
    percent: meta(v.pipe(v.number(), v.minValue(0), v.maxValue(100))),
  }),
  "progress.task.planned": open({ task, parent: meta(text) }),
  "progress.task.completed": open({ task, status: meta(text) }),
  "progress.artifact.produced": open({
    artifact: meta(
      open({
        id: meta(text),
        name: redacted(text),
        mime: meta(text),
        bytes: meta(count),
        uri: redacted(text),
      }),
    ),
  }),
  "delegation.subagent.started": open({ child, agent_type: meta(text), role: meta(text) }),
  "delegation.subagent.stopped": open({
    child,
    agent_type: meta(text),
    status: meta(text),
    duration_ms: meta(count),
  }),
  "agent.presence": open({ state: need(v.picklist(["online", "offline", "busy"])) }),
  "agent.idle": open({ since_ms: meta(count), reason: meta(text) }),
  "agent.health": open({ status: need(v.picklist(["ok", "degraded", "failing"])), detail: redacted(text) }),
  "agent.heartbeat": open({ tick: meta(count), interval_ms: meta(count) }),
  "error.raised": open({ error: meta(errorInfo), code: meta(text), fatal: meta(flag) }),
  "state.snapshot": open({ state: redacted(anyObject), key: meta(text), rev: meta(count) }),
  "state.delta": open({ delta: redacted(v.array(anyObject)), key: meta(text), rev: meta(count) }),
  "resource.retrieval.requested": open({
    query: redacted(text),
    query_digest: meta(text),
    corpus: meta(text),
    top_k: meta(count),
  }),
  "resource.retrieval.returned": open({
    documents: meta(v.array(document)),
    count: meta(count),
    corpus: meta(text),
    duration_ms: meta(count),
  }),
  "resource.retrieval.reranked": open({
    query: redacted(text),
    query_digest: meta(text),
    model: meta(text),
    top_k: meta(count),
    input_documents: meta(v.array(document)),
    output_documents: meta(v.array(document)),
    count: meta(count),
    duration_ms: meta(count),
  }),
  "resource.citation.recorded": open({
    citations: meta(
      v.array(
        open({
          source: meta(open({ id: meta(text), uri: redacted(text), title: redacted(text) })),
          cited_text_redacted: redacted(text),
          cited_text: full(text),
          offset: meta(
            open({
              char: meta(open({ start: meta(whole), end: meta(whole) })),
              page: meta(open({ page: meta(whole), start: meta(whole), end: meta(whole) })),
              block: meta(open({ block: meta(whole), start: meta(whole), end: meta(whole) })),
            }),
          ),
          document_index: meta(count),
        }),
      ),
    ),
    count: meta(count),
  }),
  "assessment.evaluation.recorded": open({
    "gen_ai.evaluation.name": meta(text),
    "gen_ai.evaluation.score.value": meta(real),
    "gen_ai.evaluation.score.label": meta(text),
    "gen_ai.evaluation.explanation": redacted(text),
    evaluator: meta(text),
  }),
  "assessment.feedback.received": open({
    rating: meta(real),
    label: meta(text),
    comment: redacted(text),
    correction: redacted(text),
    source: meta(text),
  }),
  "assessment.guardrail.recorded": open({
    guardrail: meta(
      open({
        stage: meta(v.picklist(["input", "output"])),
        verdict: meta(v.picklist(["allowed", "flagged", "blocked", "modified"])),
        categories: meta(v.array(open({ name: meta(text), score: meta(real) }))),
        detector: meta(open({ name: meta(text), version: meta(text) })),
        explanation: redacted(text),
      }),
    ),
  }),
  "control.attention.respond": open({ answer }),
  "control.cancel": open({ scope: need(v.picklist(["run", "session"])), reason: redacted(text) }),
  "control.pause": open({}),
  "control.resume": open({}),
  "control.accepted": open({}),
  "control.rejected": open({
    reason: need(v.picklist(["unsupported", "unauthorized", "busy", "refused", "invalid"])),
    detail: redacted(text),
  }),
} as const
