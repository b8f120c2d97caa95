/** What a text names among things that have an id and a label (AEP-0002 §5.3). Pure. */

/** Something that can be named. */
export interface Entry {
  id: string
  label: string
}

/** What a text names: `twins`, a label that several have; `clash`, the id of one that another has as its label. */
export type Named = { kind: "one"; entry: Entry } | { kind: "none" } | { kind: "twins" } | { kind: "clash" }

/** An id, or the label of exactly one (AEP-0002 §5.3); case and spaces around do not matter. */
export function namedBy(text: string, entries: readonly Entry[]): Named {
  const typed = text.trim().toLowerCase()
  if (typed === "") return { kind: "none" }
  const byId = entries.filter(({ id }) => id.toLowerCase() === typed)
  const byLabel = entries.filter(({ label }) => label.trim().toLowerCase() === typed)
  const [entry, ...others] = byId.length > 0 ? new Set([...byId, ...byLabel]) : byLabel
  if (entry === undefined) return { kind: "none" }
  if (others.length > 0) return { kind: byId.length > 0 ? "clash" : "twins" }
  return { kind: "one", entry }
}
