/**
 * Answers that the agent took and does not confirm (truth rule 4): 3 s, once more, 3 s, and then the record says so. The request
 * stays open, for the agent or for another answer to end.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { DeliveryStatus, MomentBody } from "../../shared/moments.ts"
import * as asks from "./asks-house.ts"
import { asked, type Order, replied, report } from "./asks-house.ts"

/** The request outlives all waits. */
const LONG = { hookMs: 55_000, askMs: 600_000 }
const UNCONFIRMED = "x.opencode.attention.unconfirmed R1 <C1"

let at: asks.AskHouse
beforeEach(() => {
  at = new asks.AskHouse(LONG)
})
afterEach(() => at.remove())

/** What the record says after the request. */
const told = () => at.tale().slice(1)

/** An answer that went down and was reported as taken. */
async function taken(moment: MomentBody = asked(), given: unknown = { option: "once" }): Promise<Order> {
  at.answer(await at.asking(moment), given)
  const order = await at.order()
  at.tell(report(order, "done"))
  return order
}

/** The same, and nothing is heard of it. */
async function unconfirmed(moment?: MomentBody, given?: unknown): Promise<Order> {
  const order = await taken(moment, given)
  at.wait(3_000)
  at.tell(report(await at.order(), "done"))
  at.wait(3_000)
  expect(told()).toEqual(["control.accepted <C1", UNCONFIRMED])
  return order
}

describe("the second attempt", () => {
  test("comes after 3 s, is the same decision under another name, and is the last", async () => {
    const first = await taken()
    at.wait(2_999)
    expect(await at.orders()).toEqual([])
    at.wait(1)
    const second = await at.order()
    expect(second).toEqual({ request: expect.any(String), decision: first.decision })
    expect(second.request).not.toBe(first.request)
    at.wait(2_999)
    expect(told()).toEqual(["control.accepted <C1"])
    at.wait(1)
    expect(told()).toEqual(["control.accepted <C1", UNCONFIRMED])
    expect(await at.pass(30_000)).toEqual([])
    expect(told()).toEqual(["control.accepted <C1", UNCONFIRMED])
  })

  test.each<DeliveryStatus>(["done", "stale", "gone", "failed"])(
    "reported as %s changes no decision, and is no outcome",
    async (status) => {
      await taken()
      at.wait(3_000)
      at.tell(report(await at.order(), status))
      at.wait(2_999)
      expect(told()).toEqual(["control.accepted <C1"])
      at.wait(1)
      expect(told()).toEqual(["control.accepted <C1", UNCONFIRMED])
    },
  )

  test("that the agent confirms ends the request like the first", async () => {
    const { decision } = await taken()
    at.wait(3_000)
    const second = await at.order()
    at.tell(replied("per_1", "once", decision.by), report(second, "done"))
    at.wait(10_000)
    expect(told()).toEqual([
      "control.accepted <C1",
      'attention.answered R1 answer={"option":"once"} via=control by=phone <C1',
      "attention.resolved R1 resolution=answered <attention.answered",
    ])
  })

  test("is not made when the confirmation came in the last moment", async () => {
    const { decision } = await taken()
    at.wait(2_999)
    at.tell(replied("per_1", "once", decision.by))
    at.wait(1)
    expect(await at.orders()).toEqual([])
  })

  test("of an answer that was never reported comes 3 s after it was taken for tried", async () => {
    at.answer(await at.asking())
    await at.order()
    at.wait(8_000)
    expect(told()).toEqual(["control.accepted <C1"])
    expect(await at.orders()).toEqual([])
    at.wait(3_000)
    expect(await at.orders()).toHaveLength(1)
  })
})

describe("said to be unconfirmed", () => {
  test("with a warning, about the request and caused by the command", async () => {
    const { decision } = await unconfirmed()
    const [request] = at.requests()
    expect(at.last("x.opencode.attention.unconfirmed")).toMatchObject({
      severity: "warning",
      subject: request?.id ?? "",
      cause: decision.by.command,
      capture: "metadata",
      data: {},
    })
  })

  const ends: [string, (order: Order) => MomentBody, string[]][] = [
    [
      "the command's answer, confirmed late",
      ({ decision }) => replied("per_1", "once", decision.by),
      [
        'attention.answered R1 answer={"option":"once"} via=control <C1',
        "attention.resolved R1 resolution=answered <attention.answered",
      ],
    ],
    [
      "somebody at the terminal",
      () => replied("per_1", "reject"),
      [
        'attention.answered R1 answer={"option":"reject"} via=oob <R1',
        "attention.resolved R1 resolution=answered <attention.answered",
      ],
    ],
    [
      "an abort",
      () => asks.failure("MessageAbortedError"),
      ["attention.resolved R1 resolution=dismissed <R1"],
    ],
    [
      "the end of its session",
      () => asks.deleted(),
      ["attention.resolved R1 resolution=dismissed <R1", "session.ended reason=normal"],
    ],
  ]
  test.each(ends)("it is still ended by %s", async (_, end, expected) => {
    const order = await unconfirmed()
    at.tell(end(order))
    expect(told().slice(2)).toEqual(expected)
  })

  test("it can be answered anew, and the new answer acts", async () => {
    await unconfirmed()
    const [request] = at.requests()
    if (request === undefined) throw new Error("nothing was asked")
    await at.poll()
    at.answer(request, { option: "reject" })
    const { decision } = await at.order()
    at.tell(replied("per_1", "reject", decision.by))
    expect(told().slice(2)).toEqual([
      "control.accepted <C2",
      'attention.answered R1 answer={"option":"reject"} via=control by=phone <C2',
      "attention.resolved R1 resolution=answered <attention.answered",
    ])
  })

  test("and while it is not yet, no other answer is taken", async () => {
    await taken()
    const [request] = at.requests()
    if (request === undefined) throw new Error("nothing was asked")
    at.wait(3_000)
    await at.poll()
    at.wait(2_900)
    expect(at.said(at.answer(request))).toEqual(["busy underway"])
  })

  test("a question is it like a permission, answered or dismissed", async () => {
    await unconfirmed(asks.question(), { values: { 1: "2" } })
    at.tell(asks.answeredWith([["blue"]]))
    expect(told().slice(2)).toEqual([
      'attention.answered R1 answer={"values":{"1":"2"}} via=oob <R1',
      "attention.resolved R1 resolution=answered <attention.answered",
    ])
  })

  test("after a restart it is still open, and no second time unconfirmed", async () => {
    const { decision } = await unconfirmed()
    at.again("restart")
    at.wait(5_000)
    at.tell(asked(), replied("per_1", "once", decision.by))
    expect(told()).toEqual([
      "control.accepted <C1",
      UNCONFIRMED,
      'attention.answered R1 answer={"option":"once"} via=control <C1',
      "attention.resolved R1 resolution=answered <attention.answered",
    ])
  })
})

describe("a plugin that comes back and tells its asks again", () => {
  test("gets the decision once more, and as long to confirm it as it had", async () => {
    const first = await taken()
    at.wait(2_900)
    at.tell(asked())
    const again = await at.order()
    expect(again.decision).toEqual(first.decision)
    at.wait(2_900)
    expect(told()).toEqual(["control.accepted <C1"])
    at.tell(replied("per_1", "once", again.decision.by))
    expect(told()).toHaveLength(3)
  })

  test("gets it for a question too", async () => {
    const first = await taken(asks.question(), { values: { 1: "own words" } })
    at.tell(asks.question())
    expect((await at.order()).decision).toEqual(first.decision)
  })

  test("that fetches it a moment later still finds it", async () => {
    await taken()
    at.wait(2_900)
    at.tell(asked())
    at.wait(1_000)
    expect(await at.orders()).toHaveLength(1)
  })

  test("gets nothing twice of what it has not reported of", async () => {
    at.answer(await at.asking())
    await at.order()
    at.tell(asked())
    expect(await at.orders()).toEqual([])
  })

  test("before it fetched what was given once more gets that once", async () => {
    await taken()
    at.wait(3_000)
    at.tell(asked())
    expect(await at.orders()).toHaveLength(1)
  })
})
