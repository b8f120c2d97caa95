/**
 * How much each type of event matters (AEP-0001 §8.1), as a table. The specification fixes only that
 * `attention.requested` is `notice` or more (AEP-0002 §4.1); the rest is this emitter's judgement, so that a
 * consumer filtering from `notice` up sees what a person may want to act on, and no machinery. A draft may say
 * otherwise. Called by the envelope builder.
 */
import { DEFAULT_SEVERITY, type Severity } from "../../shared/aep.ts"

/** Core types that are not plain `info`. */
export const CORE_SEVERITY: Readonly<Record<string, Severity>> = {
  "attention.requested": "notice",
  // Nobody answered in time: the agent goes on without the person it asked for.
  "attention.timeout": "warning",
  // Stopped by rule, as the user set it up: worth seeing, nothing is broken.
  "tool.denied": "notice",
  // The agent usually recovers from a failed call; it does not from a failed run.
  "tool.failed": "warning",
  "run.failed": "error",
  // Somebody stopped it on purpose.
  "run.cancelled": "notice",
  "error.raised": "error",
  "control.rejected": "notice",
  "agent.heartbeat": "debug",
}

/** Vendor types that are not machinery, by what follows `x.{vendor}.`. */
export const VENDOR_SEVERITY: Readonly<Record<string, Severity>> = {
  "session.error": "error",
  // Events are missing from the durable log.
  "log.gap": "warning",
}

/** Machinery that only somebody looking for a fault wants to see. */
const VENDOR_DEFAULT: Severity = "debug"

const core: ReadonlyMap<string, Severity> = new Map(Object.entries(CORE_SEVERITY))
const vendor: ReadonlyMap<string, Severity> = new Map(Object.entries(VENDOR_SEVERITY))

/**
 * The severity of a type where its draft names none. Takes the type alone: an `agent.health` that is not `ok` must
 * name its own.
 */
export function severityOf(type: string): Severity {
  if (!type.startsWith("x.")) return core.get(type) ?? DEFAULT_SEVERITY
  return vendor.get(type.slice(type.indexOf(".", 2) + 1)) ?? VENDOR_DEFAULT
}
