/**
 * The `permission.ask` hook of OpenCode 1.0 (design §3): held only while somebody can answer, set by what was decided, let go
 * untouched in time whatever the service does, and thrown out of when the ask became void.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { Core } from "../../plugin/src/core.ts"
import { createHold } from "../../plugin/src/hold.ts"
import { createHooks } from "../../plugin/src/hooks.ts"
import { slotOf } from "../../plugin/src/registry.ts"
import type { Decision } from "../../shared/moments.ts"
import { AnswersHouse, ASKED, about, BY, S } from "./plugin-answers-house.ts"
import { busEvent } from "./plugin-fixtures.ts"

let house: AnswersHouse
beforeEach(() => {
  house = new AnswersHouse()
})
afterEach(() => house.close())

const PERMISSION = ASKED.legacy.properties
const hook = (status: "allow" | "deny"): Decision => ({ kind: "hook", ...about, status, by: BY })
const tell = (core: Core, type: string, properties: Record<string, unknown>) =>
  void core.take("event", busEvent(type, properties), undefined)

/** A core that heard that somebody could answer. */
async function answerable(...given: Parameters<AnswersHouse["core"]>): Promise<Core> {
  const core = house.core(...given)
  tell(core, "session.created", { info: { id: S } })
  await house.sayAnswerable(true)
  return core
}

/** A hook that is held, and how it ends. */
function hold(core: Core, output: object = { status: "ask" }) {
  const seen: { end?: string } = {}
  const held = core.hold?.(PERMISSION, output)
  if (held === undefined) throw new Error("the hook was not held")
  const over = held.then(
    () => {
      seen.end = "returned"
    },
    (error) => {
      seen.end = String(error)
    },
  )
  return { seen, output, over }
}

const isTold = () => house.peer.applied.some(({ kind }) => kind === "permission.ask")

describe("a hook is held", () => {
  test("while somebody can answer, and is told as held", async () => {
    const core = await answerable()
    const { seen } = hold(core)
    await house.peer.until(isTold)
    expect(house.peer.applied.at(-1)).toMatchObject({
      kind: "permission.ask",
      held: true,
      permission: { id: "per_1", sessionID: S },
    })
    expect(seen).toEqual({})
  })

  const never: [string, () => Promise<Core>][] = [
    ["before the service said anything", async () => house.core()],
    [
      "while nobody can answer",
      async () => {
        const core = await answerable()
        await house.sayAnswerable(false)
        return core
      },
    ],
    [
      "while polls fail",
      async () => {
        const core = await answerable()
        const poll = await house.poll()
        expect(poll.believes).toBe("true")
        poll.answer(new Response("", { status: 500 }))
        const next = await house.poll()
        expect(next.believes).toBe("false")
        return core
      },
    ],
    ["where that is switched off", () => answerable({}, { noHold: true })],
    [
      "by an instance that has ended",
      async () => {
        const core = await answerable()
        await core.end()
        return core
      },
    ],
  ]
  test.each(never)("never %s", async (_, made) => {
    const core = await made()
    const output = { status: "ask" }
    expect(core.hold?.(PERMISSION, output)).toBeUndefined()
    expect(output).toEqual({ status: "ask" })
    expect(isTold()).toBe(false)
  })

  test.each([[undefined], [null], [{}], [{ id: "per_1" }], [{ id: 1, sessionID: S }]])(
    "never for %j",
    async (input) => {
      const core = await answerable()
      expect(core.hold?.(input, { status: "ask" })).toBeUndefined()
    },
  )

  test("never where it cannot be told", async () => {
    const core = await answerable()
    const cyclic: Record<string, unknown> = { ...PERMISSION }
    cyclic.metadata = { big: 1n }
    const held = core.hold?.(cyclic, { status: "ask" })
    await held
    await house.send(["R1", hook("allow")])
    await house.reported(1)
    expect(house.deliveries()).toMatchObject([{ status: "stale" }])
  })
})

describe("a held hook", () => {
  test.each(["allow", "deny"] as const)(
    "is set to %s by what was decided, which is reported",
    async (status) => {
      const { over, output, seen } = hold(await answerable())
      await house.send(["R1", hook(status)])
      await over
      expect(seen.end).toBe("returned")
      expect(output).toEqual({ status })
      await house.reported(1)
      expect(house.deliveries()).toEqual([{ request: "R1", status: "done", ...about, by: BY }])
      expect(house.calls).toEqual([])
    },
  )

  test("is set once: what comes later is stale, and so is what would answer the dialog that follows", async () => {
    const core = await answerable()
    const { over, output } = hold(core)
    await house.send(["R1", hook("deny")], ["R2", hook("allow")])
    await over
    tell(core, "permission.updated", PERMISSION)
    await house.send(["R3", hook("allow")])
    await house.reported(3)
    expect(output).toEqual({ status: "deny" })
    expect(house.deliveries().map(({ request, status }) => [request, status])).toEqual([
      ["R1", "done"],
      ["R2", "stale"],
      ["R3", "stale"],
    ])
  })

  test("takes no answer that is meant for a dialog", async () => {
    const { output, seen } = hold(await answerable())
    await house.send(["R1", { kind: "reply", ...about, reply: "once", by: BY }])
    await house.reported(1)
    expect(house.deliveries()).toMatchObject([{ status: "stale" }])
    expect([output, seen, house.calls]).toEqual([{ status: "ask" }, {}, []])
  })

  test("whose output cannot be set is let go, and that has failed", async () => {
    const { over, seen } = hold(await answerable(), Object.freeze({ status: "ask" }))
    await house.send(["R1", hook("allow")])
    await over
    await house.reported(1)
    expect(seen.end).toBe("returned")
    expect(house.deliveries()).toMatchObject([{ status: "failed" }])
  })

  test("is let go untouched when the service says so, and the ask that follows is a dialog's", async () => {
    const core = await answerable()
    const { over, output } = hold(core)
    await house.send(["R1", { kind: "lapse", ...about }])
    await over
    expect(output).toEqual({ status: "ask" })
    await house.reported(1)
    expect(house.deliveries()).toEqual([{ request: "R1", status: "done", ...about }])
    tell(core, "permission.updated", PERMISSION)
    await house.send(["R2", { kind: "reply", ...about, reply: "once", by: BY }])
    await house.reported(2)
    expect(house.calls).toMatchObject([{ body: { response: "once" } }])
  })

  test("is let go by the plugin's own clock when nothing is heard", async () => {
    const { over, output, seen } = hold(await answerable({ holdMs: 20 }))
    await over
    expect([output, seen.end]).toEqual([{ status: "ask" }, "returned"])
  })

  test("waits a little longer than the service says that it will", async () => {
    const core = await answerable({ holdMs: 60_000, holdGraceMs: 40 })
    const began = Date.now()
    const { over, output } = hold(core)
    await house.send(["R1", { kind: "pending", ...about, ms: 30 }])
    await over
    expect(Date.now() - began).toBeGreaterThanOrEqual(69)
    expect(output).toEqual({ status: "ask" })
    expect(house.deliveries()).toEqual([{ request: "R1", status: "done", ...about }])
  })

  const voids: [string, (core: Core) => unknown][] = [
    [
      "an abort",
      (core) => tell(core, "session.error", { sessionID: S, error: { name: "MessageAbortedError" } }),
    ],
    ["an idle", (core) => tell(core, "session.idle", { sessionID: S })],
    ["a deletion", (core) => tell(core, "session.deleted", { info: { id: S } })],
    [
      "the end of its call",
      (core) =>
        tell(core, "message.part.updated", {
          part: { type: "tool", id: "p", callID: "call_1", sessionID: S, state: { status: "error" } },
        }),
    ],
    ["the end of the instance", (core) => core.end()],
  ]
  test.each(voids)("throws after %s, and nothing can set it any more", async (_, end) => {
    const core = await answerable()
    const { over, output, seen } = hold(core)
    await end(core)
    await over
    expect(seen.end).toContain("stopped while this permission was asked")
    expect(output).toEqual({ status: "ask" })
  })

  test("stays after what voids nothing", async () => {
    const core = await answerable()
    const { seen, output, over } = hold(core)
    tell(core, "session.error", { sessionID: S, error: { name: "UnknownError" } })
    tell(core, "session.idle", { sessionID: "ses_2" })
    await house.send(["R1", hook("allow")])
    await over
    expect([output, seen.end]).toEqual([{ status: "allow" }, "returned"])
  })
})

describe("the hook of the agent", () => {
  /** The hooks of one copy of the plugin, on the slot of a directory. */
  const copy = (directory: string, core: Core) => createHooks(slotOf(directory), () => core)

  test("waits in the copy that speaks, and the other copies return at once", async () => {
    const core = await answerable()
    const copies = [copy("/hold", core), copy("/hold", core)]
    const output = { status: "ask" }
    const waiting = copies.map((hooks) => hooks["permission.ask"](PERMISSION, output))
    await waiting[1]
    await house.peer.until(isTold)
    await house.send(["R1", hook("allow")])
    await waiting[0]
    expect(output).toEqual({ status: "allow" })
    expect(house.peer.applied.filter(({ kind }) => kind === "permission.ask")).toHaveLength(1)
  })

  test("is never held between copies of two versions: whoever speaks must know how", async () => {
    const core = await answerable()
    const older = copy("/older", { take: () => undefined, end: async () => undefined })
    await older["permission.ask"](PERMISSION, { status: "ask" })
    // An older copy's hook hands it to `take`, and waits for nothing.
    core.take("permission.ask", PERMISSION, { status: "ask" })
    tell(core, "permission.updated", PERMISSION)
    await house.peer.until(() => house.told().includes("permission.updated"))
    expect(isTold()).toBe(false)
  })

  test("rejects when its ask became void", async () => {
    const core = await answerable()
    const hooks = copy("/void", core)
    const waiting = hooks["permission.ask"](PERMISSION, { status: "ask" })
    await hooks.event({ event: busEvent("session.idle", { sessionID: S }) })
    expect(waiting).rejects.toThrow("stopped")
    await waiting.catch(() => undefined)
  })
})

test("a hold that nobody waits for harms nobody when it is void", async () => {
  const ends: string[] = []
  const held = createHold({
    output: {},
    holdMs: 1_000,
    graceMs: 0,
    onOver: () => ends.push("over"),
    onFault: () => ends.push("fault"),
  })
  held.annul()
  await Bun.sleep(1)
  expect(ends).toEqual(["over"])
  expect([held.decide("allow"), held.extend(1), held.release()]).toEqual([false, false, false])
})
