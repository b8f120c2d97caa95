/**
 * One turn: what one moment (or one timer) makes a session say. Gives the rules their scene, gates each draft,
 * lets the state follow every event at once, and ends in finished lines. Writes nothing; positions and ids are
 * handed in. The one road from a draft to an envelope.
 */
import type { FieldSpec } from "../../shared/aep-payloads.ts"
import type { Instance } from "../../shared/moments.ts"
import { lineageOf } from "../attention/lineage.ts"
import { type Ceilings, ceilingOf } from "../capture/ceiling.ts"
import { type Gated, type GateOptions, gateDraft } from "../capture/gate.ts"
import type { Redactor } from "../capture/redact.ts"
import type { Message } from "../hub/message.ts"
import type { Draft } from "../map/draft.ts"
import type { Profile } from "../map/profile.ts"
import { type Desk, NO_DESK } from "../session/desk.ts"
import { fold } from "../session/fold.ts"
import { type MarkNames, markNames, SAID_MARKS } from "../session/marks.ts"
import type { Links, Scene } from "../session/scene.ts"
import type { SessionState } from "../session/state.ts"
import { buildEnvelope, type EnvelopeParts, type Refusal, sessionSource } from "./envelope.ts"

export interface Voice {
  /** Host part of `source` for sessions that have none yet. */
  host: string
  /** Mints an event id; a ULID. */
  newId: () => string
  /** Digest of original content (AEP-0003 §9.3). */
  digest: (value: unknown) => string
  /** The most that may be told, by category of event (AEP-0003 §9.1). */
  ceilings: Ceilings
  /** The redaction pipeline (AEP-0003 §9.4). */
  redactor: Redactor
  /** What asks need of the house; nobody sits at it when absent. */
  desk?: Desk
  /** Told of an event that could not be built: a fault of ours or a hostile id, never content. */
  onRefused: (type: string, refusal: Refusal) => void
}

/** What a turn is about. */
export interface TurnSubject {
  state: SessionState
  profile: Profile
  instance: Instance
  /** Epoch milliseconds. */
  at: number
  /** Index and cuts of the causing moment; absent on timers. */
  moment?: { n: number; cut?: readonly string[] } | undefined
  wake: (delayMs: number) => void
  /** The parent of another session of the agent; nothing is known when absent. */
  parentOf?: (session: string) => string | undefined
}

export interface Turn {
  scene: Scene
  /** What the turn says, in order. `position` is asked once per event. */
  finish: (position: () => { epoch: number; seq: number }) => Message[]
}

/** Opens a turn on a session. */
export function openTurn(voice: Voice, subject: TurnSubject): Turn {
  const { state, profile, instance, at, moment } = subject
  const marks = marksOf(profile)
  const source = state.source ?? sessionSource(voice.host, profile.agent, state.session)
  const pending: EnvelopeParts[] = []

  const emit = (draft: Draft, links: Links = {}): string => {
    const id = voice.newId()
    const run = links.run === undefined ? state.run?.id : (links.run ?? undefined)
    const gate: GateOptions = {
      ceiling: ceilingOf(voice.ceilings, draft.type),
      agent: profile.agent,
      redactor: voice.redactor,
      ...(links.fields === undefined ? {} : { fields: links.fields as readonly FieldSpec[] }),
    }
    const gated = gateDraft(draft, gate)
    const { capture, data } = gated
    const extensions: Record<string, string | number> = { [marks.instance]: instance.id }
    if (moment !== undefined) extensions[marks.moment] = moment.n
    for (const name of SAID_MARKS) {
      const value = links.marks?.[name]
      if (value !== undefined) extensions[marks[name]] = value
    }
    const parts: EnvelopeParts = {
      id,
      type: draft.type,
      time: at,
      source,
      agent: profile.agent,
      session: state.session,
      capture,
      extensions,
    }
    if (draft.subject !== undefined) parts.subject = draft.subject
    if (draft.severity !== undefined) parts.severity = draft.severity
    if (run !== undefined) parts.run = run
    if (links.cause !== undefined) parts.cause = links.cause
    if (data !== undefined) parts.data = data
    pending.push(parts)
    fold(state, { ...parts, data: remembered(draft, gated, gate), extensions }, marks)
    return id
  }

  return {
    scene: {
      state,
      profile,
      instance,
      at,
      digest: voice.digest,
      desk: voice.desk ?? NO_DESK,
      lineage: () =>
        lineageOf(state.session, (of) => (of === state.session ? state.parent : subject.parentOf?.(of))),
      cut: moment?.cut,
      emit,
      wake: subject.wake,
    },
    finish: (position) => {
      for (const parts of pending) {
        const { epoch, seq } = position()
        parts.epoch = epoch
        parts.seq = seq
      }
      const { messages, isWhole, told } = build(pending)
      // A group that counts a line it does not have would look torn and be cut at the next start.
      return isWhole ? messages : build(told).messages
    },
  }

  function build(parts: readonly EnvelopeParts[]): {
    messages: Message[]
    isWhole: boolean
    told: EnvelopeParts[]
  } {
    const messages: Message[] = []
    const told: EnvelopeParts[] = []
    parts.forEach((part, index) => {
      const more = parts.length - 1 - index
      const counted = moment !== undefined && more > 0
      const built = buildEnvelope(
        counted ? { ...part, extensions: { ...part.extensions, [marks.more]: more } } : part,
      )
      if (built.kind === "built") {
        messages.push({ event: built.event, text: built.line })
        told.push(part)
      } else voice.onRefused(part.type, built)
    })
    return { messages, isWhole: told.length === parts.length, told }
  }
}

/**
 * What the session's state may know of an event: what was told of it, or, where nothing may be told, its structure. The
 * rules need calls, asks and evidence at every ceiling; state that is rebuilt from a log without payloads lacks them.
 */
function remembered(draft: Draft, gated: Gated, gate: GateOptions): Record<string, unknown> {
  if (gated.capture !== "none") return gated.data ?? {}
  return gateDraft(draft, { ...gate, ceiling: "metadata" }).data ?? {}
}

const known = new Map<string, MarkNames>()

function marksOf(profile: Profile): MarkNames {
  const names = known.get(profile.namespace) ?? markNames(profile.namespace)
  known.set(profile.namespace, names)
  return names
}
