/**
 * Opening and judging runs (truth rules 1 and 2). A run opens at the first unseen user message while none is open.
 * The `chat.message` hook announces real prompts; a bare `message.updated` may as well be a re-broadcast, a fork's
 * replay, a compaction or a user's shell command (surface.md §5, §9), so it is only a candidate until the session
 * goes to work on it.
 */
import { identifierOf, idOf } from "../map/identifier.ts"
import { type Json, objectOf, textOf } from "../map/members.ts"
import type { Scene } from "./scene.ts"
import { voidAsks } from "./settle.ts"
import { rememberMember } from "./state.ts"
import { abortTools } from "./tools.ts"
import { type JudgedOn, judgeRun, lastAnswer } from "./verdict.ts"

/** How long after idle the last words on a run may still arrive: 20-300 ms were seen (surface.md §7). */
export const VERDICT_DELAY_MS = 500

/** D-05 The prompt hook opens the run, a few milliseconds before the annex's `message.updated` would. */
export function onPrompt(scene: Scene, output: Json): void {
  const message = idOf(objectOf(output.message).id)
  if (message !== undefined) meetUserMessage(scene, message, true, promptText(output.parts))
}

/** A user's `message.updated`: what the annex opens a run at, once it proves to be a prompt. */
export function onUserMessage(scene: Scene, info: Json): void {
  const message = idOf(info.id)
  // A message that already carries a summary is one that was answered before we met it.
  if (message !== undefined) meetUserMessage(scene, message, false, undefined, isSummarised(info))
}

function isSummarised(info: Json): boolean {
  return info.summarised === true || info.summary !== undefined
}

function meetUserMessage(
  scene: Scene,
  message: string,
  isPrompt: boolean,
  prompt?: string,
  answered = false,
): void {
  const { state } = scene
  if (state.seenMessages.has(message)) return
  const { run } = state
  // A process that vanished with its last words unsaid (1.0 has no goodbye) is followed by another in the same session:
  // an answer that was whole then ended its run.
  const isTakenOver =
    run !== undefined && state.instance !== scene.instance.id && lastAnswer(run)?.finish === "stop"
  if (run !== undefined && run.idleAt === undefined && !isTakenOver) {
    // A prompt queued behind the one being worked on: both are answered in one run (surface.md §5).
    if (isPrompt) sayQueued(scene, message)
    else rememberMember(state.seenMessages, message)
    return
  }
  if (answered && !isPrompt) {
    rememberMember(state.seenMessages, message)
    return
  }
  if (run !== undefined) settleRun(scene, "next-prompt")
  if (isPrompt) openRun(scene, message, prompt)
  else state.candidate = { message, at: scene.at }
}

function sayQueued(scene: Scene, message: string): void {
  scene.emit(
    { type: `x.${scene.profile.namespace}.message.updated`, severity: "debug", data: { role: "user" } },
    { marks: { message } },
  )
}

/** The session works: a candidate was a prompt after all. */
export function confirmCandidate(scene: Scene): void {
  const { candidate, run } = scene.state
  if (candidate === undefined || run !== undefined) return
  openRun(scene, candidate.message, undefined)
}

/** A candidate turned out to be no prompt (compaction, a shell command's own text). */
export function dropCandidate(scene: Scene, message: string | undefined): void {
  if (message === undefined || scene.state.candidate?.message !== message) return
  rememberMember(scene.state.seenMessages, message)
  delete scene.state.candidate
}

function openRun(scene: Scene, message: string, prompt: string | undefined): void {
  if (scene.state.ended) return
  const trigger = scene.state.parent === undefined ? "user" : "agent"
  scene.emit(
    { type: "run.started", data: { trigger, ...(prompt === undefined ? {} : { prompt }) } },
    { run: message, marks: { message } },
  )
}

/** The prompt as typed: content, gated at `redacted`. */
function promptText(parts: unknown): string | undefined {
  if (!Array.isArray(parts)) return undefined
  const texts = parts.flatMap((part) => {
    const { type, text, synthetic } = objectOf(part)
    return type === "text" && synthetic !== true && typeof text === "string" ? [text] : []
  })
  return texts.length === 0 ? undefined : texts.join("\n")
}

/**
 * `session.status`. D-14 The annex pins `retry` alone; every change is told, since it is all that shows a session at
 * work or waiting for its provider, and repeats of `busy` (many a turn) are not.
 */
export function onStatus(scene: Scene, status: Json): void {
  const type = identifierOf(status.type)
  if (type === undefined || scene.state.ended) return
  if (type !== "idle") confirmCandidate(scene)
  if (type === scene.state.status && type !== "retry") return
  const message = textOf(status.message)
  scene.emit({
    type: "progress.status",
    subject: type,
    ...(type === "retry" ? {} : { severity: "debug" as const }),
    data: message === undefined ? {} : { message },
  })
}

/** Idle voids the session's asks at once and starts the wait for the verdict; said twice, it waits anew. */
export function onIdle(scene: Scene): void {
  // A run goes on after its session was deleted (surface.md §7): what it asked then ends here as well.
  voidAsks(scene)
  if (scene.state.ended || scene.state.run === undefined) return
  if (scene.state.run.idleAt === undefined) onStatus(scene, { type: "idle" })
  // 1.0 may say `idle` before we ever saw it busy: the run must know all the same.
  if (scene.state.run.idleAt === undefined) scene.state.run.idleAt = scene.at
  scene.wake(VERDICT_DELAY_MS)
}

/** The wait is over. Does nothing if the session went back to work meanwhile. */
export function onVerdictDue(scene: Scene): void {
  if (scene.state.run?.idleAt !== undefined) settleRun(scene, "idle")
}

/** The agent is told, by a command, to stop this run: what ends it then is the command's doing. Without one: it is not. */
export function expectCancel({ state }: Scene, run: string, command: string | undefined): void {
  if (state.run?.id !== run) return
  if (command === undefined) delete state.run.cancel
  else state.run.cancel = command
}

/**
 * Closes what the run left open and says its one terminal (AEP-0002 §2.5). D-12 The annex calls a run finished at
 * `session.idle`; the agent says idle after aborts, refusals and failures too, twice, and before the error
 * (surface.md §7), so the verdict is read from the evidence.
 */
export function settleRun(scene: Scene, on: JudgedOn): void {
  const { run } = scene.state
  if (run === undefined) return
  if (on !== "lapsed") voidAsks(scene)
  const verdict = judgeRun(run, on, scene.at)
  abortTools(scene)
  const command = verdict.type === "run.cancelled" ? run.cancel : undefined
  scene.emit(verdict, { run: run.id, cause: command ?? run.eventId })
}
