/**
 * Answers around the time at which a request lapses (truth rule 4): one given before it acts, one given after it does not, and
 * whatever is on its way at that moment is waited for, but never brought down late. Also the time that a report may take.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { DeliveryStatus, MomentBody } from "../../shared/moments.ts"
import * as asks from "./asks-house.ts"
import { replied, report, WINDOWS } from "./asks-house.ts"

let at: asks.AskHouse
beforeEach(() => {
  at = new asks.AskHouse()
})
afterEach(() => at.remove())

const R1 = "attention.requested R1"
const ACCEPTED = "control.accepted <C1"
const ANSWERED = [
  'attention.answered R1 answer={"option":"once"} via=control by=phone <C1',
  "attention.resolved R1 resolution=answered <attention.answered",
]
const timeout = (afterMs: number) => `attention.timeout R1 after_ms=${afterMs} <R1`

/** Asked, and answered so long before its deadline. */
async function answeredBefore(ms: number, moment?: MomentBody) {
  const request = await at.asking(moment)
  const window = moment?.kind === "permission.ask" ? WINDOWS.hookMs : WINDOWS.askMs
  await at.pass(window - ms)
  return {
    request,
    event: at.answer(request, { option: moment?.kind === "permission.ask" ? "allow" : "once" }),
  }
}

describe("an answer 100 ms before the deadline", () => {
  test("acts, and the request has not lapsed", async () => {
    await answeredBefore(100)
    const order = await at.order()
    at.tell(replied("per_1", "once", order.decision.by), report(order, "done"))
    at.wait(20_000)
    expect(at.tale()).toEqual([R1, ACCEPTED, ...ANSWERED])
  })

  test("acts on a held hook too, which is then not let go", async () => {
    await answeredBefore(100, asks.held())
    const order = await at.order()
    at.tell(report(order, "done"))
    expect(at.tale().at(-1)).toBe("attention.resolved R1 resolution=answered <attention.answered")
    const after = [...(await at.pass(20_000))].map(({ decision }) => JSON.parse(decision).kind)
    expect(after).not.toContain("lapse")
  })

  test("is waited for over the deadline when it is on its way", async () => {
    await answeredBefore(100)
    const order = await at.order()
    at.wait(5_000)
    expect(at.tale()).toEqual([R1])
    at.tell(replied("per_1", "once", order.decision.by), report(order, "done"))
    expect(at.tale()).toEqual([R1, ACCEPTED, ...ANSWERED])
  })

  test.each<[DeliveryStatus, string]>([
    ["stale", "stale"],
    ["gone", "answered"],
    ["failed", "failed"],
  ])("that comes to nothing after it (%s) is refused, and the request lapses then", async (status, why) => {
    const { request } = await answeredBefore(100)
    const order = await at.order()
    at.wait(700)
    at.tell(report(order, status))
    expect(at.tale()).toEqual([
      R1,
      `control.rejected reason=refused why=${why} <C1`,
      timeout(WINDOWS.askMs + 600),
    ])
    // The time that the request had named is over: nobody may use what the wait has left open.
    expect(at.said(at.answer(request))).toEqual(["refused expired"])
    expect(await at.orders()).toEqual([])
  })

  test("that its plugin was told and never speaks of is accepted after 8 s as ever, and not brought down again", async () => {
    const { event } = await answeredBefore(100)
    await at.order()
    at.wait(7_800)
    expect(at.said(event)).toEqual([])
    at.wait(200)
    expect(at.said(event)).toEqual(["accepted"])
    const after = await at.pass(10_000)
    expect(after).toEqual([])
    expect(at.tale()).toEqual([
      R1,
      ACCEPTED,
      "x.opencode.attention.unconfirmed R1 <C1",
      expect.stringMatching(/^attention\.timeout R1/),
    ])
  })

  test("to a hook that its plugin let go meanwhile does not lapse what the agent asks in its place", async () => {
    await answeredBefore(100, asks.held())
    const order = await at.order()
    at.wait(500)
    at.tell(asks.updated(), report(order, "stale"))
    at.wait(10_000)
    expect(at.tale()).toEqual([
      R1,
      timeout(WINDOWS.hookMs + 400),
      "attention.requested R2 <attention.timeout",
      "control.rejected reason=refused why=expired <C1",
    ])
  })

  test("that nobody came to fetch by then is never sent", async () => {
    const { event } = await answeredBefore(100)
    at.wait(100)
    expect(at.said(event)).toEqual(["busy offline"])
    expect(await at.orders()).toEqual([])
    at.wait(1_000)
    expect(at.tale().at(-1)).toMatch(/^attention\.timeout R1/)
  })
})

describe("an answer after the deadline", () => {
  test("is refused, at the very moment too", async () => {
    const request = await at.asking()
    await at.pass(WINDOWS.askMs)
    expect(at.said(at.answer(request))).toEqual(["refused expired"])
    expect(at.tale().slice(0, 2)).toEqual([R1, timeout(WINDOWS.askMs)])
  })

  test("is refused though the machine slept over it, and nobody has said yet that it lapsed", async () => {
    const request = await at.asking()
    // The deadline is looked at by a timer; on waking the command may be first.
    at.house.clock.timers.set(() => {
      expect(at.said(at.answer(request))).toEqual(["refused expired"])
    }, WINDOWS.askMs - 1)
    at.house.clock.sleep(WINDOWS.askMs + 3_600_000)
    expect(at.tale().slice(0, 2)).toEqual([R1, "control.rejected reason=refused why=expired <C1"])
    expect(await at.orders()).toEqual([])
  })

  test("is refused after a restart, while the plugin has its time to come back", async () => {
    const request = await at.asking()
    at.again("restart")
    at.house.clock.sleep(WINDOWS.askMs)
    at.tell()
    await at.poll()
    expect(at.said(at.answer(request))).toEqual(["refused expired"])
  })
})

describe("a retry", () => {
  test("is not made once the deadline has passed: what acts then would be late", async () => {
    await answeredBefore(1_500)
    const order = await at.order()
    at.tell(report(order, "done"))
    at.wait(2_999)
    expect(at.tale()).toEqual([R1, ACCEPTED])
    at.wait(1)
    expect(at.tale()).toEqual([
      R1,
      ACCEPTED,
      "x.opencode.attention.unconfirmed R1 <C1",
      timeout(WINDOWS.askMs + 1_500),
    ])
    expect(await at.pass(10_000)).toEqual([])
  })

  test("that nobody fetched by the deadline is not brought down after it", async () => {
    await answeredBefore(3_500)
    const order = await at.order()
    at.tell(report(order, "done"))
    at.wait(3_600)
    expect(await at.orders()).toEqual([])
  })

  test("within it is made", async () => {
    await answeredBefore(10_000)
    at.tell(report(await at.order(), "done"))
    at.wait(3_000)
    expect(await at.orders()).toHaveLength(1)
  })
})

describe("a report", () => {
  test("after 7.9 s decides; after 8 s the command was accepted already", async () => {
    const request = await at.asking()
    const first = at.answer(request)
    const order = await at.order()
    at.wait(7_900)
    at.tell(report(order, "failed"))
    expect(at.said(first)).toEqual(["refused failed"])
    await at.poll()
    const second = at.answer(request)
    const again = await at.order()
    at.wait(8_000)
    at.tell(report(again, "failed"))
    expect(at.said(second)).toEqual(["accepted"])
  })

  test("of something that nobody decided, or twice, changes nothing", async () => {
    const event = at.answer(await at.asking())
    const order = await at.order()
    at.tell(report({ ...order, request: "nobody" }, "failed"))
    expect(at.said(event)).toEqual([])
    at.tell(report(order, "done"), report(order, "failed"), report(order, "stale"))
    expect(at.said(event)).toEqual(["accepted"])
    at.tell(replied("per_1", "once", order.decision.by))
    expect(at.tale()).toEqual([R1, ACCEPTED, ...ANSWERED])
  })
})
