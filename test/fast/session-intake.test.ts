/**
 * Each moment is applied exactly once, whatever the plugin sends again, leaves out or spoils (design sections 3, 5
 * and 7): the real intake, emitter and ledger on a real home.
 */
import { afterEach, expect, test } from "bun:test"
import type { MomentBody } from "../../shared/moments.ts"
import { bus, House, instanceOf } from "../house.ts"

const I = instanceOf("i-1", { version: "1.18.33" })
const S = "ses_1"
const houses: House[] = []

function open(): House {
  const house = new House()
  houses.push(house)
  return house
}

afterEach(() => {
  for (const house of houses.splice(0)) house.remove()
})

const created = (session = S): MomentBody =>
  bus("session.created", { sessionID: session, info: { id: session, time: { created: 0 } } })
const prompt = (message: string, session = S): MomentBody => ({
  kind: "chat.message",
  input: { sessionID: session },
  output: { message: { id: message, role: "user" }, parts: [{ type: "text", text: "hello" }] },
})
const status = (type: string): MomentBody => bus("session.status", { sessionID: S, status: { type } })
const answer = (message: string, members: object = {}): MomentBody =>
  bus("message.updated", { sessionID: S, info: { id: message, role: "assistant", time: {}, ...members } })
const idle = (): MomentBody => bus("session.idle", { sessionID: S })
const before = (call: string): MomentBody => ({
  kind: "tool.before",
  input: { tool: "bash", sessionID: S, callID: call },
  output: { args: { command: "ls" } },
})

const TURN: MomentBody[] = [
  created(),
  prompt("msg_1"),
  status("busy"),
  answer("msg_2"),
  before("call_1"),
  {
    kind: "tool.after",
    input: { tool: "bash", sessionID: S, callID: "call_1" },
    output: { output: "a.txt" },
  },
  answer("msg_2", { finish: "stop" }),
  status("idle"),
  idle(),
]

test("a batch sent again, whole or in part, says nothing twice and answers the same next", () => {
  const house = open()
  const moments = house.stamp(I, TURN)
  expect(house.send(I, 0, moments)).toEqual({ next: 9, rejected: [] })
  const told = house.events(S)
  const presence = house.presence()

  for (let length = 0; length <= moments.length; length += 1) {
    expect(house.send(I, 0, moments.slice(0, length))).toEqual({ next: 9, rejected: [] })
  }
  for (let from = 0; from < moments.length; from += 1) {
    expect(house.send(I, from, moments.slice(from))).toEqual({ next: 9, rejected: [] })
  }
  expect(house.events(S)).toEqual(told)
  expect(house.presence()).toEqual(presence)
  expect(house.intake.counts.moments).toBe(9)
  expect(house.intake.counts.repeated).toBe(90)
})

test("any prefix sent again after a kill of the service says nothing twice", () => {
  for (let length = 1; length <= TURN.length; length += 1) {
    let house = new House()
    const moments = house.stamp(I, TURN)
    house.send(I, 0, moments.slice(0, length))
    house = house.crash()
    houses.push(house)
    const told = house.events(S).map(({ id }) => id)
    house.send(I, 0, moments.slice(0, length))
    expect(house.events(S).map(({ id }) => id)).toEqual(told)
    house.send(I, length, moments.slice(length))
    house.clock.advance(500)
    expect(house.core(S)).toEqual([
      "session.started",
      "run.started",
      "progress.status",
      "tool.requested",
      "tool.completed",
      "progress.status",
      "run.finished",
    ])
  }
})

test("a gap in the indexes is accepted and the answer names what comes after it", () => {
  const house = open()
  const [a, b, c] = house.stamp(I, [created(), status("busy"), status("idle")])
  expect(house.send(I, 0, [a, c])).toEqual({ next: 3, rejected: [] })
  expect(house.send(I, 1, [b])).toEqual({ next: 3, rejected: [] })
  expect(house.events(S).map(({ subject }) => subject)).toEqual([undefined, "idle"])
})

test("a first batch that begins in the middle is taken from its first index", () => {
  const house = open()
  expect(house.send(I, 40, [{ ...status("busy"), n: 40, at: 1 }])).toEqual({ next: 41, rejected: [] })
  expect(house.core(S)).toEqual(["session.started", "progress.status"])
})

test("a malformed moment costs only itself, and is refused once", () => {
  const house = open()
  const [a, b, c] = house.stamp(I, [created(), status("busy"), status("idle")])
  const broken = { ...b, kind: "nonsense" }
  const answerOf = house.send(I, 0, [a, broken, c])
  expect(answerOf.next).toBe(3)
  expect(answerOf.rejected).toHaveLength(1)
  expect(answerOf.rejected[0]).toMatchObject({ n: 1 })
  expect(house.send(I, 0, [a, broken, c])).toEqual({ next: 3, rejected: [] })
  expect(house.core(S)).toEqual(["session.started", "progress.status"])
  expect(house.intake.counts.rejected).toBe(1)
})

test("what the plugin dropped is told once, in the instance's own session", () => {
  const house = open()
  const moments = house.stamp(I, [created()])
  house.send(I, 0, moments, { "file.edited": 3, "tool.after": 1 })
  house.send(I, 0, moments, { "file.edited": 3, "tool.after": 1 })
  house.send(I, 1, [], {})
  const dropped = house.events("instance-i-1").filter(({ type }) => type === "x.opencode.moments.dropped")
  expect(dropped.map(({ data, severity }) => [data, severity])).toEqual([
    [{ count: 4, kinds: { "file.edited": 3, "tool.after": 1 } }, "warning"],
  ])
  expect(house.intake.counts.dropped).toBe(4)
})

test("moments without a session belong to the instance's own, those with one never do", () => {
  const house = open()
  house.tell(I, bus("file.edited", { file: "/home/dev/project/a.txt" }), status("busy"))
  expect(house.events("instance-i-1").map(({ type }) => type)).toEqual([
    "session.started",
    "x.opencode.file.edited",
  ])
  expect(house.core(S)).toEqual(["session.started", "progress.status"])
})

test("two instances count their moments apart and speak for their own sessions", () => {
  const house = open()
  const J = instanceOf("i-2")
  expect(house.tell(I, created("ses_a")).next).toBe(1)
  expect(house.tell(J, created("ses_b"), bus("session.idle", { sessionID: "ses_b" })).next).toBe(2)
  expect(house.events("ses_a")[0]).toMatchObject({ opencodeinstance: "i-1", opencodemoment: 0 })
  expect(house.events("ses_b")[0]).toMatchObject({ opencodeinstance: "i-2", opencodemoment: 0 })
  expect(house.presence()).toEqual(["online"])
  expect(house.intake.population).toEqual({ instances: 2, sessions: 2 })
})

test("a vendor of its own gets its own names, logs and presence", () => {
  const house = open()
  house.tell(instanceOf("k-1", { agent: "kilocode" }), bus("session.drain.interrupted", { sessionID: S }))
  const [started, odd] = house.events(S, "kilocode")
  expect(started?.type).toBe("session.started")
  expect(odd).toMatchObject({ type: "x.kilocode.session.drain.interrupted", kilocodeinstance: "k-1" })
  expect(house.presence("kilocode")).toEqual(["online"])
  expect(house.presence("opencode")).toEqual([])
})

test("an agent nobody knows is a fault of the door, not silence", () => {
  const house = open()
  expect(() => house.tell(instanceOf("z-1", { agent: "unheard" }), created())).toThrow("unknown agent")
})

test("a moment nested too deep to be digested is refused at once, and the rest of the batch is kept", () => {
  const house = open()
  let deep: unknown = 1
  for (let level = 0; level < 100_000; level += 1) deep = [deep]
  const hostile: MomentBody = {
    kind: "tool.before",
    input: { tool: "bash", sessionID: S, callID: "call_9" },
    output: { args: deep },
  }
  const told = house.tell(I, created(), hostile, status("busy"))
  expect(told.next).toBe(3)
  expect(told.rejected).toEqual([{ n: 1, reason: "body: expected at most 500 levels" }])
  expect(house.core(S)).toEqual(["session.started", "progress.status"])
  expect(house.faults).toEqual([])
})

test("an event that no envelope takes leaves the lines beside it whole", () => {
  const house = open()
  // Only a moment that went around the door has such a time.
  const [hostile] = house.stamp(I, [prompt("msg_1")])
  house.intake.apply({ instance: I, first: 0, dropped: undefined, moments: [{ ...hostile, at: 1e15 }] })
  expect(house.refused).toEqual([])
  expect(house.intake.counts.rejected).toBe(1)
  expect(house.events(S)).toEqual([])
})

test("a session sees its beginning at position 0, one met late starts at a seed", () => {
  const house = open()
  house.tell(
    I,
    bus("session.created", {
      sessionID: "ses_new",
      info: { id: "ses_new", time: { created: house.clock.now() } },
    }),
    bus("session.idle", { sessionID: "ses_old" }),
  )
  expect(house.events("ses_new")[0]).toMatchObject({ epoch: 0, seq: 0 })
  expect(house.events("ses_old")[0]?.epoch).toBeGreaterThan(0)
})
