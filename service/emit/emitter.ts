/**
 * The one way an event leaves: a turn's events get their positions, stand in the log, and only then are said to the
 * hub and the relay. Groups the lines of a batch by session, one write each. Holes of a degraded log are told of first.
 */
import type { Instance } from "../../shared/moments.ts"
import { ceilingOf } from "../capture/ceiling.ts"
import { type Gated, gateDraft } from "../capture/gate.ts"
import type { Message } from "../hub/message.ts"
import type { Draft } from "../map/draft.ts"
import type { Profile } from "../map/profile.ts"
import type { Scene } from "../session/scene.ts"
import type { SessionState } from "../session/state.ts"
import type { SessionKey } from "../session/store.ts"
import type { Gap, SessionEntry } from "./entry.ts"
import { agentSource, buildEnvelope, sessionSource } from "./envelope.ts"
import type { Ledger } from "./ledger.ts"
import { openTurn, type Voice } from "./turn.ts"

export interface TurnRequest {
  session: string
  /** The caller saw the session begin. */
  fresh: boolean
  profile: Profile
  instance: Instance
  at: number
  moment?: { n: number; cut?: readonly string[] } | undefined
  wake: (delayMs: number) => void
  act: (scene: Scene) => void
}

/** Sessions whose lines may wait for the end of a batch; beyond it they are written early. */
const MAX_WAITING = 256

/** Events that were said, in order, all of one log. */
export interface Said {
  key: SessionKey
  messages: readonly Message[]
  /** Where they stand in the log; absent when it cannot be written: they go out live all the same. */
  logged: { file: string; start: number; end: number } | undefined
}

/** Counts since start, by what became of events. */
export interface EmitterCounts {
  events: number
  refused: number
  missed: number
}

export class Emitter {
  readonly counts: EmitterCounts = { events: 0, refused: 0, missed: 0 }
  private readonly waiting = new Map<SessionEntry<SessionState>, Message[]>()
  private readonly voice: Voice

  constructor(
    private readonly ledger: Ledger<SessionState>,
    voice: Omit<Voice, "onRefused">,
    private readonly onRefused: (type: string, field: string, code: string) => void,
    /** Told of everything once it is in the log. Must not throw, and must not call back into a turn. */
    private readonly onSaid: (said: Said) => void = () => undefined,
  ) {
    this.voice = {
      ...voice,
      onRefused: (type, refusal) => {
        this.counts.refused += 1
        this.onRefused(type, refusal.field, refusal.code)
      },
    }
  }

  /** Runs one turn and holds its events for `write`; returns the session's state after it. `undefined`: the moment
   *  was applied before and says nothing again. A throw of the rules leaves what was said before it. */
  turn(request: TurnRequest): SessionState | undefined {
    const { profile, session, moment } = request
    const key = { agent: profile.agent, session }
    // A moment resent after a crash, whose lines stand in this log already, must not speak twice.
    if (moment !== undefined && this.ledger.applied(request.instance.id, moment.n, key)) return undefined
    const entry = this.ledger.session(key, { fresh: request.fresh })
    this.mend(entry, profile, request.at)
    const { scene, finish } = openTurn(this.voice, {
      state: entry.state,
      profile,
      instance: request.instance,
      at: request.at,
      moment,
      wake: request.wake,
      parentOf: (of) => this.stateOf(profile.agent, of)?.parent,
    })
    try {
      request.act(scene)
    } finally {
      this.hold(
        entry,
        finish(() => this.ledger.position(entry)),
      )
    }
    return entry.state
  }

  /** Writes everything held. Ends the synchronous turn of a batch, together with the ledger's `acknowledge`. */
  write(): void {
    for (const [entry, messages] of this.waiting) this.append(entry, messages)
    this.waiting.clear()
  }

  /** State of a session without loading what nobody knows. */
  stateOf(agent: string, session: string): SessionState | undefined {
    return this.ledger.find({ agent, session })?.state
  }

  /** Says whether the agent as a whole is there (truth rule 7); agent-scoped, so without session or position. */
  presence(profile: Profile, state: "online" | "offline", at: number): void {
    const built = buildEnvelope({
      id: this.voice.newId(),
      type: "agent.presence",
      time: at,
      source: agentSource(this.voice.host, profile.agent),
      agent: profile.agent,
      ...this.gated(profile, { type: "agent.presence", data: { state } }),
    })
    if (built.kind === "refused") {
      this.voice.onRefused("agent.presence", built)
      return
    }
    const entry = this.ledger.session({ agent: profile.agent }, { fresh: true })
    this.append(entry, [{ event: built.event, text: built.line }])
  }

  /** Tells of holes in sessions that say nothing more; for a timer. */
  mendHoles(profileOf: (agent: string) => Profile | undefined, at: number): void {
    for (const entry of this.ledger.holes()) {
      const profile = profileOf(entry.key.agent)
      if (profile !== undefined) this.mend(entry, profile, at)
    }
  }

  private append(entry: SessionEntry<SessionState>, messages: readonly Message[]): void {
    const appended = this.ledger.append(
      entry,
      messages.map(({ text }) => text),
    )
    const isWritten = appended.kind === "written"
    if (isWritten) this.counts.events += messages.length
    else this.counts.missed += messages.length
    this.onSaid({ key: entry.key, messages, logged: isWritten ? appended : undefined })
  }

  private hold(entry: SessionEntry<SessionState>, messages: Message[]): void {
    if (messages.length === 0) {
      this.ledger.touch(entry)
      return
    }
    const source = entry.state.source
    if (entry.source === undefined && source !== undefined) entry.source = source
    const held = this.waiting.get(entry)
    if (held === undefined) this.waiting.set(entry, messages)
    else held.push(...messages)
    if (this.waiting.size > MAX_WAITING) this.write()
  }

  /** A counted gap event first, when events of this session were lost (design: a record must not hide its holes). */
  private mend(entry: SessionEntry<SessionState>, profile: Profile, at: number): void {
    // Lines held for this batch have their positions already; the gap event must not get in before them.
    if (entry.gap === undefined || this.waiting.has(entry)) return
    const session = entry.key.session
    if (session === undefined) return
    const source = entry.state.source ?? sessionSource(this.voice.host, profile.agent, session)
    let message: Message | undefined
    const mended = this.ledger.mend(entry, (position, gap) => {
      message = this.gapMessage(profile, session, source, at, position, gap)
      return message.text
    })
    if (mended.kind !== "mended" || message === undefined) return
    this.counts.events += 1
    this.onSaid({ key: entry.key, messages: [message], logged: mended })
  }

  private gated(profile: Profile, draft: Draft): Gated {
    const { ceilings, redactor } = this.voice
    return gateDraft(draft, { ceiling: ceilingOf(ceilings, draft.type), agent: profile.agent, redactor })
  }

  private gapMessage(
    profile: Profile,
    session: string,
    source: string,
    at: number,
    position: { epoch: number; seq: number },
    gap: Gap,
  ): Message {
    const type = `x.${profile.namespace}.log.gap`
    const built = buildEnvelope({
      id: this.voice.newId(),
      type,
      time: at,
      source,
      agent: profile.agent,
      session,
      ...position,
      ...this.gated(profile, { type, data: { reason: gap.reason, missed: gap.missed } }),
    })
    if (built.kind === "built") return { event: built.event, text: built.line }
    throw new Error(`the gap event of a session was refused: ${built.field} is ${built.code}`)
  }
}
