/** Who may speak in whose session (AEP-0001 §5.2), and which sessions are ours while whose lease lives (AEP-0003 §4.1). */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { judgeAdmission } from "../../service/hub/admission.ts"
import type { MomentBody } from "../../shared/moments.ts"
import { bus, House, instanceOf } from "../house.ts"
import { messageOf } from "./hub-events.ts"

const isOurs = (session: string): boolean => session === "ours"

const verdicts: [string, Record<string, unknown>, boolean][] = [
  ["an event of its own session", { session: "theirs" }, true],
  ["an event as the owner of a session of ours", { session: "ours" }, false],
  ["an acknowledgement in a session of ours", { session: "ours", type: "control.accepted" }, false],
  ["a vendor's fact in a session of ours", { session: "ours", type: "x.acme.file.edited" }, false],
  ["a command for a session of ours", { session: "ours", type: "control.cancel", seq: undefined }, true],
  ["a note that an ask was routed", { session: "ours", type: "attention.routed", seq: undefined }, true],
  ["an event in no session", { type: "agent.idle", session: undefined, seq: undefined }, true],
]

test.each(verdicts)("from outside, %s may enter: %p", (_, members, expected) => {
  const verdict = judgeAdmission(messageOf(members), isOurs)
  expect(verdict === undefined).toBe(expected)
  if (verdict !== undefined)
    expect(verdict).toEqual({ code: "unauthorized", detail: expect.stringContaining("session") })
})

test.each(["session", "source", "id"])("a %s that is too long to be kept as a key stays out", (name) => {
  const long = (length: number) =>
    messageOf({ source: "aep://a/agent/b", [name]: `aep:${"x".repeat(length - 4)}` })
  expect(judgeAdmission(long(1024), isOurs)).toBeUndefined()
  expect(judgeAdmission(long(1025), isOurs)).toEqual({
    code: "invalid-event",
    detail: `${name}: expected at most 1024 characters`,
  })
})

describe("our own sessions", () => {
  const I = instanceOf("i-1")
  const J = instanceOf("i-2")
  let house: House
  beforeEach(() => {
    house = new House()
  })
  afterEach(() => house.remove())

  const created = (session: string): MomentBody =>
    bus("session.created", { sessionID: session, info: { id: session, version: "1" } })
  const updated = (session: string): MomentBody => bus("session.compacted", { sessionID: session })
  const claims = (): string[] =>
    house.roster
      .entries()
      .map(({ session, agent, instance }) => `${session} ${agent} ${instance}`)
      .sort()

  test("are claimed with the instance that speaks for them, as soon as it does", () => {
    house.tell(I, created("ses_1"))
    expect(claims()).toEqual(["instance-i-1 opencode i-1", "ses_1 opencode i-1"])
    expect(house.roster.entries()[0]?.control).toEqual({ accepts: [] })
    expect(house.own.owns("ses_1")).toBe(true)
  })

  test("have one claim when another instance takes one over", () => {
    house.tell(I, created("ses_1"))
    house.tell(J, updated("ses_1"))
    expect(house.roster.claimants("ses_1").map(({ instance }) => instance)).toEqual(["i-2"])
    house.tell(I, updated("ses_1"))
    expect(house.roster.claimants("ses_1").map(({ instance }) => instance)).toEqual(["i-1"])
  })

  test("are claimed no more after their end, and stay ours", () => {
    house.tell(I, created("ses_1"), bus("session.deleted", { sessionID: "ses_1", info: { id: "ses_1" } }))
    expect(claims()).toEqual(["instance-i-1 opencode i-1"])
    expect(house.own.owns("ses_1")).toBe(true)
  })

  test("are claimed no more after the goodbye of their instance", () => {
    house.tell(I, created("ses_1"))
    house.tell(J, created("ses_2"))
    house.tell(I, { kind: "dispose" })
    expect(claims()).toEqual(["instance-i-2 opencode i-2", "ses_2 opencode i-2"])
    expect(house.own.size).toBe(2)
  })

  test("are claimed until the lease lapses, and again when the instance comes back", () => {
    house.tell(I, created("ses_1"))
    house.clock.advance(44_000)
    expect(claims()).toHaveLength(2)
    house.clock.advance(10_000)
    expect(claims()).toEqual([])
    house.tell(I, updated("ses_1"))
    expect(claims()).toContain("ses_1 opencode i-1")
  })

  test("that were open are claimed after a restart once their instance is heard of", () => {
    house.tell(I, created("ses_1"), bus("session.status", { sessionID: "ses_1", status: { type: "busy" } }), {
      kind: "chat.message",
      input: { sessionID: "ses_1" },
      output: { message: { id: "msg_1", role: "user" }, parts: [] },
    })
    house = house.restart()
    expect(claims()).toEqual([])
    house.tell(I)
    expect(claims()).toContain("ses_1 opencode i-1")
  })

  test("that were idle are claimed then, too, but none that ended or went over to another", () => {
    const deleted = bus("session.deleted", { sessionID: "ses_3", info: { id: "ses_3" } })
    house.tell(I, created("ses_1"), created("ses_2"), created("ses_3"), deleted)
    house.tell(J, updated("ses_2"))
    house = house.restart()
    house.tell(I)
    expect(claims()).toEqual(["instance-i-1 opencode i-1", "ses_1 opencode i-1"])
  })

  test("are ours when only their log is left", () => {
    house.tell(I, created("ses_1"), { kind: "dispose" })
    house = house.restart()
    expect(house.own.owns("ses_1")).toBe(true)
    expect(house.own.owns("ses_other")).toBe(false)
    expect(house.own.owns("ses_other")).toBe(false)
  })
})
