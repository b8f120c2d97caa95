/**
 * How asks and questions end (truth rule 4): each request gets exactly one terminal, whoever answers it and wherever, and before
 * its session ends. What a person decided from elsewhere is told when the agent confirms it, never on our own word.
 */
import type { CommandTag } from "../../shared/moments.ts"
import { formValues } from "../map/attention.ts"
import { identifierOf, idOf } from "../map/identifier.ts"
import type { Json } from "../map/members.ts"
import type { Scene } from "./scene.ts"
import type { OpenAsk } from "./state.ts"

/** A reply that settles other asks along with its own reaches them within a millisecond (surface.md §6). */
const FAN_OUT_MS = 50
/** An answer on its way when its request lapses gets this much longer, again and again until it is known what came of it. */
const GRACE_MS = 1_000

/**
 * The agent says how an ask was answered: `by` a command that the plugin carries out, in the agent's own dialog, or by what a
 * neighbour's answer took along.
 */
export function onReply(scene: Scene, properties: Json, by: CommandTag | undefined): void {
  const request = idOf(properties.requestID) ?? idOf(properties.permissionID)
  const reply = identifierOf(properties.reply ?? properties.response)
  if (request === undefined) return
  const ask = scene.state.asks.get(request)
  if (ask === undefined) {
    tellUnmatched(scene, "permission", request, reply)
    return
  }
  if (by !== undefined) {
    answerFrom(scene, request, ask, by, reply === undefined ? {} : { option: reply })
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
  answerHere(scene, ask, reply === undefined ? {} : { option: reply }, byHost ? "host" : undefined)
}

/** A question answered. Labels become choice ids; own text is gated as such. */
export function onQuestionReply(scene: Scene, properties: Json, by: CommandTag | undefined): void {
  const request = idOf(properties.requestID)
  if (request === undefined) return
  const ask = scene.state.asks.get(request)
  if (ask === undefined) {
    tellUnmatched(scene, "question", request, undefined)
    return
  }
  // After a restart the question's labels are gone: that it was answered is known, with what is not.
  const values =
    ask.questions === undefined ? undefined : formValues(ask.questions, properties.answers, scene.digest)
  const answer = values === undefined ? {} : { values }
  if (by === undefined) answerHere(scene, ask, answer, undefined)
  else answerFrom(scene, request, ask, by, answer)
}

/** A question dismissed. */
export function onQuestionRejected(scene: Scene, properties: Json, by: CommandTag | undefined): void {
  const request = idOf(properties.requestID) ?? ""
  const ask = scene.state.asks.get(request)
  if (ask === undefined) return
  if (by === undefined) resolve(scene, ask, "dismissed", ask.eventId)
  else answerFrom(scene, request, ask, by, { option: "reject" })
}

/** The plugin set the held hook by a command: there is no event of the agent's that would say so. */
export function onHookAnswered(scene: Scene, request: string, by: CommandTag): void {
  const ask = scene.state.asks.get(request)
  if (ask?.way === "hook") answerFrom(scene, request, ask, by, {})
}

/** A request lapses. Says which the next one is, by what stays in the state. */
export function onDeadline(scene: Scene): void {
  const { state, desk, at } = scene
  for (const [request, ask] of [...state.asks]) {
    if (ask.expiresAt === undefined || at < ask.expiresAt) continue
    // What was given in time may still act: the record must not say that nobody answered.
    if (desk.isUnderWay(state.session, request)) ask.expiresAt = at + GRACE_MS
    else expire(scene, request)
  }
}

/** Unanswered. A held hook is let go, and the agent's own dialog takes over. */
export function expire(scene: Scene, request: string): void {
  const { state, desk, instance } = scene
  const ask = state.asks.get(request)
  if (ask === undefined) return
  scene.emit(
    {
      type: "attention.timeout",
      subject: ask.eventId,
      data: { after_ms: Math.max(0, scene.at - ask.at) },
    },
    { cause: ask.eventId },
  )
  if (ask.way === "hook") desk.onLapse(state.instance ?? instance.id, state.session, request)
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

/** The agent did not confirm what a command answered: the request stays open until it does, or voids it (truth rule 4). */
export function tellUnconfirmed(scene: Scene, request: string, command: string): void {
  const ask = scene.state.asks.get(request)
  if (ask === undefined) return
  scene.emit(
    {
      type: `x.${scene.profile.namespace}.attention.unconfirmed`,
      severity: "warning",
      subject: ask.eventId,
      data: {},
    },
    { cause: command },
  )
}

/** A command's answer, confirmed: its decision if that was not told yet, what was applied, and the end of the request. */
function answerFrom(scene: Scene, request: string, ask: OpenAsk, by: CommandTag, seen: Json): void {
  const { desk } = scene
  if (ask.accepted !== by.command && !desk.isDecided(by.mark)) {
    scene.emit(
      { type: "control.accepted", data: {} },
      { cause: by.command, marks: { command: by.mark, request } },
    )
  }
  const applied = desk.applied(by.mark)
  tellAnswer(scene, ask, {
    answer: { ...applied?.answer, ...seen },
    via: "control",
    cause: by.command,
    by: applied?.by,
  })
}

/**
 * D-13 The pins close an ask that the agent's own dialog settled with `resolved` alone, under the vendor's id. The
 * decision is visible, so `answered` comes before it, and both carry our request's id (AEP-0002 §7.1, §7.2 T1).
 */
function answerHere(scene: Scene, ask: OpenAsk, answer: Json, by: string | undefined): void {
  tellAnswer(scene, ask, { answer, via: "oob", cause: ask.eventId, by })
}

function tellAnswer(
  scene: Scene,
  ask: OpenAsk,
  { answer, via, cause, by }: { answer: Json; via: "control" | "oob"; cause: string; by: string | undefined },
): void {
  const answered = scene.emit(
    {
      type: "attention.answered",
      subject: ask.eventId,
      data: { answer, via, ...(by === undefined ? {} : { by }) },
    },
    { cause, ...(ask.fields.length === 0 ? {} : { fields: formOf(ask) }) },
  )
  resolve(scene, ask, "answered", answered)
}

/** The form as the gate judges values by it. */
function formOf({ fields }: OpenAsk): Json[] {
  return fields.map(({ id, multi, other, choices }) => ({ id, type: "select", multi, other, choices }))
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
  const how = scene.state.endedAsks.get(request)?.how
  if (how === "settled") return
  scene.emit(
    {
      type: `x.${scene.profile.namespace}.${kind}.replied`,
      severity: how === "void" ? "warning" : "debug",
      subject: request,
      data: { ...(reply === undefined ? {} : { reply }), void: how === "void" },
    },
    { marks: { request } },
  )
}
