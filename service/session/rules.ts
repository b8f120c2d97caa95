/**
 * The session rules: one moment of a session -> the events it causes. A dispatch only; each rule lives in the file
 * of its subject. Called by the emitter with a scene; changes nothing but through it.
 */
import type { CommandTag, Moment } from "../../shared/moments.ts"
import { errorNameOf, mapBusEvent, usage } from "../map/bus.ts"
import { identifierOf, idOf, qualifiedNameOf } from "../map/identifier.ts"
import { type Json, numberOf, objectOf, textOf } from "../map/members.ts"
import { diffTodos, identifyTodos, readTodos } from "../map/todos.ts"
import { onAsk, onHook, onParent, onQuestion } from "./asks.ts"
import { endSession, ensureStarted } from "./lifecycle.ts"
import { confirmCandidate, dropCandidate, onIdle, onPrompt, onStatus, onUserMessage } from "./runs.ts"
import type { Scene } from "./scene.ts"
import { onHookAnswered, onQuestionRejected, onQuestionReply, onReply, voidAsks } from "./settle.ts"
import { remember } from "./state.ts"
import { onToolAfter, onToolBefore, onToolPart } from "./tools.ts"

/** Applies one moment to its session. The caller has made sure that it was not applied before. */
export function applyMoment(scene: Scene, moment: Moment): void {
  switch (moment.kind) {
    case "bus":
      applyBusEvent(scene, moment.event.type, objectOf(moment.event.properties), moment.by)
      return
    case "chat.message":
      ensureStarted(scene, {})
      onPrompt(scene, moment.output)
      return
    case "tool.before":
      ensureStarted(scene, {})
      confirmCandidate(scene)
      onToolBefore(scene, moment.input, moment.output)
      return
    case "tool.after":
      ensureStarted(scene, {})
      onToolAfter(scene, moment.input, moment.output)
      return
    case "permission.ask":
      ensureStarted(scene, {})
      onHook(scene, moment.permission, moment.held === true)
      return
    case "delivery":
      if (moment.status === "done" && moment.ask !== undefined && moment.by !== undefined) {
        onHookAnswered(scene, moment.ask, moment.by)
      }
      return
    case "dispose":
      return
    default:
      moment satisfies never
  }
}

type BusRule = (scene: Scene, properties: Json, type: string, by?: CommandTag) => void

const todoUpdated: BusRule = (scene, properties) => {
  if (scene.state.ended) return
  const items = readTodos(properties.todos)
  const { state } = scene
  const { todos, counter } = identifyTodos(state.todos, items, state.todoCounter, scene.digest)
  const titles = new Map(todos.map((todo, index) => [todo.id, items[index]?.content]))
  for (const draft of diffTodos(state.todos, todos, (id) => titles.get(id))) {
    const key = todos.find((todo) => todo.id === draft.subject)?.key
    scene.emit(draft, key === undefined ? {} : { marks: { todo: key } })
  }
  state.todos = todos
  state.todoCounter = counter
}

/**
 * D-11 The annex pins role and usage of an assistant's message. Finish, error name, cost and model ride along: they
 * are the evidence a run is judged by, and must be in the log for the state to be rebuilt from it. The agent repeats
 * a message several times; a repeat without news is no event.
 */
const messageUpdated: BusRule = (scene, properties, type) => {
  const info = objectOf(properties.info)
  if (info.role === "user") {
    onUserMessage(scene, info)
    return
  }
  const message = idOf(info.id)
  if (message === undefined) return
  const isDone = numberOf(objectOf(info.time).completed) !== undefined
  const isNew = !scene.state.seenMessages.has(message)
  // A message that is whole at first sight was answered elsewhere: a fork replays its parent's history.
  if (isNew && isDone && scene.state.run === undefined) return
  const finish = textOf(info.finish) === undefined ? undefined : (identifierOf(info.finish) ?? "other")
  const errorName = textOf(objectOf(info.error).name)
  const error = errorName === undefined ? undefined : errorNameOf(errorName)
  const cost = numberOf(info.cost)
  const evidence: Json = {
    ...usage(objectOf(info.tokens)),
    ...(finish === undefined ? {} : { finish }),
    ...(error === undefined ? {} : { error }),
    ...(cost === undefined || cost <= 0 ? {} : { cost: { currency: "USD", total: cost } }),
    ...(info.summary === true || info.mode === "compaction" ? { compaction: true } : {}),
  }
  if (!isNews(scene, message, evidence)) return
  const draft = mapBusEvent(type, properties, scene.profile)
  if (draft === undefined) return
  const model = qualifiedNameOf(info.modelID)
  scene.emit(
    {
      ...draft,
      data: { ...draft.data, ...evidence, ...(model === undefined ? {} : { "gen_ai.request.model": model }) },
    },
    { marks: { message } },
  )
}

/** The agent says the same of a message several times; only news is an event. */
function isNews(scene: Scene, message: string, evidence: Json): boolean {
  const words = JSON.stringify(evidence)
  if (scene.state.told.get(message) === words) return false
  remember(scene.state.told, message, words)
  return true
}

const partUpdated: BusRule = (scene, properties, type) => {
  const part = objectOf(properties.part)
  const message = idOf(part.messageID)
  switch (part.type) {
    case "tool":
      onToolPart(scene, part)
      return
    case "compaction":
      dropCandidate(scene, message)
      tellPart(scene, type, { part: "compaction", auto: part.auto === true })
      return
    case "text":
      if (part.synthetic === true) dropCandidate(scene, message)
      return
  }
}

function tellPart(scene: Scene, type: string, data: Json): void {
  scene.emit({ type: `x.${scene.profile.namespace}.${type}`, data })
}

const sessionError: BusRule = (scene, properties, type) => {
  mapped(scene, properties, type)
  if (objectOf(properties.error).name === "MessageAbortedError") voidAsks(scene)
}

/** The row of the mapping table as it stands. */
const mapped: BusRule = (scene, properties, type) => {
  const draft = mapBusEvent(type, properties, scene.profile)
  // A deleted session has no progress; only what is still at work in it is told in core words.
  if (draft === undefined || (scene.state.ended && !draft.type.startsWith("x."))) return
  scene.emit(draft)
}

/**
 * D-17 Bus types that the fallback would tell several times a turn without a word of news at `metadata`: what they
 * hold is content, or was told by another event.
 */
const silent: BusRule = () => undefined

/** What a session's own events add to its start: a parent that was not known then. */
const sessionTold: BusRule = (scene, properties) => onParent(scene, objectOf(properties.info))

const replied: BusRule = (scene, properties, _type, by) => onReply(scene, properties, by)
const questionReplied: BusRule = (scene, properties, _type, by) => onQuestionReply(scene, properties, by)
const questionRejected: BusRule = (scene, properties, _type, by) => onQuestionRejected(scene, properties, by)

const RULES: Readonly<Record<string, BusRule>> = {
  "session.created": sessionTold,
  "session.updated": sessionTold,
  "session.deleted": (scene) => endSession(scene, "normal", "deleted"),
  "session.status": (scene, properties) => onStatus(scene, objectOf(properties.status)),
  "session.idle": onIdle,
  "session.error": sessionError,
  "session.diff": silent,
  "message.updated": messageUpdated,
  "message.part.updated": partUpdated,
  "permission.asked": onAsk,
  "permission.updated": onAsk,
  "permission.v2.asked": onAsk,
  "permission.replied": replied,
  "permission.v2.replied": replied,
  "question.asked": onQuestion,
  "question.v2.asked": onQuestion,
  "question.replied": questionReplied,
  "question.v2.replied": questionReplied,
  "question.rejected": questionRejected,
  "question.v2.rejected": questionRejected,
  "todo.updated": todoUpdated,
}

function applyBusEvent(scene: Scene, type: string, properties: Json, by: CommandTag | undefined): void {
  ensureStarted(scene, objectOf(type.startsWith("session.") ? properties.info : undefined))
  const rule = Object.hasOwn(RULES, type) ? RULES[type] : undefined
  ;(rule ?? mapped)(scene, properties, type, by)
}
