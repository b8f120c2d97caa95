/**
 * Start and end of a session (truth rules 1 and 7): exactly one `session.started`, whenever and however the session
 * is first met, and at most one `session.ended`, after everything open in it was closed.
 */

import type { Moment } from "../../shared/moments.ts"
import { startedDraft } from "../map/bus.ts"
import { type Json, numberOf, objectOf } from "../map/members.ts"
import { settleRun } from "./runs.ts"
import type { Scene } from "./scene.ts"
import { voidAsks } from "./settle.ts"
import { abortTools } from "./tools.ts"
import type { JudgedOn } from "./verdict.ts"

/**
 * Says `session.started` unless it was said. D-16 The annex says it at `session.created` only, which a session
 * resumed in a new process never sends (surface.md §5). `info` is whatever the agent told about the session; a session
 * resumed in a new process, or met before its `session.created`, starts from what is known then.
 */
export function ensureStarted(scene: Scene, info: Json): void {
  if (scene.state.startedAt !== undefined) return
  // A session's own version is the one that once created it; the instance knows the one that runs.
  const { version } = scene.instance
  scene.emit(startedDraft(version === undefined ? info : { ...info, version }, scene.profile), { run: null })
}

/**
 * Closes asks, calls and run, in that order, so that no terminal leaves something of its own open behind it. A lapsed
 * instance may only sleep: its asks stay open until it was silent for long (`emit/instances.ts`).
 */
export function closeOpen(scene: Scene, on: JudgedOn): void {
  if (on !== "lapsed") voidAsks(scene)
  if (scene.state.run !== undefined) settleRun(scene, on)
  abortTools(scene)
}

/** `session.ended`, once, after everything in it is closed (AEP-0002 §7.2). */
export function endSession(scene: Scene, reason: "normal" | "timeout", on: JudgedOn): void {
  // Whoever ends a session owes its asks their terminal first (AEP-0002 §7.2), asleep or not; what came after an
  // earlier end is closed as well.
  voidAsks(scene)
  closeOpen(scene, on)
  if (scene.state.ended) return
  const { startedAt, runs } = scene.state
  scene.emit(
    {
      type: "session.ended",
      data: {
        reason,
        ...(startedAt === undefined ? {} : { duration_ms: Math.max(0, scene.at - startedAt) }),
        runs,
      },
    },
    { run: null },
  )
}

/** A session is taken for new if its `session.created` is that young; else it is met in the middle. */
const FRESH_MS = 60_000

/** Whether this is a session's own beginning, and not a late word of one whose record was lost. */
export function isBeginning(moment: Moment): boolean {
  if (moment.kind !== "bus" || moment.event.type !== "session.created") return false
  const created = numberOf(objectOf(objectOf(moment.event.properties.info).time).created)
  return created !== undefined && Math.abs(moment.at - created) < FRESH_MS
}
