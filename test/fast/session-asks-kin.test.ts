/**
 * Asks of sub-agents (truth rule 4, design.md §6.5): raised in their own session, with the root session and the way down to it,
 * also where parents become known late, by another order of events, and over a restart of the service.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { MomentBody } from "../../shared/moments.ts"
import { bus, instanceOf } from "../house.ts"
import * as asks from "./asks-house.ts"
import { asked, created } from "./asks-house.ts"

let at: asks.AskHouse
beforeEach(() => {
  at = new asks.AskHouse()
})
afterEach(() => at.remove())

const askedIn = (session: string, id = `per_${session}`): MomentBody => asked(id, { sessionID: session })
const toldParent = (id: string, parentID: string): MomentBody =>
  bus("session.updated", { sessionID: id, info: { id, parentID } })
/** Root and way of an event. */
const placeOf = (event: object | undefined, vendor = "opencode"): unknown[] => {
  const marks = (event ?? {}) as Record<string, unknown>
  return [marks[`${vendor}root`], marks[`${vendor}path`]]
}
const linked = (session: string) =>
  at.house
    .events(session)
    .filter(({ type }) => type.endsWith(".linked"))
    .map((event) => [event.type, event.subject, event.cause, ...placeOf(event)])

describe("the way down", () => {
  test.each([1, 2, 3, 6])("names every session between, %d deep", (depth) => {
    const way = Array.from({ length: depth + 1 }, (_, nth) => `s${nth}`)
    way.forEach((session, nth) => {
      at.tell(created(session, way[nth - 1]))
    })
    const asking = `s${depth}`
    at.tell(askedIn(asking))
    expect(placeOf(at.last("attention.requested", asking))).toEqual(["s0", way.join("/")])
    expect(at.requests("s0")).toEqual([])
  })

  test("is the same for every ask of the session, on every road", () => {
    at.tell(created("root"), created("child", "root"))
    const permission = { id: "per_2", type: "bash", sessionID: "child", title: "x", metadata: {} }
    at.tell(
      askedIn("child"),
      bus("permission.updated", permission),
      { kind: "permission.ask", permission: { ...permission, id: "per_3" }, held: true },
      bus("question.asked", { id: "que_1", sessionID: "child", questions: [{ question: "?", options: [] }] }),
    )
    const places = at.requests("child").map((event) => placeOf(event))
    expect(places).toEqual(Array.from({ length: 4 }, () => ["root", "root/child"]))
  })

  test("stands under the fork's own name on a fork", () => {
    const kilo = instanceOf("k-1", { agent: "kilocode", answers: true })
    at.house.tell(kilo, created("root"), created("child", "root"), askedIn("child"))
    const request = at.house.events("child", "kilocode").find(({ type }) => type === "attention.requested")
    expect(placeOf(request, "kilocode")).toEqual(["root", "root/child"])
    expect(placeOf(request)).toEqual([undefined, undefined])
  })

  test.each(["restart", "crash"] as const)("is known after a %s", (how) => {
    at.tell(created("root"), created("child", "root"), created("grandchild", "child"))
    at.again(how)
    at.tell(askedIn("grandchild"))
    expect(placeOf(at.last("attention.requested", "grandchild"))).toEqual(["root", "root/child/grandchild"])
  })

  test("does not mix up two roots", () => {
    at.tell(created("a"), created("b"), created("a1", "a"), created("b1", "b"), askedIn("a1"), askedIn("b1"))
    expect(placeOf(at.last("attention.requested", "a1"))).toEqual(["a", "a/a1"])
    expect(placeOf(at.last("attention.requested", "b1"))).toEqual(["b", "b/b1"])
  })
})

describe("a parent that becomes known late", () => {
  test("is told with each ask that is open, and with none that has ended", () => {
    at.tell(askedIn("lost", "per_1"), askedIn("lost", "per_2"), askedIn("lost", "per_3"))
    at.tell(asks.replied("per_2", "once", undefined, "lost"), created("root"), toldParent("lost", "root"))
    const [first, , third] = at.requests("lost")
    expect(linked("lost")).toEqual([
      ["x.opencode.session.linked", undefined, undefined, "root", "root/lost"],
      ["x.opencode.attention.linked", first?.id, first?.id, "root", "root/lost"],
      ["x.opencode.attention.linked", third?.id, third?.id, "root", "root/lost"],
    ])
    expect(at.last("x.opencode.session.linked", "lost").data).toEqual({ parent: { session: "root" } })
  })

  test("has a way of its own, which is followed", () => {
    at.tell(created("root"), created("parent", "root"), askedIn("lost"), toldParent("lost", "parent"))
    expect(linked("lost").at(-1)?.slice(3)).toEqual(["root", "root/parent/lost"])
  })

  test("is told once, and no other takes its place", () => {
    at.tell(
      askedIn("lost"),
      toldParent("lost", "root"),
      toldParent("lost", "root"),
      toldParent("lost", "other"),
    )
    expect(linked("lost")).toHaveLength(2)
    at.tell(askedIn("lost", "per_2"))
    expect(placeOf(at.requests("lost")[1])).toEqual(["root", "root/lost"])
  })

  test.each(["restart", "crash"] as const)("is told once over a %s, and known after it", (how) => {
    at.tell(askedIn("lost"), toldParent("lost", "root"))
    at.again(how)
    at.tell(toldParent("lost", "root"), askedIn("lost", "per_2"))
    expect(linked("lost")).toHaveLength(2)
    expect(placeOf(at.requests("lost")[1])).toEqual(["root", "root/lost"])
  })

  test("of a session that has ended is no news", () => {
    at.tell(askedIn("lost"), asks.deleted("lost"), toldParent("lost", "root"))
    expect(linked("lost")).toEqual([])
  })

  test("of a session that told it with its first word needs no link", () => {
    at.tell(created("root"), created("child", "root"), askedIn("child"), toldParent("child", "root"))
    expect(linked("child")).toEqual([])
  })
})

describe("a session that nobody knows", () => {
  test("is begun by its ask, which is shown, answered and ended like any other", () => {
    at.tell(askedIn("stranger"), asks.replied("per_stranger", "once", undefined, "stranger"))
    expect(at.house.core("stranger")).toEqual([
      ...["session.started", "attention.requested", "attention.answered", "attention.resolved"],
    ])
  })
})

describe("sessions end", () => {
  test("each with its own asks: the parent's end takes none of its child's, which the agent ends itself", () => {
    at.tell(created("root"), created("child", "root"), askedIn("root"), askedIn("child"))
    at.tell(asks.failure("MessageAbortedError", "root"))
    expect(at.tale("root").at(-1)).toBe("attention.resolved R1 resolution=dismissed <R1")
    expect(at.tale("child")).toEqual(["attention.requested R1"])
    at.tell(asks.deleted("child"), asks.deleted("root"))
    expect(at.tale("child")).toEqual([
      "attention.requested R1",
      "attention.resolved R1 resolution=dismissed <R1",
      "session.ended reason=normal",
    ])
  })
})
