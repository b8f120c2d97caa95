/** How much a voice tells and how it redacts: the part of `Voice` that a suite about something else takes as given. */
import { type Category, type Ceilings, ceilingsFrom } from "../service/capture/ceiling.ts"
import { createRedactor, type Redactor } from "../service/capture/redact.ts"
import type { Capture } from "../shared/aep.ts"

/** The part of a voice that says how much. */
export interface Posture {
  ceilings: Ceilings
  redactor: Redactor
}

/** Ceilings as the configuration makes them, and the pipeline of an operator who lives at `/home/dev`. */
export function posture(general?: Capture, single: Partial<Record<Category, Capture>> = {}): Posture {
  return {
    ceilings: ceilingsFrom(general, single),
    redactor: createRedactor({ home: "/home/dev", secretValues: [], pii: true }),
  }
}

/** Structure only, asks included. */
export const QUIET: Posture = posture("metadata")

/** A pipeline that changes nothing. */
export const VERBATIM: Redactor = { text: (text) => text, value: (value) => value }

/** A pipeline that shows where it was: every text in angle brackets. */
export const MARKING: Redactor = { text: mark, value: markDeep }

function mark(text: string): string {
  return `<${text}>`
}

function markDeep(value: unknown): unknown {
  if (typeof value === "string") return mark(value)
  if (Array.isArray(value)) return value.map(markDeep)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, markDeep(member)]))
}
