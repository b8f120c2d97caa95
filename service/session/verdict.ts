/**
 * How a run ended, from the evidence gathered while it was open (surface.md §7). A pure table, read once per run:
 * idle alone is no success, an error event alone no failure.
 */
import type { Draft } from "../map/draft.ts"
import type { Json } from "../map/members.ts"
import type { MessageEvidence, OpenRun } from "./state.ts"

/** What made us judge: the session went idle, or something ended it while it worked. */
export type JudgedOn = "idle" | "next-prompt" | "deleted" | "disposed" | "lapsed"

/** The one terminal of a run. `now` is used for the duration of a run that never went idle. */
export function judgeRun(run: OpenRun, on: JudgedOn, now: number): Draft {
  const last = lastAnswer(run)
  const spent: Json = { duration_ms: Math.max(0, (run.idleAt ?? now) - run.startedAt), ...totals(run) }
  const unfinished = last?.finish === undefined || last.finish === "tool-calls" || last.finish === "unknown"
  // A refusal explains an unfinished answer better than an error of the session, except the user's own abort.
  const isTold = run.stoppedBy === undefined || run.error === "MessageAbortedError"
  const error = last?.error ?? (unfinished && isTold ? run.error : undefined)
  if (error === "MessageAbortedError") return cancelled(run.cancel === undefined ? "user" : "control", spent)
  if (error !== undefined) return failed(error, spent, { type: error })
  switch (last?.finish) {
    case "stop":
      return { type: "run.finished", data: spent }
    case undefined:
      return cancelled(byWhom(run, on), spent)
    case "tool-calls":
    case "unknown":
      // The loop was to go on after the call, but a refusal stopped it, or something the agent does not report.
      return run.stoppedBy === undefined ? cancelled(byWhom(run, on), spent) : failed("rejected", spent)
    default:
      // `length`, `content-filter`, `error`, `other`: the provider's own word for why the answer is not whole.
      return failed(last?.finish ?? "error", spent)
  }
}

/** The last assistant message that answers the prompt; a compaction's summary answers nothing. */
export function lastAnswer(run: OpenRun): MessageEvidence | undefined {
  let last: MessageEvidence | undefined
  for (const message of run.messages.values()) if (!message.compaction) last = message
  return last
}

/** A run that never went idle was not stopped by its user, as far as anyone can know. */
function byWhom(run: OpenRun, on: JudgedOn): "user" | "control" | "shutdown" {
  if (run.cancel !== undefined) return "control"
  return run.idleAt === undefined && (on === "disposed" || on === "lapsed") ? "shutdown" : "user"
}

function cancelled(by: string, spent: Json): Draft {
  return { type: "run.cancelled", data: { by, ...spent } }
}

function failed(reason: string, spent: Json, error?: Json): Draft {
  return { type: "run.failed", data: { reason, ...(error === undefined ? {} : { error }), ...spent } }
}

/**
 * Tokens and cost over all messages of the run, each message counted once. D-04 The agent reports cost 0 for a
 * model whose price it does not know (every scripted run shows it), so a sum of 0 is unknown and left out; its
 * price table is in US dollars.
 */
function totals(run: OpenRun): Json {
  let input = 0
  let output = 0
  let cost = 0
  for (const message of run.messages.values()) {
    input += message.input ?? 0
    output += message.output ?? 0
    cost += message.cost ?? 0
  }
  return {
    ...(input + output === 0
      ? {}
      : { "gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output }),
    ...(cost > 0 ? { cost: { currency: "USD", total: roundCost(cost) } } : {}),
  }
}

/** Sums of binary fractions carry noise past the price table's resolution. */
function roundCost(value: number): number {
  return Number(value.toFixed(9))
}
