/**
 * Plays moments through the mapping, the session rules, the gate and the envelope, without disk or network: what a
 * pure suite needs to hold recordings against expected events. Time is the moments' own; the wait for a run's
 * verdict ends when a later moment, or the end of the replay, lies beyond it. Leases and dispose follow the intake.
 */
import { createHash } from "node:crypto"
import { digestOf } from "../service/capture/digest.ts"
import { LAPSED_ASKS_MS, LEASE_MS } from "../service/emit/instances.ts"
import { openTurn, type Voice } from "../service/emit/turn.ts"
import { sessionOf } from "../service/map/moment.ts"
import { type Profile, profileOf } from "../service/map/profile.ts"
import { closeOpen, endSession, ensureStarted } from "../service/session/lifecycle.ts"
import { applyMoment } from "../service/session/rules.ts"
import { onVerdictDue, VERDICT_DELAY_MS } from "../service/session/runs.ts"
import type { Scene } from "../service/session/scene.ts"
import { voidAsks } from "../service/session/settle.ts"
import { initialState, isOpen, type SessionState } from "../service/session/state.ts"
import type { AepEvent } from "../shared/aep.ts"
import type { Instance, Moment } from "../shared/moments.ts"
import { QUIET } from "./posture.ts"

export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex")

/** Events by session, in order, and the states they left. */
export interface Replayed {
  events: Map<string, AepEvent[]>
  states: Map<string, SessionState>
  refused: string[]
}

/** One moment and who told it. */
export interface Step {
  instance: Instance
  moment: Moment
}

/** What happens after the last moment: waits for verdicts end, nothing at all, or the leases run out as well. */
export type End = "time-passes" | "stop" | "leases-lapse"

/** Replays one instance's moments. */
export function replay(instance: Instance, moments: readonly Moment[], end: End = "time-passes"): Replayed {
  return replaySteps(
    moments.map((moment) => ({ instance, moment })),
    end,
  )
}

/** Replays the moments of any number of instances of one agent. `earlier`: what a process before this one left. */
export function replaySteps(steps: readonly Step[], end: End = "time-passes", earlier?: Replayed): Replayed {
  const player = new Player(steps[0]?.instance.agent ?? "opencode", earlier)
  for (const step of steps) player.play(step)
  if (end !== "stop") player.settleDue(Number.POSITIVE_INFINITY)
  if (end === "leases-lapse") player.lapse()
  return player.result
}

class Player {
  readonly result: Replayed
  private readonly profile: Profile
  private readonly due = new Map<string, { at: number; instance: Instance }>()
  private readonly sessions = new Map<string, Set<string>>()
  private readonly instances = new Map<string, Instance>()
  private readonly silent = new Set<string>()
  private readonly voice: Voice
  private now = 0

  constructor(agent: string, earlier: Replayed | undefined) {
    const profile = profileOf(agent)
    if (profile === undefined) throw new Error(`no profile for ${agent}`)
    this.profile = profile
    this.result = earlier ?? { events: new Map(), states: new Map(), refused: [] }
    this.takeUp(agent)
    let ids = [...this.result.events.values()].reduce((sum, events) => sum + events.length, 0)
    this.voice = {
      host: "host-a",
      newId: () => `E${String(++ids).padStart(6, "0")}`,
      digest: (value) => digestOf(value, sha256Hex),
      ...QUIET,
      onRefused: (type, refusal) =>
        this.result.refused.push(`${type}: ${refusal.field} ${refusal.code} ${refusal.detail}`),
    }
  }

  play({ instance, moment }: Step): void {
    this.now = Math.max(this.now, moment.at)
    this.settleDue(moment.at)
    this.meet(instance, moment.at)
    const own = ownSession(instance)
    if (moment.kind !== "dispose") {
      const session = sessionOf(moment) ?? own
      this.sessions.get(instance.id)?.add(session)
      this.turn(instance, session, moment.at, moment, (scene) => applyMoment(scene, moment))
      return
    }
    for (const session of this.heldBy(instance)) {
      this.turn(instance, session, moment.at, moment, (scene) => closeOpen(scene, "disposed"))
    }
    this.turn(instance, own, moment.at, moment, (scene) => endSession(scene, "normal", "disposed"))
    this.instances.delete(instance.id)
  }

  settleDue(until: number): void {
    for (const [session, { at, instance }] of [...this.due].sort((a, b) => a[1].at - b[1].at)) {
      if (at > until) continue
      this.due.delete(session)
      this.turn(instance, session, at, undefined, onVerdictDue)
    }
  }

  lapse(): void {
    const at = this.now + LEASE_MS
    for (const instance of this.instances.values()) {
      for (const session of this.heldBy(instance)) {
        this.turn(instance, session, at, undefined, (scene) => closeOpen(scene, "lapsed"))
      }
      const own = ownSession(instance)
      this.turn(instance, own, at, undefined, (scene) => endSession(scene, "timeout", "lapsed"))
    }
    for (const instance of this.instances.values()) {
      for (const session of this.heldBy(instance)) {
        this.turn(instance, session, at + LAPSED_ASKS_MS, undefined, voidAsks)
      }
    }
  }

  /** What an earlier process left open belongs to instances that may never speak again. */
  private takeUp(agent: string): void {
    for (const [session, state] of this.result.states) {
      const id = state.instance
      if (id === undefined || !isOpen(state)) continue
      const silent: Instance = { id, agent, directory: "", mode: "unknown", plugin: "" }
      if (!this.instances.has(id)) this.instances.set(id, silent)
      this.sessions.set(id, (this.sessions.get(id) ?? new Set()).add(session))
      this.silent.add(id)
      this.now = Math.max(
        this.now,
        ...(this.result.events.get(session) ?? []).map(({ time }) => Date.parse(time)),
      )
    }
  }

  /** A process that goes on with what another left waits for that one's verdicts again. */
  private meet(instance: Instance, at: number): void {
    if (this.instances.has(instance.id) && !this.silent.delete(instance.id)) return
    this.instances.set(instance.id, instance)
    const sessions = this.sessions.get(instance.id) ?? new Set()
    this.sessions.set(instance.id, sessions)
    this.turn(instance, ownSession(instance), at, undefined, (scene) => ensureStarted(scene, {}))
    for (const [session, state] of this.result.states) {
      if (state.instance !== instance.id || !isOpen(state)) continue
      sessions.add(session)
      if (state.run?.idleAt !== undefined) this.due.set(session, { at: at + VERDICT_DELAY_MS, instance })
    }
  }

  /** Sessions with something open that no other instance has taken over since. */
  private heldBy(instance: Instance): string[] {
    return [...(this.sessions.get(instance.id) ?? [])].filter((session) => {
      const state = this.result.states.get(session)
      return (
        session !== ownSession(instance) &&
        state !== undefined &&
        isOpen(state) &&
        state.instance === instance.id
      )
    })
  }

  private turn(
    instance: Instance,
    session: string,
    at: number,
    moment: Moment | undefined,
    act: (scene: Scene) => void,
  ): void {
    const { states, events } = this.result
    const state = states.get(session) ?? initialState(this.profile.agent, session)
    states.set(session, state)
    const { scene, finish } = openTurn(this.voice, {
      state,
      profile: this.profile,
      instance,
      at,
      ...(moment === undefined ? {} : { moment }),
      wake: (delayMs) => this.due.set(session, { at: at + delayMs, instance }),
    })
    act(scene)
    const told = events.get(session) ?? []
    events.set(session, told)
    let seq = told.length
    for (const { text } of finish(() => ({ epoch: 0, seq: seq++ }))) told.push(JSON.parse(text))
  }
}

function ownSession(instance: Instance): string {
  return `instance-${instance.id}`
}
