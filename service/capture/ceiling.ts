/**
 * The most that may be told, by category of event (AEP-0003 §9.1). Pure: which levels an operator asked for is read
 * by the configuration. A category is the first token of a type; vendor types are one, `x`.
 */
import type { Capture } from "../../shared/aep.ts"

/** The categories of AEP-0001 §6, and `x` for vendor types. */
export const CATEGORIES = [
  "agent",
  "session",
  "run",
  "progress",
  "tool",
  "delegation",
  "attention",
  "resource",
  "error",
  "state",
  "assessment",
  "message",
  "control",
  "x",
] as const
/** A category of events. */
export type Category = (typeof CATEGORIES)[number]
/** A ceiling for every category. */
export type Ceilings = Readonly<Record<Category, Capture>>

/** What holds when nobody said anything: structure only, but a person must be able to read what they are asked. */
const DEFAULT: Capture = "metadata"
const DEFAULT_ATTENTION: Capture = "redacted"

/**
 * Ceilings from a general level and levels of single categories. A general level that was given holds for asks too, also where
 * it is lower than their default: who says "metadata" means no text at all. The default for asks stands only where
 * nothing was said.
 */
export function ceilingsFrom(general?: Capture, single: Partial<Record<Category, Capture>> = {}): Ceilings {
  const of = (category: Category): Capture =>
    single[category] ?? general ?? (category === "attention" ? DEFAULT_ATTENTION : DEFAULT)
  return Object.fromEntries(CATEGORIES.map((category) => [category, of(category)])) as Record<
    Category,
    Capture
  >
}

/** The ceiling of a type. A type of no category is told like a vendor's. */
export function ceilingOf(ceilings: Ceilings, type: string): Capture {
  const category = type.slice(0, type.indexOf("."))
  return Object.hasOwn(ceilings, category) ? ceilings[category as Category] : ceilings.x
}
