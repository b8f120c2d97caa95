/**
 * One per directory: gives every moment its index, trims and writes it, and hands it to the uplink. Runs on the
 * agent's own thread inside its hooks, so it costs microseconds, holds none of the agent's objects and throws
 * nothing.
 */
import { writeMoment } from "./bound.ts"
import type { Explicit } from "./config.ts"
import { createDelivery } from "./deliver.ts"
import { createDownlink } from "./downlink.ts"
import { createDrops } from "./drops.ts"
import { asFields, asText } from "./fields.ts"
import type { Host } from "./host.ts"
import { createInstance, versionIn } from "./instance.ts"
import { createLink } from "./link.ts"
import { createMemory, type Memory, remember } from "./memory.ts"
import type { Pace } from "./pace.ts"
import { type HookName, isNoise, type Plane, planeOf, type TrimmedMoment, trimMoment } from "./table.ts"
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
  const now = () => Date.now()
  const random = () => Math.random()
  const link = createLink(explicit, pace.requestMs, pace.pollMs)
  const uplink = createUplink({
    link,
    drops,
    pace,
    header: () => ({ instance, next }),
    onAccepted: () => downlink.start(),
    now,
    random,
  })
  const deliver = createDelivery({
    client: () => asFields(context).client,
    promptOf: (session) => memory.prompts.get(session),
    report: (request, status) => push({ kind: "delivery", request, status }, "delivery", "state"),
    drops,
    callMs: pace.callMs,
  })
  const downlink = createDownlink({ link, drops, pace, instance: instance.id, deliver, now, random })

  const push = (moment: TrimmedMoment, kind: string, plane: Plane, at = now()) => {
    const n = next
    next += 1
    const { text, bytes } = writeMoment(moment, n, at)
    uplink.push({ n, text, bytes, kind, plane })
  }

  const enqueue = (hook: HookName, input: unknown, output: unknown, at: number) => {
    const moment = trimMoment(hook, input, output, memory)
    if (moment !== undefined) push(moment, kindOf(hook, input), planeOf(hook, input), at)
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
        notePrompt(memory, hook, input, output)
        enqueue(hook, input, output, at)
      } catch {
        // Cyclic, a bigint, or a getter that throws: the agent's object cannot be told, its loss can.
        drops.count(kindOf(hook, input))
      }
    },
    async end() {
      downlink.close()
      if (next === 0) return
      enqueue("dispose", undefined, undefined, Date.now())
      await uplink.close()
    },
  }
}

/** A session works on the first prompt since its last idle; those behind it are answered with it. */
function notePrompt({ prompts }: Memory, hook: HookName, input: unknown, output: unknown): void {
  if (hook === "chat.message") {
    const session = asText(asFields(input).sessionID)
    const message = asText(asFields(asFields(output).message).id)
    if (session === undefined || message === undefined || prompts.has(session)) return
    remember(prompts, session, message)
  } else if (hook === "event") {
    const { type, properties } = asFields(input)
    if (type !== "session.idle" && type !== "session.deleted") return
    const { sessionID, info } = asFields(properties)
    prompts.delete(asText(sessionID) ?? asText(asFields(info).id) ?? "")
  }
}

function kindOf(hook: HookName, input: unknown): string {
  return hook === "event" ? `${asFields(input).type}` : KINDS[hook]
}
