/**
 * Carries answers to asks out: to the agent's own routes, or to the hook in which it waits. Only while the ask is open by what
 * this instance saw: whatever the service says, nothing is delivered to a void one.
 */
import type { Decision, DeliveryStatus } from "../../shared/moments.ts"
import { type Ask, type Asks, DISMISSED, saysAnswers } from "./asks.ts"
import type { AgentClient, Called } from "./client.ts"
import type { Hold } from "./hold.ts"

/** A decision about an ask. */
export type AskDecision = Exclude<Decision, { kind: "cancel" }>
type Reply = Extract<Decision, { kind: "reply" }>

/** What answering needs. */
export interface AnsweringParts {
  asks: Asks
  client: AgentClient
  /** The hook that is held for an ask. */
  holdOf(ask: Ask): Hold | undefined
}

/** Carries one decision out. May reject: then the agent was not told. */
export function createAnswering({ asks, client, holdOf }: AnsweringParts) {
  return async (decision: AskDecision): Promise<DeliveryStatus> => {
    const ask = asks.find(decision.session, decision.ask)
    if (ask === undefined) return "stale"
    const { family } = ask
    switch (decision.kind) {
      case "pending":
        return holdOf(ask)?.extend(decision.ms) === true ? "done" : "stale"
      case "lapse":
        return holdOf(ask)?.release() === true ? "done" : "stale"
      case "hook":
        return holdOf(ask)?.decide(decision.status) === true ? "done" : "stale"
      case "reply":
        if (family !== "reply" && family !== "legacy") return "stale"
        return deliver(ask, decision, decision.reply, () => reply(client, ask, decision))
      case "answers": {
        if (family !== "question") return "stale"
        const answers = inWords(decision.answers, ask.labels)
        if (answers === undefined) return "failed"
        const post = () => client.post("/question/{requestID}/reply", { requestID: ask.id }, { answers })
        return deliver(ask, decision, saysAnswers(answers), post)
      }
      case "dismiss":
        if (family !== "question") return "stale"
        return deliver(ask, decision, DISMISSED, () =>
          client.post("/question/{requestID}/reject", { requestID: ask.id }, {}),
        )
      default:
        decision satisfies never
        return "failed"
    }
  }
}

/** The echo comes before the call returns, so it is awaited first; and it may come long after one that takes its time. */
async function deliver(
  ask: Ask,
  { by }: Extract<AskDecision, { by: unknown }>,
  says: string,
  tell: () => Promise<Called>,
): Promise<DeliveryStatus> {
  const delivering = { by, says }
  ask.delivering = delivering
  const called = await tell()
  if (called === "done" || called === "slow") return "done"
  if (ask.delivering === delivering) delete ask.delivering
  return called
}

function reply(client: AgentClient, ask: Ask, { reply, message }: Reply): Promise<Called> {
  const { id, session, family } = ask
  if (message === undefined || family === "legacy") return client.permission(session, id, reply)
  return client.post("/permission/{requestID}/reply", { requestID: id }, { reply, message })
}

/** Choices by their place from 1 as the agent's own labels, and a person's own words as they are. */
function inWords(
  answers: readonly (readonly (number | string)[])[],
  labels: Ask["labels"],
): string[][] | undefined {
  if (answers.length !== labels.length) return undefined
  const worded: string[][] = []
  for (const [nth, parts] of answers.entries()) {
    const words = parts.map((part) => (typeof part === "string" ? part : labels[nth]?.[part - 1]))
    if (!words.every((word) => word !== undefined)) return undefined
    worded.push(words)
  }
  return worded
}
