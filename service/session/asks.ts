/**
 * Raising asks and questions (truth rule 4): each becomes one attention request with the agent's own decisions as options, and
 * a time at which it lapses. How it ends is `settle.ts`. D-03: every family of events that one ask comes in is read alike.
 */
import { type QuestionField, readAsk, readQuestion } from "../map/attention.ts"
import { idOf } from "../map/identifier.ts"
import { type Json, textOf } from "../map/members.ts"
import { type Circumstances, permissionRequest, questionRequest, type Way } from "../map/request.ts"
import type { Links, Scene } from "./scene.ts"
import { expire } from "./settle.ts"

/** A permission ask of the bus. Its twins say nothing new. */
export function onAsk(scene: Scene, value: Json, type: string): void {
  const ask = readAsk(value)
  if (ask === undefined) return
  const open = scene.state.asks.get(ask.id)
  if (open?.way === "hook") {
    // The plugin let the held hook go untouched, and the agent asks in its own dialog now.
    expire(scene, ask.id)
  } else if (open !== undefined) {
    scene.desk.onOfferedAgain(scene.state.session, ask.id)
    return
  }
  const way: Way = type === "permission.updated" ? "legacy" : "reply"
  raise(scene, ask.id, value.id, ask.callID, way, (about, links) =>
    scene.emit(permissionRequest(ask, value, scene.profile, about), links),
  )
}

/** The `permission.ask` hook of 1.0. Only where the plugin holds it is anybody asked by it: else the bus asks right after. */
export function onHook(scene: Scene, value: Json, held: boolean): void {
  const ask = readAsk(value)
  if (!held || ask === undefined || scene.state.asks.has(ask.id)) return
  const isRaised = raise(scene, ask.id, value.id, ask.callID, "hook", (about, links) =>
    scene.emit(permissionRequest(ask, value, scene.profile, about), links),
  )
  const { instance, state, desk } = scene
  if (isRaised) desk.onHeld(instance.id, state.session, ask.id, desk.windows.hookMs)
}

/** A question: one form, beside the tool pair of the `question` call. */
export function onQuestion(scene: Scene, value: Json): void {
  const question = readQuestion(value)
  if (question === undefined) return
  if (scene.state.asks.has(question.id)) {
    scene.desk.onOfferedAgain(scene.state.session, question.id)
    return
  }
  raise(scene, question.id, value.id, question.callID, "question", (about, links) =>
    scene.emit(questionRequest(question, scene.profile, about), links),
  )
  const open = scene.state.asks.get(question.id)
  if (open !== undefined) open.questions = withoutLabels(question.fields, scene.digest)
}

/** A parent that became known after the session's start: told once, with what was asked meanwhile. */
export function onParent(scene: Scene, info: Json): void {
  const parent = idOf(info.parentID)
  const { state, profile } = scene
  if (parent === undefined || state.parent !== undefined || state.ended || state.startedAt === undefined)
    return
  scene.emit(
    { type: `x.${profile.namespace}.session.linked`, data: { parent: { session: parent } } },
    { marks: placeOf([parent, state.session]) },
  )
  for (const ask of state.asks.values()) {
    scene.emit(
      { type: `x.${profile.namespace}.attention.linked`, subject: ask.eventId, data: {} },
      { cause: ask.eventId, marks: placeOf(scene.lineage()) },
    )
  }
}

/** True when the request was raised: one that was settled before is not asked again. */
function raise(
  scene: Scene,
  request: string,
  vendorId: unknown,
  callID: string | undefined,
  way: Way,
  emit: (about: Circumstances, links: Links) => void,
): boolean {
  const { state, desk, instance } = scene
  const ended = state.endedAsks.get(request)
  if (ended?.how === "settled") return false
  const call = callID === undefined ? undefined : state.tools.get(callID)
  // One that was given up here and is still open there is a new request, and says whose successor it is.
  const cause = ended?.terminal ?? call?.eventId
  emit(
    {
      way,
      tool: textOf(call?.name),
      isAnswerable: instance.answers === true && vendorId === request && !isAnsweredByHost(scene, way),
      // By our clock: the plugin's may be another machine's, and its moment may have waited for us.
      expiresAt: (desk.now?.() ?? scene.at) + (way === "hook" ? desk.windows.hookMs : desk.windows.askMs),
      cut: scene.cut,
    },
    {
      ...(cause === undefined ? {} : { cause }),
      marks: {
        request,
        way,
        ...(callID === undefined ? {} : { call: callID }),
        ...placeOf(scene.lineage()),
      },
    },
  )
  return true
}

/** `run` from 1.18 on has no dialog: it answers every ask itself, within milliseconds (surface.md §6). 1.0 shows a prompt. */
function isAnsweredByHost({ instance }: Scene, way: Way): boolean {
  return instance.mode === "run" && way === "reply"
}

/** A sub-agent's ask names the session that a person knows, and the way from there. */
function placeOf(lineage: readonly string[]): { root?: string; path?: string } {
  const [root] = lineage
  return root === undefined || lineage.length < 2 ? {} : { root, path: lineage.join("/") }
}

/** State is stored, and labels are the model's words: their digests are enough to recognise an answer. */
function withoutLabels(
  questions: readonly QuestionField[],
  digest: (label: string) => string,
): readonly QuestionField[] {
  return questions.map((question) => ({ ...question, label: "", choices: question.choices.map(digest) }))
}
