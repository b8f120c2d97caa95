/**
 * Finds out whose child a session is that asks before any event told: a sub-agent resumed in a new process, or a plugin that came
 * late. Asks the agent once a session, behind the hooks' backs, and tells it as the agent's own events do.
 */
import type { AgentClient } from "./client.ts"
import type { Drops } from "./drops.ts"
import type { Fields } from "./fields.ts"
import { remember } from "./memory.ts"

/** What looking up needs. */
export interface KinParts {
  client: AgentClient
  /** Whether the session's parent is known, or that it has none. */
  isPlaced(session: string): boolean
  /** Takes what a `session.updated` event would have told. */
  tell(properties: Fields): void
  drops: Drops
}

/** Looks a session up, unless it was before. */
export function createKin({ client, isPlaced, tell, drops }: KinParts): (session: string) => void {
  const asked = new Map<string, true>()
  return (session) => {
    if (isPlaced(session) || asked.has(session)) return
    remember(asked, session, true)
    const look = async () => {
      const info = await client.session(session)
      if (info?.id === session && !isPlaced(session)) tell({ sessionID: session, info })
    }
    look().catch(() => drops.count("fault"))
  }
}
