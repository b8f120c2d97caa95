/**
 * The held hook of OpenCode 1.0 (design.md §3): what its plugin is told and when, how it ends, and that the agent's own dialog,
 * which takes over when it is let go, is another request.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { MomentBody } from "../../shared/moments.ts"
import { bus } from "../house.ts"
import * as asks from "./asks-house.ts"
import { held, report, S, updated, WINDOWS } from "./asks-house.ts"

let at: asks.AskHouse
beforeEach(async () => {
  at = new asks.AskHouse()
  at.tell()
  await at.poll()
})
afterEach(() => at.remove())

const R1 = "attention.requested R1"
const TIMEOUT = `attention.timeout R1 after_ms=${WINDOWS.hookMs} <R1`
const SUCCESSOR = "attention.requested R2 <attention.timeout"
const pending = (ask = "per_1") => ({ kind: "pending", session: S, ask, ms: WINDOWS.hookMs }) as const
const lapse = { kind: "lapse", session: S, ask: "per_1" } as const
const legacyReply = (response: string): MomentBody =>
  bus("permission.replied", { sessionID: S, permissionID: "per_1", response })

/** The notices that come down until nothing new does. */
const kinds = async (ms: number) => (await at.pass(ms)).map(({ decision }) => JSON.parse(decision).kind)

describe("a held hook", () => {
  test("has its plugin told, again until it says that it knows", async () => {
    at.tell(held())
    expect(await at.notices()).toEqual([pending()])
    expect(await at.notices()).toEqual([])
    at.wait(5_000)
    const [again] = await at.poll()
    expect(JSON.parse(again?.decision ?? "")).toEqual(pending())
    at.tell({ kind: "delivery", request: again?.request ?? "", status: "done", session: S, ask: "per_1" })
    expect(await kinds(WINDOWS.hookMs - 6_000)).toEqual([])
  })

  test("that is told again is one request, held once", async () => {
    at.tell(held())
    await at.notices()
    at.tell(held(), held())
    expect(await at.notices()).toEqual([])
    expect(at.tale()).toEqual([R1])
  })

  test("nobody answers is let go at its time and not before, once", async () => {
    at.tell(held())
    const sent = await kinds(WINDOWS.hookMs - 1)
    expect(sent).not.toContain("lapse")
    expect(at.tale()).toEqual([R1])
    at.wait(1)
    expect(at.tale()).toEqual([R1, TIMEOUT])
    const [last] = await at.poll()
    expect(JSON.parse(last?.decision ?? "")).toEqual(lapse)
    at.tell({ kind: "delivery", request: last?.request ?? "", status: "done", session: S, ask: "per_1" })
    expect(await kinds(WINDOWS.hookMs)).toEqual([])
    expect(at.tale()).toEqual([R1, TIMEOUT])
  })

  test("is no use to let go 10 s later: its plugin has done so by itself", async () => {
    at.tell(held())
    await at.pass(WINDOWS.hookMs - 1)
    at.wait(10_001)
    expect(await at.notices()).toEqual([])
  })

  test.each([
    ["an abort", asks.failure("MessageAbortedError")],
    ["an idle", asks.idle()],
  ])("that %s takes away is not let go by us, and did not lapse", async (_, end) => {
    at.tell(held(), end)
    expect(at.tale()).toEqual([R1, "attention.resolved R1 resolution=dismissed <R1"])
    expect(await kinds(WINDOWS.hookMs + 10_000)).not.toContain("lapse")
    expect(at.tale()).toHaveLength(2)
  })

  test.each(["restart", "crash"] as const)(
    "over a %s of the service keeps its time, and is let go then",
    async (how) => {
      at.tell(held())
      at.wait(20_000)
      at.again(how)
      at.tell()
      expect(await kinds(WINDOWS.hookMs - 20_000)).toEqual(["lapse"])
      expect(at.tale()).toEqual([R1, TIMEOUT])
      expect(at.requests()[0]?.data?.respond_via).toEqual(["control"])
    },
  )
})

describe("the agent's own dialog", () => {
  test("after the hook was let go is another request, which is answered there", async () => {
    at.tell(held())
    await at.pass(WINDOWS.hookMs)
    at.tell(updated(), legacyReply("always"))
    expect(at.tale()).toEqual([
      R1,
      TIMEOUT,
      SUCCESSOR,
      'attention.answered R2 answer={"option":"always"} via=oob <R2',
      "attention.resolved R2 resolution=answered <attention.answered",
    ])
    expect(at.requests()[1]?.data).toMatchObject({
      respond_via: ["control", "oob"],
      expires_at: new Date(at.house.clock.now() + WINDOWS.askMs).toISOString(),
    })
  })

  test("before that time means that the plugin let go by itself: the first request has lapsed early", () => {
    at.tell(held())
    at.wait(15_000)
    at.tell(updated())
    expect(at.tale()).toEqual([R1, "attention.timeout R1 after_ms=15000 <R1", SUCCESSOR])
  })

  test("is not let go by the notice that was meant for the hook", async () => {
    at.tell(held())
    at.wait(15_000)
    at.tell(updated())
    await at.notices()
    await at.pass(WINDOWS.askMs - 1)
    expect(at.tale()).toHaveLength(3)
  })

  test("takes an answer by a command, which the hook's own options are no longer", async () => {
    at.tell(held())
    await at.pass(WINDOWS.hookMs)
    at.tell(updated())
    const [first, second] = at.requests()
    if (first === undefined || second === undefined) throw new Error("two were asked")
    expect(at.said(at.answer(first, { option: "allow" }))).toEqual(["refused expired"])
    expect(at.said(at.answer(second, { option: "allow" }))).toEqual(["invalid option"])
    at.answer(second, { option: "once" })
    const order = await at.order()
    expect(order.decision).toMatchObject({ kind: "reply", reply: "once" })
    at.tell({ ...legacyReply("once"), by: order.decision.by } as MomentBody)
    expect(at.tale().slice(-2)).toEqual([
      'attention.answered R2 answer={"option":"once"} via=control by=phone <C3',
      "attention.resolved R2 resolution=answered <attention.answered",
    ])
  })

  test("beside a hook that nobody holds is the one request", () => {
    at.tell({ ...held(), held: false } as MomentBody, updated())
    expect(at.tale()).toEqual([R1])
    expect(at.requests()[0]?.data?.respond_via).toEqual(["control", "oob"])
  })
})

describe("an answer to a held hook", () => {
  test("is told when its plugin reports it, and leaves nothing to let go", async () => {
    at.answer(await at.asking(held()), { option: "deny", text: "not today" })
    const order = await at.order()
    expect(at.tale()).toEqual([R1])
    at.tell(report(order, "done"))
    const answered = [
      "control.accepted <C1",
      'attention.answered R1 answer={"option":"deny"} via=control by=phone <C1',
      "attention.resolved R1 resolution=answered <attention.answered",
    ]
    expect(at.tale()).toEqual([R1, ...answered])
    expect(await kinds(WINDOWS.hookMs)).not.toContain("lapse")
    expect(at.tale()).toEqual([R1, ...answered])
  })

  test("that its plugin could not set any more answers nothing", async () => {
    at.answer(await at.asking(held()), { option: "allow" })
    at.tell(report(await at.order(), "stale"))
    expect(at.tale()).toEqual([R1, "control.rejected reason=refused why=stale <C1"])
    at.tell(updated())
    expect(at.tale().at(-1)).toBe(SUCCESSOR)
  })

  test("reported after a restart is the command's all the same", async () => {
    const event = at.answer(await at.asking(held()), { option: "allow" })
    const order = await at.order()
    at.again("crash")
    at.tell(report(order, "done"))
    expect(at.said(event)).toEqual(["accepted"])
    expect(at.tale().at(-1)).toBe("attention.resolved R1 resolution=answered <attention.answered")
  })

  test("reported of what is no hook any more tells nothing of the dialog that took its place", async () => {
    at.answer(await at.asking(held()), { option: "allow" })
    const order = await at.order()
    at.tell(updated(), report(order, "done"))
    expect(at.tale()).toEqual([
      R1,
      "attention.timeout R1 after_ms=0 <R1",
      SUCCESSOR,
      "control.rejected reason=refused why=expired <C1",
    ])
  })
})
