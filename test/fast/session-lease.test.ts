/**
 * Agents vanish without a word: what their silence, a sleeping machine, a goodbye and a restart of the service do to
 * what was open (design sections 5 and 6.2, 6.4, 6.7). Real intake and ledger, a clock that the test moves.
 */
import { afterEach, expect, test } from "bun:test"
import type { MomentBody } from "../../shared/moments.ts"
import { bus, House, instanceOf } from "../house.ts"

const I = instanceOf("i-1")
const J = instanceOf("i-2")
const S = "ses_1"
const OWN = "instance-i-1"
let houses: House[] = []

function open(): House {
  const house = new House()
  houses.push(house)
  return house
}

afterEach(() => {
  for (const house of houses) house.remove()
  houses = []
})

const prompt = (message: string, session = S): MomentBody => ({
  kind: "chat.message",
  input: { sessionID: session },
  output: { message: { id: message, role: "user" }, parts: [] },
})
const busy = (): MomentBody => bus("session.status", { sessionID: S, status: { type: "busy" } })
const idle = (): MomentBody => bus("session.idle", { sessionID: S })
const before = (call: string): MomentBody => ({
  kind: "tool.before",
  input: { tool: "bash", sessionID: S, callID: call },
  output: {},
})
const asked = (id: string, session = S): MomentBody =>
  bus("permission.asked", { id, sessionID: session, permission: "bash", patterns: ["ls"] })
const finished = (): MomentBody =>
  bus("message.updated", { sessionID: S, info: { id: "msg_2", role: "assistant", finish: "stop" } })
const working = (): MomentBody[] => [prompt("msg_1"), busy(), before("call_1"), asked("per_1")]

/** Sends heartbeats every 15 s, as the plugin does, for so long. */
function beat(house: House, instance = I, ms = 60_000): void {
  for (let passed = 0; passed < ms; passed += 15_000) {
    house.clock.advance(15_000)
    house.tell(instance)
  }
}

test("a heartbeat renews the lease and says nothing", () => {
  const house = open()
  house.tell(I, ...working())
  const told = house.events(S).length
  beat(house, I, 300_000)
  expect(house.events(S)).toHaveLength(told)
  expect(house.events(OWN).map(({ type }) => type)).toEqual(["session.started"])
  expect(house.presence()).toEqual(["online"])
})

test("a lease lapses after 45 s: run and calls end, the instance's session ends, the agent is gone", () => {
  const house = open()
  house.tell(I, ...working())
  house.clock.advance(44_000)
  expect(house.core(OWN)).toEqual(["session.started"])
  house.clock.advance(6_000)
  expect(house.core(S).slice(-2)).toEqual(["tool.failed", "run.cancelled"])
  expect(house.events(S).at(-1)?.data).toMatchObject({ by: "shutdown" })
  expect(house.events(OWN).at(-1)).toMatchObject({ type: "session.ended", data: { reason: "timeout" } })
  expect(house.presence()).toEqual(["online", "offline"])
  expect(house.core(S)).not.toContain("session.ended")
})

test("the asks of a lapsed instance stay open ten minutes, since the process may only sleep", () => {
  const house = open()
  house.tell(I, ...working())
  house.clock.advance(50_000)
  expect(house.core(S)).not.toContain("attention.resolved")
  house.clock.advance(590_000)
  expect(house.core(S)).not.toContain("attention.resolved")
  house.clock.advance(15_000)
  expect(house.events(S).at(-1)).toMatchObject({
    type: "attention.resolved",
    data: { resolution: "dismissed" },
  })
  house.clock.advance(3_600_000)
  expect(house.core(S).filter((type) => type === "attention.resolved")).toHaveLength(1)
})

test("an ask still open when a lapsed instance speaks again is answered as itself", () => {
  const house = open()
  house.tell(I, ...working())
  house.clock.advance(60_000)
  house.tell(I, bus("permission.replied", { sessionID: S, requestID: "per_1", reply: "once" }))
  expect(house.core(S).slice(-2)).toEqual(["attention.answered", "attention.resolved"])
  expect(house.presence()).toEqual(["online", "offline", "online"])
  expect(house.core(OWN)).toEqual(["session.started", "session.ended"])
})

test("a machine that slept ends nothing: every lease starts anew", () => {
  const house = open()
  house.tell(I, ...working())
  house.clock.advance(10_000)
  house.clock.sleep(8 * 3_600_000)
  expect(house.core(S)).not.toContain("run.cancelled")
  house.clock.advance(40_000)
  expect(house.core(OWN)).toEqual(["session.started"])
  house.clock.advance(15_000)
  expect(house.core(OWN)).toEqual(["session.started", "session.ended"])
})

test("a dispose ends what is open at once, in order, and the agent is gone", () => {
  const house = open()
  house.tell(I, ...working(), { kind: "dispose" })
  expect(house.core(S).slice(-3)).toEqual(["attention.resolved", "tool.failed", "run.cancelled"])
  expect(house.events(OWN).at(-1)).toMatchObject({ type: "session.ended", data: { reason: "normal" } })
  expect(house.presence()).toEqual(["online", "offline"])
  expect(house.intake.population).toEqual({ instances: 0, sessions: 0 })
})

test("a goodbye sent again because its answer was lost does not bring the agent back", () => {
  const house = open()
  const moments = house.stamp(I, [...working(), { kind: "dispose" }])
  house.send(I, 0, moments)
  const told = house.events(S).length
  expect(house.send(I, 0, moments)).toEqual({ next: 5, rejected: [] })
  expect(house.send(I, 4, moments.slice(4))).toEqual({ next: 5, rejected: [] })
  house.clock.advance(120_000)
  expect(house.presence()).toEqual(["online", "offline"])
  expect(house.events(S)).toHaveLength(told)
})

test("a dispose within the wait for a verdict judges by the evidence", () => {
  const house = open()
  house.tell(I, prompt("msg_1"), busy(), finished(), idle(), { kind: "dispose" })
  expect(house.core(S).at(-1)).toBe("run.finished")
  house.clock.advance(1_000)
  expect(house.core(S).filter((type) => type.startsWith("run."))).toEqual(["run.started", "run.finished"])
})

test("the agent is there from its first instance to the end of its last", () => {
  const house = open()
  house.tell(I, prompt("msg_1", "ses_a"))
  house.tell(J, prompt("msg_1", "ses_b"))
  house.tell(I, { kind: "dispose" })
  expect(house.presence()).toEqual(["online"])
  house.tell(J, { kind: "dispose" })
  expect(house.presence()).toEqual(["online", "offline"])
})

test("what another instance took over is not closed by the silence of the first", () => {
  const house = open()
  house.tell(I, ...working())
  house.clock.advance(30_000)
  house.tell(J, prompt("msg_9"), asked("per_2"))
  house.clock.advance(16_000)
  house.tell(J)
  expect(house.core(OWN)).toContain("session.ended")
  expect(house.core(S)).not.toContain("run.cancelled")
  beat(house, J, 700_000)
  expect(house.core(S)).not.toContain("attention.resolved")
})

test("what another instance took over is not closed by the goodbye of the first", () => {
  const house = open()
  house.tell(I, prompt("msg_1"), busy(), finished(), idle())
  house.clock.advance(1_000)
  house.tell(J, prompt("msg_9"), busy())
  house.tell(I, { kind: "dispose" })
  expect(house.core(S).filter((type) => type.startsWith("run."))).toEqual([
    "run.started",
    "run.finished",
    "run.started",
  ])
})

test("a run is judged 500 ms after idle, anew for each idle, by the service's clock", () => {
  const house = open()
  house.tell(I, prompt("msg_1"), busy(), finished(), idle())
  house.clock.advance(400)
  house.tell(I, idle())
  house.clock.advance(499)
  expect(house.core(S)).not.toContain("run.finished")
  house.clock.advance(1)
  expect(house.core(S).at(-1)).toBe("run.finished")
  expect(house.events(S).at(-1)?.data).toMatchObject({ duration_ms: 0 })
})

test("work that goes on after an idle takes the verdict back", () => {
  const house = open()
  house.tell(I, prompt("msg_1"), busy(), idle())
  house.clock.advance(300)
  house.tell(I, busy())
  house.clock.advance(10_000)
  expect(house.core(S)).not.toContain("run.cancelled")
  house.tell(I, finished(), idle())
  house.clock.advance(500)
  expect(house.core(S).at(-1)).toBe("run.finished")
})

test("after a kill the run that waited for its verdict is judged once its instance speaks", () => {
  const first = new House()
  first.tell(
    I,
    prompt("msg_1"),
    busy(),
    finished(),
    bus("session.status", { sessionID: S, status: { type: "idle" } }),
    idle(),
  )
  const house = first.crash()
  houses.push(house)
  house.clock.advance(5_000)
  expect(house.core(S)).not.toContain("run.finished")
  house.tell(I)
  house.clock.advance(500)
  expect(house.core(S).at(-1)).toBe("run.finished")
})

test("after a kill an instance that never speaks again lapses, and its run is judged by what is known", () => {
  const first = new House()
  first.tell(I, prompt("msg_1"), busy(), finished(), idle())
  first.tell(J, prompt("msg_1", "ses_b"))
  const house = first.crash()
  houses.push(house)
  house.clock.advance(50_000)
  expect(house.core(OWN)).toEqual(["session.started", "session.ended"])
  expect(house.core("instance-i-2")).toEqual(["session.started", "session.ended"])
  expect(house.core(S).at(-1)).toBe("run.finished")
  expect(house.events("ses_b").at(-1)).toMatchObject({ type: "run.cancelled", data: { by: "shutdown" } })
  expect(house.presence()).toEqual(["online", "offline"])
})

test("after a clean restart a new instance is told as there, though an old one left things open", () => {
  const first = new House()
  first.tell(I, ...working())
  const house = first.restart()
  houses.push(house)
  expect(house.presence()).toEqual(["online", "offline"])
  house.tell(J, prompt("msg_1", "ses_b"))
  expect(house.presence()).toEqual(["online", "offline", "online"])
  house.clock.advance(20_000)
  house.tell(J)
  house.clock.advance(30_000)
  house.tell(J)
  expect(house.core(S)).toContain("run.cancelled")
  expect(house.presence()).toEqual(["online", "offline", "online"])
})

test("after a clean restart the same instance goes on where it was", () => {
  const first = new House()
  first.tell(I, ...working())
  const house = first.restart()
  houses.push(house)
  expect(house.tell(I, finished(), idle()).next).toBe(6)
  house.clock.advance(500)
  expect(house.core(S)).toEqual([
    "session.started",
    "run.started",
    "progress.status",
    "tool.requested",
    "attention.requested",
    "attention.resolved",
    "progress.status",
    "tool.failed",
    "run.finished",
  ])
  expect(house.core(OWN)).toEqual(["session.started"])
  expect(house.presence()).toEqual(["online", "offline", "online"])
})
