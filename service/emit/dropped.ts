/** What a plugin says it had to drop, made fit to be told of. */
import type { Draft } from "../map/draft.ts"
import { identifierOf } from "../map/identifier.ts"

/** The event that tells of drops. */
export function droppedDraft(namespace: string, kinds: Readonly<Record<string, number>>): Draft {
  return {
    type: `x.${namespace}.moments.dropped`,
    severity: "warning",
    data: { count: totalOf(kinds), kinds: namedKinds(kinds) },
  }
}

/** How many were dropped in all. */
export function totalOf(kinds: Readonly<Record<string, number>>): number {
  return Object.values(kinds).reduce((sum, count) => sum + count, 0)
}

/** Kinds are the plugin's reasons and the agent's bus types; whatever else somebody sends is counted without its name. */
function namedKinds(kinds: Readonly<Record<string, number>>): Record<string, number> {
  const named: Record<string, number> = {}
  for (const [kind, count] of Object.entries(kinds)) {
    const name = identifierOf(kind) ?? "other"
    named[name] = (named[name] ?? 0) + count
  }
  return named
}
