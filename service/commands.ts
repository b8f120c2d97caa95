/**
 * Commands put together: the control that decides on them, the way down on which decisions reach the plugins, and the desk at
 * which the session rules ask for both. `main.ts` makes it beside the intake, through which all of them see and speak.
 */
import { createHmac } from "node:crypto"
import type { Decision, DeliveryStatus } from "../shared/moments.ts"
import { Control, type ControlParts } from "./control/control.ts"
import type { Told } from "./control/decisions.ts"
import { Downlink } from "./control/downlink.ts"
import type { NamedAsk } from "./control/respond.ts"
import { findLine } from "./emit/acks.ts"
import { createIds } from "./emit/ids.ts"
import type { Intake } from "./emit/intake.ts"
import type { Ledger } from "./emit/ledger.ts"
import type { Timers } from "./emit/shelf.ts"
import { readMessage } from "./hub/message.ts"
import type { Desk } from "./session/desk.ts"
import type { SessionState } from "./session/state.ts"

/** What commands are made of. */
export interface CommandsParts {
  /** What decisions are proven with. */
  proofKey: Buffer
  /** Names of the agents whose logs may hold a session. */
  agents: readonly string[]
  ledger: Ledger<SessionState>
  /** Asked for when a command comes; it is made after this. */
  intake: () => Pick<Intake, "speak" | "targetOf" | "stateOf">
  windows: Desk["windows"]
  repeat: ControlParts["repeat"]
  digest: ControlParts["digest"]
  now: () => number
  timers: Timers
}

/** Commands, put together. */
export interface Commands {
  control: Control
  downlink: Downlink
  desk: Desk
  /** The plugin says what came of a decision. */
  delivered: (instance: string, request: string, status: DeliveryStatus) => void
}

/** Makes them. */
export function createCommands(parts: CommandsParts): Commands {
  const { proofKey, agents, ledger, intake, windows, repeat, digest, now, timers } = parts
  const newId = createIds(now)
  const downlink = new Downlink({
    sign: (...signed) => createHmac("sha256", proofKey).update(signed.join("\0")).digest("hex"),
    now,
    timers,
  })
  const control = new Control({
    speak: (session, act) => intake().speak(session, act),
    target: (session) => {
      const target = intake().targetOf(session)
      if (target === undefined) return undefined
      return { ...target, isListening: downlink.isListening(target.instance) }
    },
    ask: (session, eventId) => namedAsk(intake().stateOf(session), eventId),
    earlier: (session, mark) => earlierAck(agents, ledger, session, mark),
    push: (instance, request, decision, until) => downlink.push(instance, request, decision, until),
    settle: (instance, request) => downlink.settle(instance, request),
    repeat,
    digest,
    newId,
    now,
    timers,
  })
  /** What the plugin is told beside decisions, again and again until it says that it knows. */
  const notify = (instance: string, decision: Decision, ms: number): void => {
    downlink.push(instance, newId(), decision, now() + ms)
  }
  return {
    control,
    downlink,
    desk: {
      now,
      windows,
      applied: (mark) => control.applied(mark),
      isDecided: (mark) => control.isDecided(mark),
      isUnderWay: (session, ask) => control.isUnderWay(session, ask),
      onHeld: (instance, session, ask, ms) => notify(instance, { kind: "pending", session, ask, ms }, ms),
      onLapse: (instance, session, ask) => notify(instance, { kind: "lapse", session, ask }, LAPSE_MS),
      onOfferedAgain: (session, ask) => control.offeredAgain(session, ask),
    },
    delivered: (instance, request, status) => {
      if (!control.delivered(request, status)) downlink.settle(instance, request)
    },
  }
}

/** A hook that was not told by then has let itself go. */
const LAPSE_MS = 10_000

/** What is known of the request whose event has this id. */
function namedAsk(state: SessionState | undefined, eventId: string): NamedAsk {
  for (const [ask, open] of state?.asks ?? []) {
    if (open.eventId === eventId) return { kind: "open", ask, state: open }
  }
  for (const ended of state?.endedAsks.values() ?? []) {
    if (ended.eventId === eventId) return { kind: "ended", how: ended.how }
  }
  return { kind: "unknown" }
}

/** The acknowledgement that a mark names, wherever the session's log is. */
function earlierAck(
  agents: readonly string[],
  ledger: Ledger<SessionState>,
  session: string,
  mark: string,
): Told | undefined {
  for (const agent of agents) {
    const file = ledger.knows({ agent, session }) ? ledger.find({ agent, session })?.file : undefined
    const line = file === undefined ? undefined : findLine(ledger.path(file), JSON.stringify(mark))
    const read = line === undefined ? undefined : readMessage(line)
    if (read?.kind === "message") return read.message
  }
  return undefined
}
