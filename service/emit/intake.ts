/**
 * Takes batches of moments from the plugin's door and applies each moment exactly once, in order; watches leases and
 * the waits for a run's verdict. Everything of a batch happens in one synchronous turn that ends with the write and
 * the acknowledgement, so that no reader and no save ever sees half of it.
 */
import type { DeliveryStatus, Moment, MomentAck, Rejection } from "../../shared/moments.ts"
import { Deadlines } from "../attention/deadlines.ts"
import { sessionOf } from "../map/moment.ts"
import { profileOf } from "../map/profile.ts"
import { closeOpen, endSession, ensureStarted, isBeginning } from "../session/lifecycle.ts"
import { applyMoment } from "../session/rules.ts"
import { onVerdictDue, VERDICT_DELAY_MS } from "../session/runs.ts"
import type { Scene } from "../session/scene.ts"
import { onDeadline, voidAsks } from "../session/settle.ts"
import { isOpen, type SessionState } from "../session/state.ts"
import { type Claims, NO_CLAIMS } from "./claims.ts"
import { droppedDraft, totalOf } from "./dropped.ts"
import type { Emitter } from "./emitter.ts"
import { Instances, type LiveInstance, ownSessionOf, requireProfile } from "./instances.ts"
import type { Ledger } from "./ledger.ts"
import type { Timers } from "./shelf.ts"
import { Watch } from "./watch.ts"

/** A batch whose shell was checked at the door; each moment is judged on its own by `read`. */
export interface Batch {
  /** No moment of it can nest too deep; handed on to `read`. */
  isShallow?: boolean
  instance: LiveInstance["instance"]
  first: number
  dropped: Record<string, number> | undefined
  moments: readonly unknown[]
}

export interface IntakeParts {
  /** None when absent. */
  claims?: Claims
  ledger: Ledger<SessionState>
  emitter: Emitter
  /** Epoch milliseconds, by the service's clock. */
  now: () => number
  timers: Timers
  /** Checks one moment; `fallback` is its index if it has none. */
  read: (
    value: unknown,
    fallback: number,
    isShallow?: boolean,
  ) => { moment: Moment } | { rejection: Rejection }
  /** Told of what became of a decision that was brought down. Must not throw. */
  onDelivery?: (instance: string, request: string, status: DeliveryStatus) => void
  /** Told that an instance is about to be gone, while its sessions can still be spoken in. */
  onLeaving?: (instance: string) => void
  /** Told of a moment that could not be applied: a fault of ours. */
  onFault: (error: unknown) => void
}

/** A plugin whose service was away speaks again within this time. */
const COMEBACK_MS = 10_000

export class Intake {
  readonly counts = { batches: 0, moments: 0, repeated: 0, rejected: 0, dropped: 0 }
  private readonly instances = new Instances()
  private readonly verdicts = new Map<string, unknown>()
  private readonly claims: Claims
  private readonly watch: Watch
  private readonly deadlines: Deadlines

  constructor(private readonly parts: IntakeParts) {
    this.claims = parts.claims ?? NO_CLAIMS
    const { timers, now, onFault } = parts
    this.watch = new Watch({ timers, now, onFault, look: (at, slept) => this.look(at, slept) })
    this.deadlines = new Deadlines({ now, timers, due: (agent, session) => this.lapseAsks(agent, session) })
  }

  /** Takes up what an earlier process left open, and starts watching leases. */
  start(): void {
    const now = this.parts.now()
    for (const { key, state } of this.parts.ledger.openSessions()) {
      const profile = profileOf(key.agent)
      if (profile === undefined || state.instance === undefined || key.session === undefined) continue
      const live =
        this.instances.get(state.instance) ??
        this.instances.add(
          { id: state.instance, agent: key.agent, directory: "", mode: "unknown", plugin: "" },
          profile,
          now,
          true,
        )
      live.sessions.add(key.session)
      // What was answered while we were away is told first, by the plugin that comes back.
      const next = nextDeadline(state)
      if (next !== undefined) {
        this.deadlines.arm(key.agent, key.session, Math.max(next, now + COMEBACK_MS))
      }
    }
    this.watch.start()
  }

  /** Applies one batch. Durable when it returns, unless the answer says `degraded`. */
  apply(batch: Batch): MomentAck {
    const { ledger, emitter } = this.parts
    this.counts.batches += 1
    let next = Math.max(ledger.next(batch.instance.id) ?? batch.first, 0)
    if (this.isFarewellAgain(batch, next)) return { next, rejected: [] }
    const live = this.meet(batch)
    const rejected: Rejection[] = []
    this.tellDropped(live, batch)
    batch.moments.forEach((value, offset) => {
      const read = this.parts.read(value, batch.first + offset, batch.isShallow)
      const n = "moment" in read ? read.moment.n : read.rejection.n
      if (n < next) {
        this.counts.repeated += 1
        return
      }
      next = n + 1
      const rejection = "moment" in read ? this.applyOne(live, read.moment) : read.rejection
      if (rejection === undefined) this.counts.moments += 1
      else rejected.push(rejection)
    })
    emitter.write()
    this.counts.rejected += rejected.length
    ledger.acknowledge(batch.instance.id, next)
    return { next, rejected, ...(ledger.degraded ? { degraded: true } : {}) }
  }

  /** Renews the lease of an instance that speaks now; false when it has to introduce itself first. */
  renew(instance: string): boolean {
    const live = this.instances.get(instance)
    if (live === undefined || live.recovered || live.lapsedAt !== undefined) return false
    live.renewedAt = this.parts.now()
    return true
  }

  /** The living instance that speaks for a session, and its open run. */
  targetOf(session: string): { instance: string; run: string | undefined } | undefined {
    const live = this.speakerOf(session)
    if (live === undefined) return undefined
    const run = this.parts.emitter.stateOf(live.profile.agent, session)?.run?.id
    return { instance: live.instance.id, run }
  }

  /** What is known of a session that a living instance speaks for. */
  stateOf(session: string): SessionState | undefined {
    const live = this.speakerOf(session)
    return live === undefined ? undefined : this.parts.emitter.stateOf(live.profile.agent, session)
  }

  /** Says something in a session that a living instance speaks for, and writes it; false when none does. */
  speak(session: string, act: (scene: Scene) => void): boolean {
    const live = this.speakerOf(session)
    if (live === undefined) return false
    this.turn(live, session, { at: this.parts.now(), act })
    this.parts.emitter.write()
    return true
  }

  /** Says that the agents are gone from here, and stops all timers. Open runs stay open for the next process. */
  stop(): void {
    this.watch.stop()
    this.deadlines.close()
    for (const handle of this.verdicts.values()) this.parts.timers.clear(handle)
    this.verdicts.clear()
    const agents = new Set(
      this.instances.all().flatMap((live) => (live.lapsedAt === undefined ? [live.profile] : [])),
    )
    for (const profile of agents) this.parts.emitter.presence(profile, "offline", this.parts.now())
  }

  /** Instances whose lease holds, and sessions they speak for. */
  get population(): { instances: number; sessions: number } {
    return this.instances.population
  }

  /** The last batch of an instance that is gone, resent because our answer was lost: it must not come alive again. */
  private isFarewellAgain({ instance, first, moments }: Batch, next: number): boolean {
    if (moments.length === 0 || first + moments.length > next) return false
    if (this.instances.get(instance.id) !== undefined) return false
    const own = this.parts.emitter.stateOf(instance.agent, ownSessionOf(instance.id))
    if (own?.ended !== true) return false
    this.counts.repeated += moments.length
    return true
  }

  private speakerOf(session: string): LiveInstance | undefined {
    return this.instances.speakerOf(session, (agent) => this.parts.emitter.stateOf(agent, session))
  }

  private meet(batch: Batch): LiveInstance {
    const { instance } = batch
    const now = this.parts.now()
    const known = this.instances.get(instance.id)
    if (known !== undefined && !known.recovered && known.lapsedAt === undefined) {
      known.instance = instance
      known.renewedAt = now
      return known
    }
    const profile = known?.profile ?? requireProfile(instance.agent)
    const isFirst = !this.instances.isHeard(profile.agent, instance.id)
    const live = known ?? this.instances.add(instance, profile, now, false)
    live.instance = instance
    live.renewedAt = now
    const wasRecovered = live.recovered
    live.recovered = false
    delete live.lapsedAt
    if (isFirst) this.parts.emitter.presence(profile, "online", now)
    this.turn(live, live.ownSession, {
      at: now,
      fresh: batch.first === 0,
      act: (scene) => ensureStarted(scene, { directory: instance.directory }),
    })
    if (wasRecovered) this.takeUp(live)
    return live
  }

  /** An instance from before our start speaks again: for all its sessions, also those in which nothing was open. */
  private takeUp(live: LiveInstance): void {
    const { agent, id } = live.instance
    for (const { session } of this.parts.ledger.naming(agent, id)) {
      if (session === undefined) continue
      const state = this.parts.emitter.stateOf(agent, session)
      if (state?.instance === id && !state.ended) live.sessions.add(session)
    }
    for (const session of live.sessions) this.resume(live, session)
  }

  /** A verdict that was waited for when the last process died is waited for again, from now. */
  private resume(live: LiveInstance, session: string): void {
    const state = this.parts.emitter.stateOf(live.profile.agent, session)
    if (state === undefined) return
    this.claim(live, state)
    if (state.run?.idleAt !== undefined) this.wake(live, session, VERDICT_DELAY_MS)
  }

  /** A session is the instance's to speak for while its lease lives and the session did not end. */
  private claim(live: LiveInstance, state: SessionState): void {
    if (state.ended || live.lapsedAt !== undefined) this.claims.free(state.session, live.instance.id)
    else this.claims.hold(state.session, live.instance)
  }

  private applyOne(live: LiveInstance, moment: Moment): Rejection | undefined {
    try {
      if (moment.kind === "dispose") this.dispose(live, moment)
      else {
        const session = sessionOf(moment) ?? live.ownSession
        live.sessions.add(session)
        this.turn(live, session, {
          at: moment.at,
          fresh: isBeginning(moment),
          moment,
          act: (scene) => applyMoment(scene, moment),
        })
        if (moment.kind === "delivery") {
          this.parts.emitter.write()
          this.parts.onDelivery?.(live.instance.id, moment.request, moment.status)
        }
      }
      return undefined
    } catch (error) {
      this.parts.onFault(error)
      return { n: moment.n, reason: "the service could not apply it; its own log says why" }
    }
  }

  private turn(
    live: LiveInstance,
    session: string,
    how: { at: number; fresh?: boolean; moment?: Moment; act: (scene: Scene) => void },
  ): void {
    const state = this.parts.emitter.turn({
      session,
      fresh: how.fresh ?? false,
      profile: live.profile,
      instance: live.instance,
      at: how.at,
      moment: how.moment,
      wake: (delayMs) => this.wake(live, session, delayMs),
      act: how.act,
    })
    if (state === undefined) return
    this.claim(live, state)
    this.deadlines.arm(state.agent, session, nextDeadline(state))
  }

  private lapseAsks(agent: string, session: string): void {
    const { emitter, now, onFault } = this.parts
    const live = this.instances.get(emitter.stateOf(agent, session)?.instance ?? "")
    if (live === undefined) return
    try {
      this.turn(live, session, { at: now(), act: onDeadline })
      emitter.write()
    } catch (error) {
      // They stay open, and end with their run or their instance.
      onFault(error)
    }
  }

  private wake(live: LiveInstance, session: string, delayMs: number): void {
    const { timers, now, emitter, onFault } = this.parts
    const id = `${live.profile.agent}/${session}`
    timers.clear(this.verdicts.get(id))
    const due = () => {
      this.verdicts.delete(id)
      try {
        this.turn(live, session, { at: now(), act: onVerdictDue })
        emitter.write()
      } catch (error) {
        // The run stays open and is judged on the next prompt or lapse.
        onFault(error)
      }
    }
    this.verdicts.set(id, timers.set(due, delayMs))
  }

  private dispose(live: LiveInstance, moment: Extract<Moment, { kind: "dispose" }>): void {
    for (const session of this.openOf(live)) {
      this.turn(live, session, { at: moment.at, moment, act: (scene) => closeOpen(scene, "disposed") })
    }
    this.turn(live, live.ownSession, {
      at: moment.at,
      moment,
      act: (scene) => endSession(scene, "normal", "disposed"),
    })
    this.parts.emitter.write()
    this.parts.onLeaving?.(live.instance.id)
    this.leave(live, moment.at)
    this.instances.remove(live.instance.id)
    this.claims.freeAll(live.instance.id)
  }

  private leave(live: LiveInstance, at: number): void {
    if (this.instances.isExpected(live.profile.agent, live.instance.id)) return
    this.parts.emitter.presence(live.profile, "offline", at)
  }

  /** Its sessions with something open. One that another instance took over is not this one's to close. */
  private openOf(live: LiveInstance): string[] {
    return [...live.sessions].filter((session) => {
      const state = this.parts.emitter.stateOf(live.profile.agent, session)
      const isOwn = session === live.ownSession
      return !isOwn && state !== undefined && isOpen(state) && state.instance === live.instance.id
    })
  }

  private tellDropped(live: LiveInstance, { dropped, first }: Batch): void {
    if (dropped === undefined) return
    const report = `${first} ${JSON.stringify(dropped)}`
    const total = totalOf(dropped)
    if (total === 0 || live.lastDropped === report) return
    live.lastDropped = report
    this.counts.dropped += total
    const draft = droppedDraft(live.profile.namespace, dropped)
    this.turn(live, live.ownSession, { at: this.parts.now(), act: (scene) => void scene.emit(draft) })
  }

  private look(at: number, slept: boolean): void {
    const { emitter } = this.parts
    if (slept) this.instances.renewAll(at)
    for (const live of this.instances.overdue(at)) this.lapse(live, at)
    for (const live of this.instances.forgotten(at)) {
      for (const session of this.openOf(live)) this.turn(live, session, { at, act: voidAsks })
      this.instances.remove(live.instance.id)
    }
    emitter.mendHoles(profileOf, at)
    emitter.write()
  }

  private lapse(live: LiveInstance, at: number): void {
    this.parts.onLeaving?.(live.instance.id)
    this.leave(live, at)
    live.lapsedAt = at
    for (const session of this.openOf(live)) {
      this.turn(live, session, { at, act: (scene) => closeOpen(scene, "lapsed") })
    }
    this.turn(live, live.ownSession, { at, act: (scene) => endSession(scene, "timeout", "lapsed") })
    this.claims.freeAll(live.instance.id)
  }
}

/** When the next of a session's requests lapses. */
function nextDeadline({ asks }: SessionState): number | undefined {
  let next: number | undefined
  for (const { expiresAt } of asks.values()) {
    if (expiresAt !== undefined && (next === undefined || expiresAt < next)) next = expiresAt
  }
  return next
}
