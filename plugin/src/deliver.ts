/**
 * Takes proven decisions, has each carried out once, and reports what came of it. Decides by what this instance saw itself: a
 * decision that no longer applies is stale, whatever the service believes.
 */
import type { Decision, DeliveryStatus, DownMessage } from "../../shared/moments.ts"
import type { AskDecision } from "./answering.ts"
import type { AgentClient } from "./client.ts"
import { readDecision } from "./decision.ts"
import type { Drops } from "./drops.ts"
import { remember } from "./memory.ts"

/** What came of a decision. */
export interface Report {
  request: string
  status: DeliveryStatus
  decision: Decision
}

/** What carrying out needs. */
export interface DeliveryParts {
  client: AgentClient
  /** The prompt that a session works on, as far as this instance saw it. */
  promptOf(session: string): string | undefined
  /** Carries a decision about an ask out. */
  answer(decision: AskDecision): Promise<DeliveryStatus>
  /** Sends up what came of a decision. */
  report(report: Report): void
  drops: Drops
}

/** A taker of proven decisions. */
export function createDelivery(parts: DeliveryParts): (message: DownMessage) => void {
  const { client, promptOf, answer, report, drops } = parts
  const known = new Map<string, Report | "under way">()

  const carryOut = async (decision: Decision): Promise<DeliveryStatus> => {
    if (decision.kind !== "cancel") return answer(decision)
    // The run that was meant may be over, and another one begun: that one nobody wanted to stop.
    if (promptOf(decision.session) !== decision.run) return "stale"
    return (await client.abort(decision.session)) === "done" ? "done" : "failed"
  }

  const take = async (request: string, decision: Decision): Promise<void> => {
    let status: DeliveryStatus = "failed"
    try {
      status = await carryOut(decision)
    } catch {
      // A fault of ours: the agent was not told, as far as anybody knows.
      drops.count("fault")
    }
    const outcome = { request, status, decision }
    remember(known, request, outcome)
    report(outcome)
  }

  return ({ request, decision }) => {
    const before = known.get(request)
    if (before === "under way") return
    if (before !== undefined) {
      // Sent again because our word did not arrive.
      report(before)
      return
    }
    const read = readDecision(decision)
    if (read === undefined) {
      drops.count("unproved")
      return
    }
    remember(known, request, "under way")
    take(request, read).catch(() => drops.count("fault"))
  }
}
