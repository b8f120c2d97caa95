/**
 * Asks and questions, observed (truth rule 4): each becomes one attention request with the agent's own decisions as
 * options, answered in the agent's own dialog, and gets exactly one terminal. Nothing here answers anything.
 */
import {
  askDraft,
  formFields,
  formValues,
  type QuestionField,
  questionDraft,
  readAsk,
  readQuestion,
} from "../map/attention.ts"
import { identifierOf, idOf } from "../map/identifier.ts"
import type { Json } from "../map/members.ts"
import type { Scene } from "./scene.ts"
import type { OpenAsk } from "./state.ts"

/**
 * D-09 The pins offer answers over control; nothing can answer yet, so the request says `oob`: it is the emitter's
 * final word on how an answer comes (AEP-0002 §5.3).
 */
const RESPOND_VIA = ["oob"]

/** A reply that settles other asks along with its own reaches them within a millisecond (surface.md §6). */
const FAN_OUT_MS = 50

/** A permission ask, in whichever family it comes first; its twins say nothing new. */
export function onAsk(scene: Scene, value: Json): void {
  const ask = readAsk(value)
  if (ask === undefined || isKnown(scene, ask.id)) return
  const call = ask.callID === undefined ? undefined : scene.state.tools.get(ask.callID)
  scene.emit(askDraft(ask, scene.profile.askOptions, RESPOND_VIA), {
    ...(call === undefined ? {} : { cause: call.eventId }),
    marks: { request: ask.id, ...(ask.callID === undefined ? {} : { call: ask.callID }) },
  })
}

/** A question: one form, beside the tool pair of the `question` call. */
export function onQuestion(scene: Scene, value: Json): void {
  const question = readQuestion(value)
  if (question === undefined || isKnown(scene, question.id)) return
  const call = question.callID === undefined ? undefined : scene.state.tools.get(question.callID)
  scene.emit(questionDraft(question, scene.profile, RESPOND_VIA), {
    ...(call === undefined ? {} : { cause: call.eventId }),
    marks: { request: question.id, ...(question.callID === undefined ? {} : { call: question.callID }) },
  })
  const open = scene.state.asks.get(question.id)
  if (open !== undefined) open.fields = withoutLabels(question.fields, scene.digest)
}

/** State is stored, and labels are the model's words: their digests are enough to recognise an answer. */
function withoutLabels(
  fields: readonly QuestionField[],
  digest: (label: string) => string,
): readonly QuestionField[] {
  return fields.map((field) => ({ ...field, label: "", choices: field.choices.map(digest) }))
}

function isKnown(scene: Scene, request: string): boolean {
  return scene.state.asks.has(request) || scene.state.closedAsks.has(request)
}

/** The agent says how an ask was answered: in its own dialog, or by what a neighbour's answer took along. */
export function onReply(scene: Scene, properties: Json): void {
  const request = idOf(properties.requestID) ?? idOf(properties.permissionID)
  const reply = identifierOf(properties.reply ?? properties.response)
  if (request === undefined) return
  const ask = scene.state.asks.get(request)
  if (ask === undefined) {
    tellUnmatched(scene, "permission", request, reply)
    return
  }
  const last = scene.state.lastReply
  const isTakenAlong =
    last !== undefined && last.reply === reply && reply !== "once" && scene.at - last.at <= FAN_OUT_MS
  if (isTakenAlong) {
    resolve(scene, ask, "auto", ask.eventId)
    return
  }
  // `run` from 1.18 on has no dialog and nothing listens in it: it answers every ask itself (surface.md §6). 1.0, which
  // spells the id in its own way, shows a prompt there.
  const byHost = scene.instance.mode === "run" && properties.requestID !== undefined
  answer(scene, ask, reply === undefined ? {} : { option: reply }, byHost ? "host" : undefined)
}

/** A question answered in the agent's own dialog. Labels become choice ids; own text is gated as such. */
export function onQuestionReply(scene: Scene, properties: Json): void {
  const request = idOf(properties.requestID)
  if (request === undefined) return
  const ask = scene.state.asks.get(request)
  if (ask === undefined) {
    tellUnmatched(scene, "question", request, undefined)
    return
  }
  // After a restart the question's labels are gone: that it was answered is known, with what is not.
  const values =
    ask.fields === undefined ? undefined : formValues(ask.fields, properties.answers, scene.digest)
  answer(scene, ask, values === undefined ? {} : { values }, undefined)
}

/** A question dismissed in the agent's own dialog. */
export function onQuestionRejected(scene: Scene, properties: Json): void {
  const ask = scene.state.asks.get(idOf(properties.requestID) ?? "")
  if (ask !== undefined) resolve(scene, ask, "dismissed", ask.eventId)
}

/** Closes every open ask of the session as dismissed: idle, abort, delete and dispose void them all. */
export function voidAsks(scene: Scene): void {
  for (const ask of [...scene.state.asks.values()]) resolve(scene, ask, "dismissed", ask.eventId)
}

/** The end of a call closes what it asked: settled without a person if it ran, withdrawn if it did not. */
export function closeAsksOfCall(scene: Scene, call: string, resolution: "auto" | "dismissed"): void {
  for (const ask of [...scene.state.asks.values()]) {
    if (ask.callID === call) resolve(scene, ask, resolution, ask.eventId)
  }
}

/**
 * D-13 The pins close an ask that the agent's own dialog settled with `resolved` alone, under the vendor's id. The
 * decision is visible, so `answered` comes before it, and both carry our request's id (AEP-0002 §7.1, §7.2 T1).
 */
function answer(scene: Scene, ask: OpenAsk, given: Json, by: string | undefined): void {
  const fields =
    ask.fields === undefined ? undefined : formFields({ id: "", callID: undefined, fields: ask.fields })
  const answered = scene.emit(
    {
      type: "attention.answered",
      subject: ask.eventId,
      data: { answer: given, via: "oob", ...(by === undefined ? {} : { by }) },
    },
    { cause: ask.eventId, ...(fields === undefined ? {} : { fields }) },
  )
  resolve(scene, ask, "answered", answered)
}

function resolve(scene: Scene, ask: OpenAsk, resolution: string, cause: string): void {
  scene.emit(
    {
      type: "attention.resolved",
      subject: ask.eventId,
      data: { resolution, latency_ms: Math.max(0, scene.at - ask.at) },
    },
    { cause },
  )
}

/**
 * D-10 A settle of a request that is not open here keeps the vendor's name: a lifecycle event must carry the id of
 * our own request (AEP-0002 §7.1). After an abort it is the trace of a late answer, which the agent acts on.
 */
function tellUnmatched(
  scene: Scene,
  kind: "permission" | "question",
  request: string,
  reply: string | undefined,
): void {
  const closed = scene.state.closedAsks.get(request)
  if (closed === "settled") return
  scene.emit(
    {
      type: `x.${scene.profile.namespace}.${kind}.replied`,
      severity: closed === "void" ? "warning" : "debug",
      subject: request,
      data: { ...(reply === undefined ? {} : { reply }), void: closed === "void" },
    },
    { marks: { request } },
  )
}
