/**
 * Carries proven decisions out, through the agent's own client in this process, each once; what came of it goes up. Decides by
 * what this instance saw itself: a decision that no longer applies is stale, whatever the service believes.
 */
import type { Decision, DeliveryStatus, DownMessage } from "../../shared/moments.ts"
import type { Drops } from "./drops.ts"
import { asFields, asText, type Fields, isFields } from "./fields.ts"
import { remember } from "./memory.ts"
import { after } from "./timer.ts"

/** What carrying out needs. */
export interface DeliveryParts {
  /** The agent's client as the plugin's context has it; read at the time of need, since its shape is the agent's. */
  client(): unknown
  /** The prompt that a session works on, as far as this instance saw it. */
  promptOf(session: string): string | undefined
  /** Sends up what came of a decision. */
  report(request: string, status: DeliveryStatus): void
  drops: Drops
  /** Bound of one call of the client, milliseconds. */
  callMs: number
}

/** A taker of proven decisions. */
export function createDelivery(parts: DeliveryParts): (message: DownMessage) => void {
  const { client, promptOf, report, drops, callMs } = parts
  const known = new Map<string, DeliveryStatus | "under way">()

  const cancel = async ({ session, run }: Decision): Promise<DeliveryStatus> => {
    // The run that was meant may be over, and another one begun: that one nobody wanted to stop.
    if (promptOf(session) !== run) return "stale"
    const sessions = asFields(client()).session
    if (!isFields(sessions) || typeof sessions.abort !== "function") return "failed"
    const answer: unknown = await bounded(sessions.abort({ path: { id: session } }), callMs)
    return asFields(answer).error === undefined ? "done" : "failed"
  }

  const carryOut = async (request: string, decision: Decision): Promise<void> => {
    let status: DeliveryStatus = "failed"
    try {
      status = await cancel(decision)
    } catch {
      // The client threw or took too long: the agent was not told, as far as anybody knows.
    }
    remember(known, request, status)
    report(request, status)
  }

  return ({ request, decision }) => {
    const before = known.get(request)
    if (before === "under way") return
    if (before !== undefined) {
      // Sent again because our word did not arrive.
      report(request, before)
      return
    }
    const read = readDecision(decision)
    if (read === undefined) {
      drops.count("unproved")
      return
    }
    remember(known, request, "under way")
    carryOut(request, read).catch(() => drops.count("fault"))
  }
}

/** A decision of a kind that this version knows. */
function readDecision(text: string): Decision | undefined {
  const { kind, session, run } = parse(text)
  const [sessionId, runId] = [asText(session), asText(run)]
  if (kind !== "cancel" || sessionId === undefined || runId === undefined) return undefined
  return { kind, session: sessionId, run: runId }
}

function parse(text: string): Fields {
  try {
    return asFields(JSON.parse(text))
  } catch {
    // Proven and no JSON: a service of another make. Nothing of it is known.
    return {}
  }
}

function bounded(work: unknown, ms: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const cancel = after(
      ms,
      () => reject(new RangeError("the client took too long")),
      () => undefined,
    )
    Promise.resolve(work).then(resolve, reject).finally(cancel)
  })
}
