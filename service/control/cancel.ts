/**
 * Whether a `control.cancel` can be done (AEP-0004 §5): a verdict over the command and what is known of its session. Only a
 * run can be stopped, only the one that is open, and only where the agent that runs it listens.
 */
import * as v from "valibot"
import type { AepEvent } from "../../shared/aep.ts"
import type { Reason } from "./decisions.ts"

/** What is known of the session that a command names. */
export interface Target {
  /** The living instance that speaks for it. */
  instance: string
  /** The open run. */
  run: string | undefined
  /** The instance polls for decisions. */
  isListening: boolean
}

/** `dispatch`: the agent is to be told. */
export type CancelVerdict =
  | { kind: "dispatch"; instance: string; run: string }
  | { kind: "reject"; reason: Reason }

const payloadSchema = v.looseObject({ scope: v.picklist(["run", "session"]) })

/** The verdict. A command that names no run means the one that is open. */
export function judgeCancel({ data, run }: AepEvent, target: Target | undefined): CancelVerdict {
  const payload = v.safeParse(payloadSchema, data)
  if (!payload.success) return { kind: "reject", reason: "invalid" }
  // The agent can stop working; a session of its has no end but its deletion, which nobody asked for.
  if (payload.output.scope === "session") return { kind: "reject", reason: "refused" }
  if (target?.run === undefined || (run !== undefined && run !== target.run)) {
    return { kind: "reject", reason: "refused" }
  }
  if (!target.isListening) return { kind: "reject", reason: "busy" }
  return { kind: "dispatch", instance: target.instance, run: target.run }
}
