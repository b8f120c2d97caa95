/** What a plugin says it had to drop, made fit to be told of. */
import { identifierOf } from "../map/identifier.ts"

/** Kinds are the plugin's reasons and the agent's bus types; whatever else somebody sends is counted without its name. */
export function namedKinds(kinds: Readonly<Record<string, number>>): Record<string, number> {
  const named: Record<string, number> = {}
  for (const [kind, count] of Object.entries(kinds)) {
    const name = identifierOf(kind) ?? "other"
    named[name] = (named[name] ?? 0) + count
  }
  return named
}
