/**
 * The drop-in's one export. The agent calls it once a directory (sometimes more often) and waits for it, so it
 * returns at once: no call of the agent's client, no request, no timer, nothing connects before the first event.
 */
import { readExplicit } from "./config.ts"
import { createCore } from "./core.ts"
import { createHooks, type Hooks } from "./hooks.ts"
import { directoryOf, readHost } from "./host.ts"
import { PACE } from "./pace.ts"
import { slotOf } from "./registry.ts"

/**
 * The plugin function. `context` is the agent's plugin context, of which only `directory` and `worktree` are
 * read; `options` are the plugin options where the agent passes them. Never throws, never rejects: whatever goes
 * wrong gives an empty hooks object, for OpenCode 1.0 answers every request with 500 when a plugin fails to load.
 */
export const OpencodeAep = async (context: unknown, options?: unknown): Promise<Partial<Hooks>> => {
  try {
    const host = readHost()
    const explicit = readExplicit(options, host)
    if (explicit.off) return {}
    return createHooks(slotOf(directoryOf(context)), () => createCore(context, explicit, host, PACE))
  } catch {
    return {}
  }
}
