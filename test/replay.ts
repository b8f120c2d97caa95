/**
 * Plays moments through the mapping, the session rules, the gate and the envelope, without disk or network: what a
 * pure suite needs to hold recordings against expected events. Time is the moments' own; the wait for a run's
 * verdict ends when a later moment, or the end of the replay, lies beyond it.
 */
import { createHash } from "node:crypto"
import { digestOf } from "../service/capture/digest.ts"
import { openTurn, type Voice } from "../service/emit/turn.ts"
import { sessionOf } from "../service/map/moment.ts"
import { type Profile, profileOf } from "../service/map/profile.ts"
import { closeOpen, endSession, ensureStarted } from "../service/session/lifecycle.ts"
import { applyMoment } from "../service/session/rules.ts"
import { onVerdictDue } from "../service/session/runs.ts"
import type { Scene } from "../service/session/scene.ts"
import { initialState, type SessionState } from "../service/session/state.ts"
import type { AepEvent } from "../shared/aep.ts"
import type { Instance, Moment } from "../shared/moments.ts"

export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex")

/** Events by session, in order, and the states they left. */
export interface Replayed {
  events: Map<string, AepEvent[]>
  states: Map<string, SessionState>
  refused: string[]
}

/** Replays one instance's moments. `end` says what happens after the last: nothing (time passes), or its dispose. */
export function replay(
  instance: Instance,
  moments: readonly Moment[],
  end: "time-passes" | "stop" = "time-passes",
): Replayed {
  const profile = requireProfile(instance.agent)
  const result: Replayed = { events: new Map(), states: new Map(), refused: [] }
  const due = new Map<string, number>()
  let ids = 0
  const voice: Voice = {
    host: "host-a",
    newId: () => `E${String(++ids).padStart(6, "0")}`,
    digest: (value) => digestOf(value, sha256Hex),
    onRefused: (type, refusal) => result.refused.push(`${type}: ${refusal.field} ${refusal.code}`),
  }
  const stateOf = (session: string): SessionState => {
    const state = result.states.get(session) ?? initialState(profile.agent, session)
    result.states.set(session, state)
    return state
  }
  const turn = (
    session: string,
    at: number,
    moment: Moment | undefined,
    act: (scene: Scene) => void,
  ): void => {
    const { scene, finish } = openTurn(voice, {
      state: stateOf(session),
      profile,
      instance,
      at,
      ...(moment === undefined ? {} : { moment }),
      wake: (delayMs) => due.set(session, at + delayMs),
    })
    act(scene)
    const events = result.events.get(session) ?? []
    result.events.set(session, events)
    const lines = finish(() => ({ epoch: 0, seq: events.length + 1000 }))
    for (const line of lines) events.push({ ...JSON.parse(line), seq: events.length })
  }
  const settleDue = (until: number): void => {
    for (const [session, at] of [...due].sort((a, b) => a[1] - b[1])) {
      if (at > until) continue
      due.delete(session)
      turn(session, at, undefined, onVerdictDue)
    }
  }

  const own = `instance-${instance.id}`
  turn(own, moments[0]?.at ?? 0, undefined, (scene) => ensureStarted(scene, {}))
  for (const moment of moments) {
    settleDue(moment.at)
    if (moment.kind === "dispose") {
      for (const session of result.states.keys()) {
        if (session === own) turn(own, moment.at, moment, (scene) => endSession(scene, "normal", "disposed"))
        else turn(session, moment.at, moment, (scene) => closeOpen(scene, "disposed"))
      }
      continue
    }
    turn(sessionOf(moment) ?? own, moment.at, moment, (scene) => applyMoment(scene, moment))
  }
  if (end === "time-passes") settleDue(Number.POSITIVE_INFINITY)
  return result
}

function requireProfile(agent: string): Profile {
  const profile = profileOf(agent)
  if (profile === undefined) throw new Error(`no profile for ${agent}`)
  return profile
}
