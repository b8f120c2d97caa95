/**
 * One per directory: gives every moment its index, trims and writes it, and hands it to the uplink; follows what the agent asks,
 * and has answers carried out. Runs on the agent's own thread inside its hooks, so it costs microseconds, holds none of the
 * agent's objects and throws nothing.
 */
import { createAnswering } from "./answering.ts"
import { createAsks, type Seen } from "./asks.ts"
import { writeMoment } from "./bound.ts"
import { createClient } from "./client.ts"
import type { Explicit } from "./config.ts"
import { createDelivery, type Report } from "./deliver.ts"
import { createDownlink } from "./downlink.ts"
import { createDrops } from "./drops.ts"
import { asFields, asText, isFields } from "./fields.ts"
import { createHolding } from "./holding.ts"
import { directoryOf, type Host } from "./host.ts"
import { createInstance, versionIn } from "./instance.ts"
import { createKin } from "./kin.ts"
import { createLink } from "./link.ts"
import { createMemory, type Memory, remember } from "./memory.ts"
import type { Pace } from "./pace.ts"
import {
  type HookName,
  isNoise,
  type Plane,
  planeOf,
  type TrimmedMoment,
  trimAsk,
  trimMoment,
} from "./table.ts"
import { createUplink } from "./uplink.ts"

/** What the hooks of every copy of this file in the process may call; keep it stable, the copies may differ. */
export interface Core {
  /** Takes one hook call: for `event` the bus event and nothing, else the hook's two arguments. */
  take(hook: HookName, input: unknown, output: unknown): void
  /**
   * Takes the `permission.ask` hook of OpenCode 1.0, for which the agent waits: what it returns is to be awaited by the hook, and
   * rejects when that must throw; undefined = it returns at once. Absent in a core of an older copy.
   */
  hold?(input: unknown, output: unknown): Promise<void> | undefined
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
  const asks = createAsks()
  const client = createClient(() => asFields(context).client, directoryOf(context), pace.callMs)
  let next = 0
  const now = () => Date.now()
  const random = () => Math.random()
  const link = createLink(explicit, pace.requestMs, pace.pollMs)
  const uplink = createUplink({
    link,
    drops,
    pace,
    header: () => ({ instance, next }),
    onAccepted: (again) => {
      downlink.start()
      if (again) offerAgain()
    },
    now,
    random,
  })
  const deliver = createDelivery({
    client,
    promptOf: (session) => memory.prompts.get(session),
    answer: createAnswering({ asks, client, holdOf: (ask) => holding.of(ask) }),
    report: (report) => push(deliveryOf(report), "delivery", "state"),
    drops,
  })
  const downlink = createDownlink({
    ...{ link, drops, pace, instance: instance.id, deliver, now, random },
    onUnknown: () => uplink.greet(),
  })
  const lookUp = createKin({
    client,
    isPlaced: asks.isPlaced,
    tell: (properties) => take("event", { type: "session.updated", properties }, undefined),
    drops,
  })

  const push = (moment: TrimmedMoment, kind: string, plane: Plane, at = now()): string => {
    const n = next
    next += 1
    const { text, bytes } = writeMoment(moment, n, at)
    uplink.push({ n, text, bytes, kind, plane })
    return text
  }

  const offerAgain = () => {
    for (const ask of asks.all) {
      if (ask.told === undefined) continue
      const { n: _, at: __, ...moment } = JSON.parse(ask.told)
      push(moment, KINDS.event, "state")
    }
  }

  /** Follows asks before anything may be left out: what is open must be known also while nobody is told. */
  const follow = (hook: HookName, input: unknown): Seen => {
    if (hook !== "event" || !isFields(input)) return {}
    const seen = asks.see(input)
    if (seen.opened !== undefined) lookUp(seen.opened.session)
    return seen
  }

  const holding = createHolding({
    asks,
    drops,
    pace,
    tell: (permission) => {
      lookUp(`${permission.sessionID}`)
      const moment = { ...trimAsk(permission), held: true } as const
      return push(moment, KINDS["permission.ask"], "state")
    },
  })

  const take = (hook: HookName, input: unknown, output: unknown): void => {
    // Where an ask's hook is not held the agent asks over its bus right after, and that is what is told.
    if (hook === "permission.ask" || isNoise(hook, input, memory)) return
    const at = now()
    const version = hook === "event" ? versionIn(input) : undefined
    if (version !== undefined) instance.version = version
    try {
      const { opened, by } = follow(hook, input)
      notePrompt(memory, hook, input, output)
      if (uplink.refusing) {
        next += 1
        drops.count(kindOf(hook, input))
        if (opened === undefined) return
      }
      const moment = trimMoment(hook, input, output, memory)
      if (moment === undefined) return
      const tagged = by === undefined ? moment : ({ ...moment, by } as TrimmedMoment)
      if (uplink.refusing) {
        if (opened !== undefined) asks.keep(opened, writeMoment(tagged, 0, at).text)
        return
      }
      const text = push(tagged, kindOf(hook, input), planeOf(hook, input), at)
      if (opened !== undefined) asks.keep(opened, text)
    } catch {
      // Cyclic, a bigint, or a getter that throws: the agent's object cannot be told, its loss can.
      drops.count(kindOf(hook, input))
    }
  }

  return {
    take,
    hold(input, output) {
      if (explicit.noHold || uplink.refusing || !downlink.answerable || !isFields(input)) return undefined
      return holding.begin(input, output)
    },
    async end() {
      downlink.close()
      asks.voidAll()
      if (next === 0) return
      push({ kind: "dispose" }, KINDS.dispose, "state")
      await uplink.close()
    },
  }
}

function deliveryOf({ request, status, decision }: Report): TrimmedMoment {
  const told = { kind: "delivery", request, status } as const
  if (decision.kind === "cancel") return told
  const { session, ask } = decision
  return { ...told, session, ask, ...("by" in decision ? { by: decision.by } : {}) }
}

/** A session works on the first prompt since its last idle; those behind it are answered with it. */
function notePrompt({ prompts }: Memory, hook: HookName, input: unknown, output: unknown): void {
  if (hook === "chat.message") {
    const session = asText(asFields(input).sessionID)
    const message = asText(asFields(asFields(output).message).id)
    if (session === undefined || message === undefined || prompts.has(session)) return
    remember(prompts, session, message)
  } else if (hook === "event") {
    const { type } = asFields(input)
    if (prompts.size === 0 || (type !== "session.idle" && type !== "session.deleted")) return
    const { sessionID, info } = asFields(asFields(input).properties)
    prompts.delete(asText(sessionID) ?? asText(asFields(info).id) ?? "")
  }
}

function kindOf(hook: HookName, input: unknown): string {
  return hook === "event" ? `${asFields(input).type}` : KINDS[hook]
}
