/**
 * One per directory: gives every moment its index, trims and writes it, and hands it to the uplink. Runs on the
 * agent's own thread inside its hooks, so it costs microseconds, holds none of the agent's objects and throws
 * nothing.
 */
import { writeMoment } from "./bound.ts"
import type { Explicit } from "./config.ts"
import { createDrops } from "./drops.ts"
import { asFields } from "./fields.ts"
import type { Host } from "./host.ts"
import { createInstance, versionIn } from "./instance.ts"
import { createLink } from "./link.ts"
import { createMemory } from "./memory.ts"
import type { Pace } from "./pace.ts"
import { type HookName, isNoise, planeOf, trimMoment } from "./table.ts"
import { createUplink } from "./uplink.ts"

/** What the hooks of every copy of this file in the process may call; keep it stable, the copies may differ. */
export interface Core {
  /** Takes one hook call: for `event` the bus event and nothing, else the hook's two arguments. */
  take(hook: HookName, input: unknown, output: unknown): void
  /** Says goodbye and flushes within the pace's bounds. */
  end(): Promise<void>
}

const KINDS: Readonly<Record<HookName, string>> = {
  event: "event",
  "tool.execute.before": "tool.before",
  "tool.execute.after": "tool.after",
  "chat.message": "chat.message",
  "permission.ask": "permission.ask",
  dispose: "dispose",
}

/** A core with a new instance. Connects at its first moment, not before. */
export function createCore(context: unknown, explicit: Explicit, host: Host, pace: Pace): Core {
  const instance = createInstance(context, host)
  const memory = createMemory(explicit.stream)
  const drops = createDrops()
  let next = 0
  const uplink = createUplink({
    link: createLink(explicit, pace.requestMs),
    drops,
    pace,
    header: () => ({ instance, next }),
    now: () => Date.now(),
    random: () => Math.random(),
  })

  const enqueue = (hook: HookName, input: unknown, output: unknown, at: number) => {
    const moment = trimMoment(hook, input, output, memory)
    if (moment === undefined) return
    const n = next
    next += 1
    const { text, bytes } = writeMoment(moment, n, at)
    uplink.push({ n, text, bytes, kind: kindOf(hook, input), plane: planeOf(hook, input) })
  }

  return {
    take(hook, input, output) {
      if (isNoise(hook, input, memory)) return
      const at = Date.now()
      const version = hook === "event" ? versionIn(input) : undefined
      if (version !== undefined) instance.version = version
      if (uplink.refusing) {
        next += 1
        drops.count(kindOf(hook, input))
        return
      }
      try {
        enqueue(hook, input, output, at)
      } catch {
        // Cyclic, a bigint, or a getter that throws: the agent's object cannot be told, its loss can.
        drops.count(kindOf(hook, input))
      }
    },
    async end() {
      if (next === 0) return
      enqueue("dispose", undefined, undefined, Date.now())
      await uplink.close()
    },
  }
}

function kindOf(hook: HookName, input: unknown): string {
  return hook === "event" ? `${asFields(input).type}` : KINDS[hook]
}
