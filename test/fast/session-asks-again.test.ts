/**
 * Asks whose agent falls silent, comes back and tells them again (design.md §5): inside ten minutes it is the same request, after
 * that another one that says whose successor it is. The same where the service was restarted or killed meanwhile.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { posture } from "../posture.ts"
import * as asks from "./asks-house.ts"
import { asked, question, replied, S } from "./asks-house.ts"

/** A lease lapses after 45 s and is looked at every 5 s; asks of a lapsed one are kept ten minutes. */
const LAPSED = 50_000
const KEPT = 600_000
/** Longer than all of that. */
const LONG = { hookMs: 55_000, askMs: 3_600_000 }

let at: asks.AskHouse
beforeEach(() => {
  at = new asks.AskHouse(LONG)
})
afterEach(() => at.remove())

const R1 = "attention.requested R1"
const GIVEN_UP = "attention.resolved R1 resolution=dismissed <R1"
const ANSWERED = (request = "R1") => [
  `attention.answered ${request} answer={"option":"once"} via=oob <${request}`,
  `attention.resolved ${request} resolution=answered <attention.answered`,
]

describe("an agent that falls silent", () => {
  test("has its ask kept open for ten minutes after its lease lapsed, and not longer", () => {
    at.tell(asked())
    at.wait(LAPSED)
    expect(at.house.presence()).toEqual(["online", "offline"])
    at.wait(KEPT - 10_000)
    expect(at.tale()).toEqual([R1])
    at.wait(20_000)
    expect(at.tale()).toEqual([R1, GIVEN_UP])
  })

  test("and is back inside them: told again it is the same request, with the time it had", () => {
    at.tell(asked(), question())
    const before = at.requests()
    at.wait(LAPSED + KEPT - 10_000)
    at.tell(asked(), question(), replied(), asks.answeredWith([["red"]]))
    expect(at.requests()).toEqual(before)
    expect(at.tale().slice(2, 4)).toEqual(ANSWERED())
    expect(at.tale().at(-1)).toBe("attention.resolved R2 resolution=answered <attention.answered")
  })

  test("and is back after them: a new request, caused by the old one's end, with a time of its own", () => {
    at.tell(asked(), question())
    at.wait(LAPSED + KEPT + 10_000)
    at.tell(asked(), question())
    expect(at.tale().slice(2)).toEqual([
      GIVEN_UP,
      "attention.resolved R2 resolution=dismissed <R2",
      "attention.requested R3 <attention.resolved",
      "attention.requested R4 <attention.resolved",
    ])
    const [first, second, third, fourth] = at.requests()
    const endOf = (id: string | undefined) =>
      at.house.events(S).find(({ type, subject }) => type === "attention.resolved" && subject === id)?.id
    expect([third?.cause, fourth?.cause]).toEqual([endOf(first?.id), endOf(second?.id)])
    expect(third?.data?.expires_at).toBe(new Date(at.house.clock.now() + LONG.askMs).toISOString())
    at.tell(replied())
    expect(at.tale().slice(6)).toEqual(ANSWERED("R3"))
  })

  test("whose ask lapses meanwhile has it lapse at its own time", () => {
    at.remove()
    at = new asks.AskHouse({ hookMs: 55_000, askMs: 300_000 })
    at.tell(asked())
    at.wait(299_999)
    expect(at.tale()).toEqual([R1])
    at.wait(1)
    expect(at.tale()).toEqual([R1, "attention.timeout R1 after_ms=300000 <R1"])
    at.wait(KEPT)
    at.tell(replied())
    expect(at.tale()).toHaveLength(2)
    expect(at.last("x.opencode.permission.replied")).toMatchObject({
      severity: "debug",
      data: { reply: "once", void: false },
    })
  })

  test("and comes back with no word of the ask: it goes on as it was, and is given up after no ten minutes", () => {
    at.tell(asked())
    at.wait(LAPSED + 60_000)
    for (let passed = 0; passed < KEPT + LAPSED; passed += 30_000) {
      at.tell()
      at.wait(30_000)
    }
    expect(at.tale()).toEqual([R1])
  })

  test("and has its session go on in another process: that one's answer ends the request", () => {
    at.tell(asked())
    at.wait(LAPSED)
    at.house.tell({ ...asks.I, id: "i-2" }, asked(), replied())
    expect(at.tale()).toEqual([R1, ...ANSWERED()])
    at.wait(KEPT + LAPSED)
    expect(at.tale()).toHaveLength(3)
  })
})

describe("the time of a request", () => {
  test.each([-3_600_000, 3_600_000])(
    "is the service's, though the plugin's clock is %d ms off or its moment waited",
    (offMs) => {
      const [moment] = at.house.stamp(asks.I, [asked()])
      at.house.send(asks.I, 0, [{ ...moment, at: at.house.clock.now() + offMs }])
      expect(at.requests()[0]?.data?.expires_at).toBe(
        new Date(at.house.clock.now() + LONG.askMs).toISOString(),
      )
    },
  )
})

describe("told again", () => {
  test("in every spelling, an open one is one request", () => {
    const twin = { id: "per_1", sessionID: S, action: "bash", resources: ["ls"], save: ["ls *"] }
    at.tell(asked(), asks.updated(), {
      kind: "bus",
      event: { type: "permission.v2.asked", properties: twin },
    })
    expect(at.tale()).toEqual([R1])
  })

  test.each([
    ["answered", replied()],
    ["taken along", asks.after("call_1")],
  ])("one that was %s is not asked anew", (_, end) => {
    const ask = asked("per_1", { tool: { messageID: "msg_2", callID: "call_1" } })
    at.tell(asks.before("call_1"), ask, end)
    const before = at.house.events(S).length
    at.tell(ask)
    expect(at.house.events(S)).toHaveLength(before)
  })

  test("one that was withdrawn is a new request, whose cause is that end and not the call", () => {
    const ask = asked("per_1", { tool: { messageID: "msg_2", callID: "call_1" } })
    at.tell(asks.before("call_1"), ask, asks.failure("MessageAbortedError"), ask)
    expect(at.requests()[1]?.cause).toBe(at.last("attention.resolved").id)
  })
})

describe.each(["restart", "crash"] as const)("after a %s", (how) => {
  test("an open ask is the same request, and is answered as itself", () => {
    at.tell(asked())
    at.again(how)
    at.tell(asked(), replied())
    expect(at.tale()).toEqual([R1, ...ANSWERED()])
  })

  test("an ended one stays ended, and says how when it is told again", () => {
    at.tell(asked("per_1"), asked("per_2"), replied("per_1"), asks.failure("MessageAbortedError"))
    at.again(how)
    at.tell(asked("per_1"), replied("per_1"), replied("per_2"), asked("per_2"))
    expect(at.tale().slice(2)).toEqual([
      ...ANSWERED("R1"),
      "attention.resolved R2 resolution=dismissed <R2",
      "x.opencode.permission.replied reply=once void=true",
      "attention.requested R3 <attention.resolved",
    ])
  })

  test("what its end takes along is still taken along", () => {
    at.tell(asks.before("call_1"), asked("per_1", { tool: { messageID: "m", callID: "call_1" } }), question())
    at.again(how)
    at.tell(asks.after("call_1"), asks.deleted())
    expect(at.tale().filter((line) => line.startsWith("attention.resolved"))).toEqual([
      "attention.resolved R1 resolution=auto <R1",
      "attention.resolved R2 resolution=dismissed <R2",
    ])
    expect(at.tale().at(-1)).toBe("session.ended reason=normal")
  })

  test("an agent that never comes back has its asks given up, ten minutes after its lease", () => {
    at.tell(asked())
    at.again(how)
    at.wait(LAPSED + KEPT - 10_000)
    expect(at.tale()).toEqual([R1])
    at.wait(20_000)
    expect(at.tale()).toEqual([R1, GIVEN_UP])
  })

  test("a question is answered, by a choice or in own words that nobody is told", () => {
    at.tell(question(), question("que_2"))
    at.again(how)
    at.tell(asks.answeredWith([["blue"]]), asks.answeredWith([["own words"]], "que_2"))
    // Labels are never stored: after a kill nobody knows any more which choice it was, and none is claimed.
    const known = how === "restart"
    expect(at.tale().filter((line) => line.startsWith("attention.answered"))).toEqual([
      `attention.answered R1 answer=${known ? '{"values":{"1":"2"}}' : "{}"} via=oob <R1`,
      `attention.answered R2 answer=${known ? '{"values":{}}' : "{}"} via=oob <R2`,
    ])
    expect(JSON.stringify(at.house.events(S))).not.toMatch(/own words|blue/)
  })

  test("the window goes on from where it was", () => {
    at.tell(asked())
    at.wait(10_000)
    at.again(how)
    for (let passed = 10_000; passed < LONG.askMs; passed += 10_000) {
      at.tell()
      expect(at.tale()).toEqual([R1])
      at.wait(10_000)
    }
    expect(at.tale()).toEqual([R1, `attention.timeout R1 after_ms=${LONG.askMs} <R1`])
  })
})

test("where nothing may be told, an ask has its one end all the same", () => {
  at.remove()
  at = new asks.AskHouse(LONG, posture("none", { attention: "none" }))
  at.tell(asked("per_1"), asked("per_2"), question(), replied("per_1"))
  at.again("restart")
  at.tell(asks.deleted())
  expect(at.tale()).toEqual([
    ...["attention.requested R1", "attention.requested R2", "attention.requested R3"],
    ...["attention.answered R1 <R1", "attention.resolved R1 <attention.answered"],
    ...["attention.resolved R2 <R2", "attention.resolved R3 <R3", "session.ended"],
  ])
})
