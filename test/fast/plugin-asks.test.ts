/** Which asks are open, by the agent's own events (design §3): what opens them, what ends them, and whose answer it was. */
import { beforeEach, describe, expect, test } from "bun:test"
import { type Ask, type Asks, createAsks, saysAnswers } from "../../plugin/src/asks.ts"

const S = "ses_1"
const BY = { command: "01A", mark: "respond:1" }
const CALL = { messageID: "msg_1", callID: "call_1" }

let asks: Asks
let voided: string[]
beforeEach(() => {
  asks = createAsks()
  voided = []
})

const see = (type: string, properties: Record<string, unknown>) => asks.see({ type, properties })
const born = (id: string, parentID?: string) => see("session.created", { info: { id, parentID } })

/** Has an ask opened, and watches it. */
function open(id = "per_1", session = S): Ask {
  const { opened } = see("permission.asked", { id, sessionID: session, tool: CALL })
  if (opened === undefined) throw new Error("the ask was not opened")
  opened.onVoid = () => voided.push(id)
  return opened
}

const isOpen = (id = "per_1", session = S): boolean => asks.find(session, id) !== undefined

describe("an ask is opened", () => {
  const question = {
    id: "q_1",
    sessionID: S,
    questions: [{ options: [{ label: "Red" }, { label: "Blue" }] }, { options: [] }, {}],
    tool: CALL,
  }
  test.each([
    ["permission.asked", { id: "per_1", sessionID: S, tool: CALL }, "reply", "call_1", []],
    ["permission.v2.asked", { id: "per_1", sessionID: S, tool: CALL }, "reply", "call_1", []],
    ["permission.asked", { id: "per_1", sessionID: S }, "reply", undefined, []],
    ["permission.updated", { id: "per_1", sessionID: S, callID: "call_1" }, "legacy", "call_1", []],
    ["question.asked", question, "question", "call_1", [["Red", "Blue"], [], []]],
    ["question.v2.asked", question, "question", "call_1", [["Red", "Blue"], [], []]],
  ])("by %s", (type, properties, family, call, labels) => {
    const { opened } = see(type, properties)
    expect(opened).toEqual({ id: properties.id, session: S, call, family, labels } as Ask)
    expect(asks.find(S, properties.id)).toBe(opened as Ask)
    expect([...asks.all]).toEqual([opened as Ask])
  })

  test("once, however often and in how many families it is told", () => {
    const first = open()
    expect(see("permission.asked", { id: "per_1", sessionID: S })).toEqual({})
    expect(see("permission.v2.asked", { id: "per_1", sessionID: S })).toEqual({})
    expect(asks.find(S, "per_1")).toBe(first)
  })

  test.each([
    [{}],
    [{ id: "per_1" }],
    [{ sessionID: S }],
    [{ id: 1, sessionID: S }],
    [{ id: "per_1", sessionID: null }],
  ])("never by %j", (properties) => {
    expect(see("permission.asked", properties)).toEqual({})
    expect([...asks.all]).toEqual([])
  })

  test("for its session alone", () => {
    open()
    expect(isOpen("per_1", "ses_2")).toBe(false)
  })

  test("up to a bound, and what is above it cannot be answered from elsewhere", () => {
    for (let nth = 0; nth < 2_000; nth += 1) open(`per_${nth}`)
    expect(see("permission.asked", { id: "per_more", sessionID: S })).toEqual({})
    expect(isOpen("per_more")).toBe(false)
    expect(isOpen("per_0")).toBe(true)
  })
})

describe("an ask is over", () => {
  const part = (status: string, more: object = {}) => ({
    part: { type: "tool", callID: "call_1", sessionID: S, state: { status }, ...more },
  })
  const aborted = { name: "MessageAbortedError", data: {} }
  const ends: [string, string, Record<string, unknown>, "void" | "settled" | "open"][] = [
    ["answered", "permission.replied", { sessionID: S, requestID: "per_1", reply: "once" }, "settled"],
    [
      "answered on 1.0",
      "permission.replied",
      { sessionID: S, permissionID: "per_1", response: "once" },
      "settled",
    ],
    ["answered, told twice", "permission.v2.replied", { sessionID: S, requestID: "per_1" }, "settled"],
    ["another answered", "permission.replied", { sessionID: S, requestID: "per_2", reply: "once" }, "open"],
    ["question answered", "question.replied", { requestID: "per_1", answers: [["a"]] }, "settled"],
    ["question dismissed", "question.rejected", { requestID: "per_1" }, "settled"],
    ["idle", "session.idle", { sessionID: S }, "void"],
    ["another session idle", "session.idle", { sessionID: "ses_2" }, "open"],
    ["abort", "session.error", { sessionID: S, error: aborted }, "void"],
    ["abort of another session", "session.error", { sessionID: "ses_2", error: aborted }, "open"],
    ["another error", "session.error", { sessionID: S, error: { name: "UnknownError" } }, "open"],
    ["an error without session", "session.error", { error: aborted }, "open"],
    ["deleted", "session.deleted", { sessionID: S, info: { id: S } }, "void"],
    ["deleted on 1.0", "session.deleted", { info: { id: S } }, "void"],
    ["its call completed", "message.part.updated", part("completed"), "void"],
    ["its call failed", "message.part.updated", part("error"), "void"],
    ["its call running", "message.part.updated", part("running"), "open"],
    ["another call failed", "message.part.updated", part("error", { callID: "call_2" }), "open"],
    ["a call of that id elsewhere", "message.part.updated", part("error", { sessionID: "ses_2" }), "open"],
    ["a text", "message.part.updated", part("error", { type: "text" }), "open"],
    ["busy", "session.status", { sessionID: S, status: { type: "busy" } }, "open"],
    ["updated", "session.updated", { info: { id: S } }, "open"],
  ]
  test.each(ends)("%s (%s): %j is %s", (_, type, properties, end) => {
    open()
    see(type, properties)
    expect(isOpen()).toBe(end === "open")
    expect(voided).toEqual(end === "void" ? ["per_1"] : [])
  })

  test.each([
    ["session.idle", (sessionID: string) => ({ sessionID })],
    ["session.error", (sessionID: string) => ({ sessionID, error: aborted })],
    ["session.deleted", (id: string) => ({ info: { id } })],
  ])("%s of an ancestor voids it, of a descendant or a sibling does not", (type, about) => {
    born("ses_root")
    born("ses_child", "ses_root")
    born("ses_grand", "ses_child")
    born("ses_sibling", "ses_root")
    born("ses_below", "ses_grand")
    for (const [above, isVoid] of [
      ["ses_sibling", false],
      ["ses_below", false],
      ["ses_root", true],
      ["ses_child", true],
      ["ses_grand", true],
    ] as const) {
      open("per_1", "ses_grand")
      see(type, about(above))
      expect([above, isOpen("per_1", "ses_grand")]).toEqual([above, !isVoid])
      asks.voidAll()
    }
  })

  test("where sessions are each other's parents, too", () => {
    born("ses_a", "ses_b")
    born("ses_b", "ses_a")
    open("per_1", "ses_a")
    see("session.idle", { sessionID: "ses_c" })
    expect(isOpen("per_1", "ses_a")).toBe(true)
    see("session.idle", { sessionID: "ses_b" })
    expect(isOpen("per_1", "ses_a")).toBe(false)
  })

  test("for all of them at the end, each told once", () => {
    open("per_1")
    open("per_2", "ses_2")
    asks.voidAll()
    asks.voidAll()
    expect(voided).toEqual(["per_1", "per_2"])
    expect([...asks.all]).toEqual([])
  })

  test("and the same id can be asked again", () => {
    open()
    see("permission.replied", { requestID: "per_1", reply: "once" })
    expect(see("permission.asked", { id: "per_1", sessionID: S }).opened).toBeDefined()
  })
})

describe("an answer is the command's", () => {
  const reply = { requestID: "per_1", reply: "once" }
  test.each([
    ["the same reply", "once", "permission.replied", reply, BY],
    ["the same on 1.0", "once", "permission.replied", { permissionID: "per_1", response: "once" }, BY],
    ["another reply", "reject", "permission.replied", reply, undefined],
    [
      "the same answers",
      saysAnswers([["Red"], []]),
      "question.replied",
      { requestID: "per_1", answers: [["Red"], []] },
      BY,
    ],
    [
      "other answers",
      saysAnswers([["Red"], []]),
      "question.replied",
      { requestID: "per_1", answers: [["Blue"], []] },
      undefined,
    ],
    ["a dismissal", "dismissed", "question.rejected", { requestID: "per_1" }, BY],
    [
      "a dismissal of what was answered",
      saysAnswers([]),
      "question.rejected",
      { requestID: "per_1" },
      undefined,
    ],
    ["no reply at all", "once", "permission.replied", { requestID: "per_1" }, undefined],
  ])("%s", (_, says, type, properties, by) => {
    open().delivering = { by: BY, says }
    expect(see(type, properties)).toEqual(by === undefined ? {} : { by })
    // And once only.
    expect(see(type, properties)).toEqual({})
  })

  test("only while one is delivered", () => {
    open()
    expect(see("permission.replied", reply)).toEqual({})
  })
})

describe("what is kept of an ask", () => {
  test("is what was told last, and is forgotten with it", () => {
    const ask = open()
    asks.keep(ask, "one")
    asks.keep(ask, "two")
    expect(ask.told).toBe("two")
    see("permission.replied", { requestID: "per_1" })
    asks.keep(ask, "three")
    expect(ask.told).toBe("two")
  })

  test("is bounded for all of them, and makes room when it goes", () => {
    const large = "x".repeat(1024 * 1024)
    const many = [0, 1, 2, 3, 4].map((nth) => open(`per_${nth}`))
    for (const ask of many) asks.keep(ask, large)
    expect(many.map(({ told }) => told !== undefined)).toEqual([true, true, true, true, false])
    see("permission.replied", { requestID: "per_0" })
    const [, , , , last] = many
    if (last !== undefined) asks.keep(last, large)
    expect(last?.told).toBe(large)
  })
})

test("where nothing is open, no event that would end something is looked into", () => {
  const tripwire = (type: string) => ({
    type,
    get properties(): object {
      throw new Error("looked into")
    },
  })
  for (const type of [
    "session.idle",
    "session.error",
    "message.part.updated",
    "permission.replied",
    "zigzag",
  ]) {
    expect(asks.see(tripwire(type))).toEqual({})
  }
})

test("a session is placed once its parent, or that it has none, was told", () => {
  expect(asks.isPlaced(S)).toBe(false)
  see("session.updated", { info: { id: S } })
  expect(asks.isPlaced(S)).toBe(true)
})
