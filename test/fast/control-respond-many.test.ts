/**
 * Several asks, sessions and agents at once: each answer reaches its own ask by its own plugin, and what it takes along is told as
 * that. And what goes down for each deed, proven for the poll that brings it.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import type { Capture } from "../../shared/aep.ts"
import type { Decision, DownMessage, Instance, MomentBody } from "../../shared/moments.ts"
import { bus, instanceOf, PROOF_KEY } from "../house.ts"
import { posture } from "../posture.ts"
import * as asks from "./asks-house.ts"
import { asked, command, I, NONCE, replied, report, S } from "./asks-house.ts"

let at: asks.AskHouse
beforeEach(() => {
  at = new asks.AskHouse()
})
afterEach(() => at.remove())

/** One poll of an instance with a nonce of its own. */
const pollOf = (instance: Instance, nonce = NONCE): Promise<DownMessage[]> =>
  at.house.commands.downlink.poll(instance.id, nonce, AbortSignal.abort())
const proofOf = (nonce: string, instance: Instance, { request, decision }: DownMessage): string =>
  createHmac("sha256", PROOF_KEY).update([nonce, instance.id, request, decision].join("\0")).digest("hex")

describe("several asks of one session", () => {
  const requests = async () => {
    await at.asking(asked("per_1"))
    at.tell(asked("per_2"), asked("per_3"))
    return at.requests()
  }

  test("are answered one by one, in any order", async () => {
    const [first, second, third] = await requests()
    if (first === undefined || second === undefined || third === undefined)
      throw new Error("three were asked")
    at.answer(third)
    at.answer(first)
    const orders = await at.orders()
    expect(orders.map(({ decision }) => decision.ask)).toEqual(["per_3", "per_1"])
    for (const { decision } of orders) {
      at.wait(100)
      at.tell(replied(decision.ask, "once", decision.by))
    }
    expect(at.tale().filter((line) => line.startsWith("attention.answered"))).toEqual([
      'attention.answered R3 answer={"option":"once"} via=control by=phone <C1',
      'attention.answered R1 answer={"option":"once"} via=control by=phone <C2',
    ])
    expect(at.tale()).not.toContainEqual(expect.stringContaining("R2 resolution"))
  })

  test("rejected together by a command are told as one answer and what it took along, and other commands are refused", async () => {
    const [first, second] = await requests()
    if (first === undefined || second === undefined) throw new Error("three were asked")
    const reject = at.answer(first, { option: "reject", text: "not now" })
    const late = at.answer(second)
    const [order, other] = await at.orders()
    if (order === undefined || other === undefined) throw new Error("two came down")
    at.tell(
      replied("per_1", "reject", order.decision.by),
      replied("per_2", "reject"),
      replied("per_3", "reject"),
    )
    at.tell(report(order, "done"), report(other, "stale"))
    expect(at.said(reject)).toEqual(["accepted"])
    expect(at.said(late)).toEqual(["refused answered"])
    expect(at.tale().slice(3)).toEqual([
      "control.accepted <C1",
      'attention.answered R1 answer={"option":"reject"} via=control by=phone <C1',
      "attention.resolved R1 resolution=answered <attention.answered",
      "attention.resolved R2 resolution=auto <R2",
      "attention.resolved R3 resolution=auto <R3",
      "control.rejected reason=refused why=answered <C2",
    ])
  })

  test("of which one is answered at the terminal first refuse its command, and carry the others out", async () => {
    const [first, second] = await requests()
    if (first === undefined || second === undefined) throw new Error("three were asked")
    const slow = at.answer(first)
    const quick = at.answer(second)
    const orders = await at.orders()
    at.tell(replied("per_1", "reject"))
    at.wait(100)
    for (const order of orders.filter(({ decision }) => decision.ask === "per_2")) {
      at.tell(replied("per_2", "once", order.decision.by), report(order, "done"))
    }
    expect([at.said(slow), at.said(quick)]).toEqual([["refused answered"], ["accepted"]])
  })
})

describe("several sessions and agents", () => {
  const J = instanceOf("i-2", { answers: true })

  test("are answered each by its own plugin", async () => {
    const instances = [I, J]
    for (const instance of instances) {
      at.house.tell(instance)
      await pollOf(instance)
      at.house.tell(instance, asked("per_1", { sessionID: `ses_${instance.id}` }))
    }
    for (const { id } of instances) at.answer(at.last("attention.requested", `ses_${id}`))
    for (const instance of instances) {
      const messages = await pollOf(instance)
      const decisions = messages.map(({ decision }) => JSON.parse(decision) as Decision)
      expect(decisions.map(({ session, kind }) => [session, kind])).toEqual([[`ses_${instance.id}`, "reply"]])
    }
  })

  test("leave alone: the goodbye of one refuses none of another's commands", async () => {
    const event = at.answer(await at.asking())
    at.house.tell(J, asked("per_2", { sessionID: "ses_2" }), { kind: "dispose" })
    expect(at.said(event)).toEqual([])
    expect(await at.orders()).toHaveLength(1)
  })

  test("share an ask's name and not its answer", async () => {
    await at.asking(asked("per_1"))
    at.tell(asked("per_1", { sessionID: "ses_2" }))
    at.answer(at.last("attention.requested", "ses_2"))
    const { decision } = await at.order()
    expect(decision.session).toBe("ses_2")
    at.tell(replied("per_1", "once", decision.by, "ses_2"))
    expect(at.tale()).toEqual(["attention.requested R1"])
    expect(at.tale("ses_2").at(-1)).toStartWith("attention.resolved R1")
  })

  test("are five asks at once, and five answers", async () => {
    at.tell()
    await at.poll()
    const sessions = ["a", "b", "c", "d", "e"]
    at.tell(...sessions.map((session) => asked(`per_${session}`, { sessionID: session })))
    const events = sessions.map((session) => at.answer(at.last("attention.requested", session)))
    const orders = await at.orders()
    expect(orders.map(({ decision }) => decision.session)).toEqual(sessions)
    at.tell(
      ...orders.map(({ decision: { ask, by, session } }) => replied(ask, "once", by, session)),
      ...orders.map((order) => report(order, "done")),
    )
    expect(events.map((event) => at.said(event))).toEqual(sessions.map(() => ["accepted"]))
  })

  test("know no request of each other's: what names one in the wrong session is invalid", async () => {
    const request = await at.asking()
    at.tell(asked("per_2", { sessionID: "ses_2" }))
    const event = at.answer(request, { option: "once" }, { session: "ses_2" })
    expect(at.said(event)).toEqual(["invalid subject"])
    expect(await at.orders()).toEqual([])
  })

  test("a sub-agent's ask is answered in its own session", async () => {
    at.tell(asks.created("root"), asks.created("child", "root"))
    await at.poll()
    at.tell(asked("per_1", { sessionID: "child" }))
    at.answer(at.last("attention.requested", "child"))
    const { decision } = await at.order()
    at.tell(replied("per_1", "once", decision.by, "child"))
    expect(at.tale("child").slice(1)).toEqual([
      "control.accepted <C1",
      'attention.answered R1 answer={"option":"once"} via=control by=phone <C1',
      "attention.resolved R1 resolution=answered <attention.answered",
    ])
    expect(at.tale("root")).toEqual([])
  })

  test("a session that another agent has taken over is answered by that one", async () => {
    const request = await at.asking()
    at.house.tell(J)
    await pollOf(J)
    at.house.tell(J, asked(), bus("session.updated", { sessionID: S, info: { id: S } }), asks.prompt("msg_2"))
    at.answer(request)
    expect(await pollOf(I)).toEqual([])
    expect(await pollOf(J)).toHaveLength(1)
  })
})

describe("the record says what the agent says", () => {
  test("of a question that a command dismissed: answered by that, and ended by it", async () => {
    at.answer(await at.asking(asks.question()), { option: "reject" })
    const order = await at.order()
    at.tell(asks.dismissed("que_1", order.decision.by), report(order, "done"))
    expect(at.tale().slice(1)).toEqual([
      "control.accepted <C1",
      'attention.answered R1 answer={"option":"reject"} via=control by=phone <C1',
      "attention.resolved R1 resolution=answered <attention.answered",
    ])
  })

  test("of a question that a command answered: choices by number", async () => {
    at.answer(await at.asking(asks.question()), { values: { 1: "2" } })
    const { decision } = await at.order()
    at.tell(asks.answeredWith([["blue"]], "que_1", decision.by))
    expect(at.tale()[2]).toBe('attention.answered R1 answer={"values":{"1":"2"}} via=control by=phone <C1')
  })

  test("where its own event names another option than the command did", async () => {
    at.answer(await at.asking(), { option: "always" })
    const { decision } = await at.order()
    at.tell(replied("per_1", "once", decision.by))
    expect(at.tale()[2]).toContain('answer={"option":"once"}')
  })
})

describe("the words of an answer", () => {
  const WORDS = "no, ask /home/dev/me about password=hunter2222"
  const rows: [Capture, unknown][] = [
    ["none", undefined],
    ["metadata", { option: "reject" }],
    ["redacted", { option: "reject", text: "no, ask ~/me about password=[REDACTED:secret]" }],
    ["full", { option: "reject", text: WORDS }],
  ]
  test.each(rows)("reach the agent whole, and the record as its level %s allows", async (level, told) => {
    at.remove()
    at = new asks.AskHouse(asks.WINDOWS, posture(level, { attention: level }))
    const event = at.answer(await at.asking(), { text: WORDS })
    const { decision } = await at.order()
    expect(decision).toMatchObject({ kind: "reply", reply: "reject", message: WORDS })
    at.tell(replied("per_1", "reject", decision.by))
    expect(at.said(event)).toEqual(["accepted"])
    expect(at.last("attention.answered").data?.answer).toEqual(told as never)
    expect(at.last("attention.resolved").subject).toBe(at.requests()[0]?.id ?? "")
  })
})

describe("what goes down", () => {
  const several = [
    ["a", "b", "c"],
    ["d", "e"],
  ]
  const rows: [string, MomentBody, unknown, object][] = [
    ["always", asked(), { option: "always" }, { kind: "reply", reply: "always" }],
    ["a label", asked(), { text: " allow ONCE " }, { kind: "reply", reply: "once" }],
    [
      "words that name nothing",
      asked(),
      { text: "use the other file" },
      { kind: "reply", reply: "reject", message: "use the other file" },
    ],
    ["the same on 1.0", asks.updated(), { text: "use the other file" }, { kind: "reply", reply: "reject" }],
    ["the same to the hook", asks.held(), { text: "no, never" }, { kind: "hook", status: "deny" }],
    ["a refusal of the hook", asks.held(), { option: "deny" }, { kind: "hook", status: "deny" }],
    [
      "several choices and own words",
      asks.question("per_1", several, { multiple: true }),
      { values: { 1: ["3", "1"], 2: ["mine"] } },
      { kind: "answers", answers: [[3, 1], ["mine"]] },
    ],
    ["a label of a question", asks.question("per_1"), { text: "Blue" }, { kind: "answers", answers: [[2]] }],
    ["the dismissal by its name", asks.question("per_1"), { text: "reject" }, { kind: "dismiss" }],
  ]

  // Below `redacted` labels are not told, and so cannot be named.
  beforeEach(() => {
    at.remove()
    at = new asks.AskHouse(asks.WINDOWS, posture("redacted"))
  })

  test.each(rows)("for %s, and not a member more", async (_, moment, given, deed) => {
    const event = at.answer(await at.asking(moment), given)
    const { decision } = await at.order()
    const mark = expect.stringMatching(/^respond:[0-9a-f]{32}$/)
    expect(decision).toEqual({
      ...(deed as object),
      ...{ session: S, ask: "per_1", by: { command: event.id, mark } },
    } as typeof decision)
  })

  test("is proven for its poll, its instance and its request, anew each time", async () => {
    at.answer(await at.asking())
    const [first] = await pollOf(I, "nonce-one")
    at.wait(5_000)
    const [second] = await pollOf(I, "nonce-two")
    if (first === undefined || second === undefined) throw new Error("nothing came down")
    expect(second).toEqual({ ...first, proof: proofOf("nonce-two", I, second) })
    expect(first.proof).toBe(proofOf("nonce-one", I, first))
    expect(second.proof).not.toBe(first.proof)
  })
})

describe("what was not told to anybody cannot be answered", () => {
  test.each([
    ["the agent's own name of it", () => "per_1"],
    ["another event of the session", () => at.last("session.started").id],
    ["the empty name", () => ""],
  ])("by %s", async (_, subject) => {
    await at.asking()
    const event = at.take(command(subject(), { option: "once" }))
    expect(at.said(event)).toEqual(["invalid subject"])
    expect(await at.orders()).toEqual([])
  })
})
