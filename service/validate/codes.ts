/**
 * Every verdict the validator can give: its stable code, the section that demands it, and how much it weighs. Data
 * only. Rules name a code and say what they saw; `validator.ts` looks here for the rest, so no rule knows of `--strict`.
 */

/**
 * `error`: the record breaks the protocol. `doubtful`: a warning, an error under strict, because the text allows it or
 * a reader of one file cannot be sure. `strict`: our own invariants, looked for under strict only. `note`: never fails.
 */
export type Weight = "error" | "doubtful" | "strict" | "note"

/** What stands behind a code. */
export interface Verdict {
  weight: Weight
  /** Document and section, as the specification numbers them. */
  rule: string
}

const at =
  (weight: Weight) =>
  (rule: string): Verdict => ({ weight, rule })
const error = at("error")
const doubtful = at("doubtful")
const strict = at("strict")
const note = at("note")

/** The table, in the order in which a line is judged. */
export const CODES = {
  "line.bom": error("AEP-0003 §3.1"),
  "line.blank": error("AEP-0003 §3.1"),
  "line.crlf": error("AEP-0003 §3.1"),
  "line.utf8": error("AEP-0001 §5"),
  "line.too-long": error("AEP-0003 §3.1"),
  "line.torn": error("AEP-0003 §3.1"),
  "line.unterminated": doubtful("AEP-0003 §3.1"),
  "line.json": error("AEP-0001 §5"),
  "line.member": doubtful("AEP-0001 §5"),
  "version.unsupported": note("AEP-0003 §3.1"),
  "version.nothing-judged": error("AEP-0003 §3.1"),
  "envelope.object": error("AEP-0001 §5"),
  "envelope.version": error("AEP-0001 §5.1"),
  "envelope.attribute": error("AEP-0001 §5.1"),
  "envelope.type": error("AEP-0001 §6"),
  "envelope.extension": error("AEP-0001 §5.4"),
  "envelope.placement": error("AEP-0001 §5.2"),
  "type.unregistered": error("AEP-0002 §3"),
  "type.reserved": note("AEP-0002 §4.3"),
  "payload.schema": error("AEP-0002 §5"),
  "capture.none": error("AEP-0001 §8.2"),
  "capture.above": error("AEP-0002 §5.1"),
  "capture.prompt": doubtful("AEP-0002 §5.3"),
  "capture.label": doubtful("AEP-0002 §5.3"),
  "capture.values": error("AEP-0002 §5.3"),
  "capture.values-unjudged": doubtful("AEP-0002 §5.3"),
  "id.duplicate": error("AEP-0001 §7.4"),
  "id.collision": error("AEP-0001 §5.1"),
  "order.epoch": error("AEP-0001 §7.2"),
  "order.seq": error("AEP-0001 §7.2"),
  "order.repeated": error("AEP-0001 §7.2"),
  "order.inexact": doubtful("AEP-0001 §7.2"),
  "run.terminal": error("AEP-0002 §2.5"),
  "run.unnamed": strict("AEP-0002 §2.1"),
  "run.reopened": strict("AEP-0002 §2.1"),
  "run.unopened": strict("AEP-0002 §2.1"),
  "run.overlap": strict("AEP-0002 §2.1"),
  "run.open": strict("AEP-0002 §2.1"),
  "tool.terminal": strict("AEP-0002 §2.5"),
  "tool.reopened": strict("AEP-0002 §2.1"),
  "tool.unrequested": strict("AEP-0002 §2.1"),
  "tool.open": strict("AEP-0002 §2.1"),
  "form.required": error("AEP-0002 §5.3"),
  "form.choice": error("AEP-0002 §5.3"),
  "form.value": doubtful("AEP-0002 §5.3"),
  "attention.subject": error("AEP-0002 §7.1"),
  "attention.unknown": doubtful("AEP-0002 §7.1"),
  "attention.option": doubtful("AEP-0002 §5.3"),
  "attention.answer": doubtful("AEP-0002 §7.2"),
  "attention.resolution": doubtful("AEP-0002 §7.2"),
  "attention.terminal": error("AEP-0002 §7.2"),
  "attention.open": error("AEP-0002 §7.2"),
  "session.terminal": error("AEP-0002 §2.5"),
  "session.after-end": strict("AEP-0002 §2.5"),
  "ack.second": error("AEP-0004 §3"),
  "ack.cause": doubtful("AEP-0004 §3"),
  "cause.unknown": strict("AEP-0001 §5.1"),
} as const satisfies Record<string, Verdict>

/** The name of a verdict. Codes are stable: scripts and tests match them, people read the detail. */
export type Code = keyof typeof CODES

/** One thing found in a file. Nothing in it repeats a value of the file, only names that the protocol defines. */
export interface Finding {
  /** Counted from 1. */
  line: number
  code: Code
  severity: "error" | "warning"
  /** The section that demands it. */
  rule: string
  /** Path of the attribute or payload member, where one is at fault. */
  field?: string
  /** What was seen and what is accepted, in words. */
  detail: string
}

/** How a code counts: undefined where it is not looked for at all. */
export function severityFor(code: Code, isStrict: boolean): Finding["severity"] | undefined {
  const { weight } = CODES[code]
  switch (weight) {
    case "error":
      return "error"
    case "doubtful":
      return isStrict ? "error" : "warning"
    case "strict":
      return isStrict ? "error" : undefined
    case "note":
      return "warning"
    default:
      return weight satisfies never
  }
}
