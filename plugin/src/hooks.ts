/**
 * The hooks the agent calls. Every one is async and catches everything: on OpenCode 1.18 a synchronous throw in
 * `event` kills runs, and an unhandled rejection is nobody's business but ours. They read their arguments and
 * change nothing, but for the answer to a held `permission.ask`, the one hook that may take its time and throw.
 */
import type { Core } from "./core.ts"
import { asFields, type Fields } from "./fields.ts"
import { claim, type Slot } from "./registry.ts"
import type { HookName } from "./table.ts"

type Hook = (input?: unknown, output?: unknown) => Promise<void>

/** The hooks of one call of the plugin function. `dispose` does not exist on OpenCode 1.0. */
export type Hooks = Record<HookName, Hook>

/** Hooks that speak through the slot's core and open one, by `open`, at the first moment that is theirs. */
export function createHooks(slot: Slot, open: () => Core): Hooks {
  const speaker = {}
  let spoke = false
  let disposed = false

  /** The core, for a subject that is ours to tell. */
  const speaking = (subject: object): Core | undefined => {
    // OpenCode 1.18 publishes a last `session.updated` after it called `dispose`. It is claimed, lest a mute copy
    // opens an instance for it, and not told: an instance opened here would have nobody to end it.
    if (!claim(slot, speaker, subject) || disposed) return undefined
    spoke = true
    slot.core ??= open()
    return slot.core
  }

  const end = async () => {
    // A copy that never spoke is not the one whose end this is.
    if (!spoke) return
    spoke = false
    const { core } = slot
    slot.core = undefined
    await core?.end()
  }

  const observe =
    (hook: HookName): Hook =>
    async (input, output) => {
      try {
        if (isObject(input)) speaking(input)?.take(hook, input, output)
      } catch {
        // A fault of ours must look to the agent as if we were not installed.
      }
    }

  return {
    event: async (input) => {
      try {
        const event = asFields(input).event
        if (!isObject(event)) return
        const { type, properties } = event
        speaking(isObject(properties) ? properties : event)?.take("event", event, undefined)
        // The only goodbye OpenCode 1.0 says; later versions call the hook and do not deliver this event.
        if (type === "server.instance.disposed") await end()
      } catch {
        // As above.
      }
    },
    "tool.execute.before": observe("tool.execute.before"),
    "tool.execute.after": observe("tool.execute.after"),
    "chat.message": observe("chat.message"),
    "permission.ask": async (input, output) => {
      let held: Promise<void> | undefined
      try {
        if (isObject(input)) held = speaking(input)?.hold?.(input, output)
      } catch {
        // As above.
      }
      // The one throw that is meant for the agent: the ask became void while it was held.
      await held
    },
    dispose: async () => {
      try {
        disposed = true
        await end()
      } catch {
        // As above.
      }
    },
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null
}
