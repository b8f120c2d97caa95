/**
 * Commands put together: the control that decides on them, and the way down on which decisions reach the plugins. `main.ts`
 * makes it beside the intake, through which both see and speak.
 */
import { createHmac } from "node:crypto"
import { Control, type ControlParts, type Told } from "./control/control.ts"
import { Downlink } from "./control/downlink.ts"
import { findLine } from "./emit/acks.ts"
import { createIds } from "./emit/ids.ts"
import type { Intake } from "./emit/intake.ts"
import type { Ledger } from "./emit/ledger.ts"
import type { Timers } from "./emit/shelf.ts"
import { readMessage } from "./hub/message.ts"
import type { SessionState } from "./session/state.ts"

/** What commands are made of. */
export interface CommandsParts {
  /** What decisions are proven with. */
  proofKey: Buffer
  /** Names of the agents whose logs may hold a session. */
  agents: readonly string[]
  ledger: Ledger<SessionState>
  /** Asked for when a command comes; it is made after this. */
  intake: () => Pick<Intake, "speak" | "targetOf">
  repeat: ControlParts["repeat"]
  digest: ControlParts["digest"]
  now: () => number
  timers: Timers
}

/** Makes both. */
export function createCommands(parts: CommandsParts): { control: Control; downlink: Downlink } {
  const { proofKey, agents, ledger, intake, repeat, digest, now, timers } = parts
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
    earlier: (session, mark) => earlierAck(agents, ledger, session, mark),
    push: (instance, request, decision, until) => downlink.push(instance, request, decision, until),
    settle: (instance, request) => downlink.settle(instance, request),
    repeat,
    digest,
    newId: createIds(now),
    now,
    timers,
  })
  return { control, downlink }
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
