/**
 * Answers carried out by the plugin (design §3): which call of the agent's client each becomes, what is said of it, whose answer
 * an event is, and that nothing is delivered to what is not open.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { Core } from "../../plugin/src/core.ts"
import type { Decision } from "../../shared/moments.ts"
import { AnswersHouse, ASKED, about, BY, type Call, S } from "./plugin-answers-house.ts"
import { busEvent, idle } from "./plugin-fixtures.ts"

let house: AnswersHouse
beforeEach(() => {
  house = new AnswersHouse()
})
afterEach(() => house.close())

const ONCE: Decision = { kind: "reply", ...about, reply: "once", by: BY }
const REASON: Decision = { kind: "reply", ...about, reply: "reject", message: "no", by: BY }
const ANSWERS: Decision = { kind: "answers", ...about, answers: [[2], ["my own", 1]], by: BY }
const DISMISS: Decision = { kind: "dismiss", ...about, by: BY }
const HOOK: Decision = { kind: "hook", ...about, status: "allow", by: BY }
const REPORT = { request: "R1", ...about, by: BY }

const JSON_TYPE = { "content-type": "application/json" }
const LEGACY = "/session/{id}/permissions/{permissionID}"
const LEGACY_PATH = { id: S, permissionID: "per_1" }
const PATH = { requestID: "per_1" }

/** A core in which one ask is open, of a session whose parent is known. */
function asking(family: keyof typeof ASKED = "reply"): Core {
  const core = house.core()
  core.take("event", busEvent("session.created", { info: { id: S } }), undefined)
  core.take("event", ASKED[family], undefined)
  return core
}

const tell = (core: Core, type: string, properties: Record<string, unknown>) =>
  void core.take("event", busEvent(type, properties), undefined)

describe("an answer becomes one call of the agent's client", () => {
  const rows: [keyof typeof ASKED, Decision, Call][] = [
    ["reply", ONCE, { url: LEGACY, path: LEGACY_PATH, body: { response: "once" } }],
    ["reply", { ...ONCE, reply: "always" }, { url: LEGACY, path: LEGACY_PATH, body: { response: "always" } }],
    [
      "reply",
      REASON,
      {
        url: "/permission/{requestID}/reply",
        path: PATH,
        body: { reply: "reject", message: "no" },
        headers: JSON_TYPE,
      },
    ],
    ["legacy", ONCE, { url: LEGACY, path: LEGACY_PATH, body: { response: "once" } }],
    ["legacy", REASON, { url: LEGACY, path: LEGACY_PATH, body: { response: "reject" } }],
    [
      "question",
      ANSWERS,
      {
        url: "/question/{requestID}/reply",
        path: PATH,
        body: { answers: [["Blue"], ["my own", "Yes"]] },
        headers: JSON_TYPE,
      },
    ],
    ["question", DISMISS, { url: "/question/{requestID}/reject", path: PATH, body: {}, headers: JSON_TYPE }],
  ]
  test.each(rows)("%s: %j", async (family, decision, call) => {
    asking(family)
    await house.send(["R1", decision])
    await house.reported(1)
    expect(house.calls).toEqual([{ ...call, query: { directory: "/project" } }])
    expect(house.deliveries()).toEqual([{ ...REPORT, status: "done" }])
  })
})

describe("nothing is delivered", () => {
  const mismatches: [keyof typeof ASKED, Decision][] = [
    ["reply", ANSWERS],
    ["reply", DISMISS],
    ["reply", HOOK],
    ["legacy", HOOK],
    ["question", ONCE],
    ["question", HOOK],
    ["reply", { ...ONCE, ask: "per_2" }],
    ["reply", { ...ONCE, session: "ses_2" }],
    ["reply", { kind: "pending", ...about, ms: 5 }],
    ["reply", { kind: "lapse", ...about }],
  ]
  test.each(mismatches)("to %s by %j", async (family, decision) => {
    asking(family)
    await house.send(["R1", decision])
    await house.reported(1)
    expect(house.calls).toEqual([])
    expect(house.deliveries()[0]).toMatchObject({ status: "stale" })
  })

  const voids: [string, string, Record<string, unknown>][] = [
    ["an abort", "session.error", { sessionID: S, error: { name: "MessageAbortedError" } }],
    ["an idle", "session.idle", { sessionID: S }],
    ["a deletion", "session.deleted", { info: { id: S } }],
    [
      "the end of the call",
      "message.part.updated",
      { part: { type: "tool", id: "prt", callID: "call_1", sessionID: S, state: { status: "error" } } },
    ],
    [
      "an answer at the terminal",
      "permission.replied",
      { sessionID: S, requestID: "per_1", reply: "reject" },
    ],
  ]
  test.each(voids)("after %s", async (_, type, properties) => {
    const core = asking()
    tell(core, type, properties)
    await house.send(["R1", ONCE])
    await house.reported(1)
    expect(house.calls).toEqual([])
    expect(house.deliveries()).toEqual([{ ...REPORT, status: "stale" }])
  })

  test.each([
    ["a choice that is not there", [[3], [1]]],
    ["no choice at all", [[0], [1]]],
    ["too few answers", [[1]]],
    ["too many answers", [[1], [1], [1]]],
  ])("of %s", async (_, answers) => {
    asking("question")
    await house.send(["R1", { ...ANSWERS, answers } as Decision])
    await house.reported(1)
    expect(house.calls).toEqual([])
    expect(house.deliveries()).toEqual([{ ...REPORT, status: "failed" }])
  })

  const shapes: unknown[] = [
    { ...ONCE, reply: "forever" },
    { ...ONCE, by: undefined },
    { ...ONCE, by: { command: 1, mark: "m" } },
    { ...ONCE, ask: 7 },
    { ...ONCE, session: undefined },
    { ...ANSWERS, answers: "all" },
    { ...ANSWERS, answers: [1] },
    { ...ANSWERS, answers: [[1.5], [1]] },
    { ...ANSWERS, answers: [[null], [1]] },
    { ...HOOK, status: "maybe" },
    { kind: "pending", ...about },
    { kind: "pending", ...about, ms: -1 },
    { kind: "telepathy", ...about, by: BY },
    {},
  ]
  test.each(shapes.map((shape) => [shape]))("for a decision that is none: %j", async (shape) => {
    asking()
    asking("question")
    await house.send(["R1", shape as Decision])
    await house.send(["R2", { kind: "lapse", ...about }])
    await house.reported(1)
    expect(house.calls).toEqual([])
    expect(house.deliveries().map(({ request }) => request)).toEqual(["R2"])
  })
})

describe("what the agent's client answers", () => {
  const rows: [string, (call: Call) => unknown, string][] = [
    ["200", () => ({ data: true, response: { status: 200 } }), "done"],
    ["404", () => ({ error: { _tag: "PermissionNotFoundError" }, response: { status: 404 } }), "gone"],
    ["400", () => ({ error: { name: "BadRequest" }, response: { status: 400 } }), "failed"],
    ["a rejection", () => Promise.reject(new Error("broken")), "failed"],
    ["nothing", () => undefined, "done"],
    // It was told, and may be at it: what came of it, its own events tell.
    ["nothing in time", () => new Promise(() => undefined), "done"],
    [
      "a throw",
      () => {
        throw new Error("broken")
      },
      "failed",
    ],
  ]
  test.each(rows)("%s is reported as that", async (_, answer, status) => {
    house.answer = answer
    asking()
    await house.send(["R1", ONCE])
    await house.reported(1)
    expect(house.deliveries()).toMatchObject([{ ...REPORT, status }])
  })

  test.each([[null], [{}], [{ postSessionIdPermissionsPermissionId: 1 }]])(
    "a client %j fails",
    async (client) => {
      const core = house.core({}, { client })
      core.take("event", ASKED.reply, undefined)
      await house.send(["R1", ONCE])
      await house.reported(1)
      expect(house.deliveries()).toMatchObject([{ status: "failed" }])
    },
  )
})

describe("the agent's own event", () => {
  const replied = { sessionID: S, requestID: "per_1", reply: "once" }

  test("that comes before the call returns is the command's, and goes up before the report", async () => {
    const core = asking()
    house.answer = () => {
      tell(core, "permission.replied", replied)
      return { data: true }
    }
    await house.send(["R1", ONCE])
    await house.reported(1)
    expect(house.told().slice(-2)).toEqual(["permission.replied by 01A", "delivery"])
  })

  test("that comes long after a call that took its time is the command's, too", async () => {
    house.answer = () => new Promise(() => undefined)
    const core = asking()
    await house.send(["R1", ONCE])
    await house.reported(1)
    tell(core, "permission.replied", replied)
    await house.peer.until(() => house.told().includes("permission.replied by 01A"))
  })

  test("of somebody at the terminal who was faster is not", async () => {
    const core = asking()
    house.answer = () => {
      tell(core, "permission.replied", { ...replied, reply: "reject" })
      return { error: {}, response: { status: 404 } }
    }
    await house.send(["R1", ONCE])
    await house.reported(1)
    expect(house.told().slice(-2)).toEqual(["permission.replied", "delivery"])
    expect(house.deliveries()).toEqual([{ ...REPORT, status: "gone" }])
  })

  test("after an answer that the agent did not take is not", async () => {
    house.answer = () => ({ error: {}, response: { status: 500 } })
    const core = asking()
    await house.send(["R1", ONCE])
    await house.reported(1)
    tell(core, "permission.replied", replied)
    await house.peer.until(() => house.told().at(-1) === "permission.replied")
  })

  test("of a neighbour whose answer it takes along is not", async () => {
    const core = asking()
    tell(core, "permission.asked", { id: "per_2", sessionID: S })
    house.answer = () => {
      tell(core, "permission.replied", { ...replied, reply: "reject" })
      tell(core, "permission.replied", { ...replied, requestID: "per_2", reply: "reject" })
      return { data: true }
    }
    await house.send(["R1", { ...ONCE, reply: "reject" }])
    await house.reported(1)
    expect(house.told().slice(-3)).toEqual(["permission.replied by 01A", "permission.replied", "delivery"])
  })
})

describe("a decision", () => {
  test("that comes again is not carried out again, and is reported again", async () => {
    asking()
    await house.send(["R1", ONCE])
    await house.reported(1)
    await house.send(["R1", ONCE])
    await house.reported(2)
    expect(house.calls).toHaveLength(1)
    expect(house.deliveries()).toEqual([
      { ...REPORT, status: "done" },
      { ...REPORT, status: "done" },
    ])
  })

  test("of another name for an ask that is still open is another try", async () => {
    asking()
    await house.send(["R1", ONCE])
    await house.reported(1)
    await house.send(["R2", ONCE])
    await house.reported(2)
    expect(house.calls).toHaveLength(2)
  })
})

describe("open asks are told again", () => {
  const asked = () => house.told().filter((type) => type === "permission.asked").length

  test("to a service that was away", async () => {
    const core = asking()
    await house.peer.until(() => asked() === 1)
    house.peer.misbehave(() => new Response("", { status: 500 }))
    tell(core, "session.compacted", { sessionID: S })
    const before = house.peer.arrivals.length
    await house.peer.until(() => house.peer.arrivals.length > before + 1)
    house.peer.misbehave(undefined)
    await house.peer.until(() => asked() === 2)
    const [first, second] = house.peer.applied.filter(
      (moment) => moment.kind === "bus" && moment.event.type === "permission.asked",
    )
    expect(second).toEqual({ ...first, n: expect.any(Number), at: expect.any(Number) } as typeof first)
    expect(second?.n).toBeGreaterThan(first?.n ?? 0)
  })

  test("to one that does not know the instance any more, which is introduced at once", async () => {
    asking()
    const poll = await house.poll()
    poll.answer(Response.json({ error: "unknown-instance" }, { status: 404 }))
    await house.peer.until(() => asked() === 2)
  })

  test("to one that was never there when they were asked", async () => {
    house.peer.misbehave(() => new Response("", { status: 500 }))
    const core = house.core()
    tell(core, "session.compacted", { sessionID: S })
    await house.peer.until(() => house.peer.arrivals.length > 3)
    core.take("event", ASKED.reply, undefined)
    house.peer.misbehave(undefined)
    await house.peer.until(() => asked() === 1)
  })

  test("and settled ones are not", async () => {
    const core = asking()
    tell(core, "permission.replied", { sessionID: S, requestID: "per_1", reply: "once" })
    const poll = await house.poll()
    poll.answer(Response.json({ error: "unknown-instance" }, { status: 404 }))
    await house.poll()
    tell(core, "session.compacted", { sessionID: S })
    await house.peer.until(() => house.told().at(-1) === "session.compacted")
    expect(asked()).toBe(1)
  })
})

describe("an ask of a session that no event placed", () => {
  test("has its parent looked up once, and told as an event would", async () => {
    house.sessions.set("ses_lost", { id: "ses_lost", parentID: "ses_root", secret: "content" })
    const core = house.core()
    for (const id of ["per_1", "per_2"]) tell(core, "permission.asked", { id, sessionID: "ses_lost" })
    await house.peer.until(() => house.told().includes("session.updated"))
    expect(house.calls).toEqual([{ url: "/session/{id}", path: { id: "ses_lost" } }])
    expect(house.peer.applied.at(-1)).toMatchObject({
      event: { type: "session.updated", properties: { info: { id: "ses_lost", parentID: "ses_root" } } },
    })
    expect(JSON.stringify(house.peer.applied)).not.toContain("content")
    // From now on the parent's end is its own.
    tell(core, "session.idle", { sessionID: "ses_root" })
    await house.send(["R1", { ...ONCE, session: "ses_lost" }])
    await house.reported(1)
    expect(house.deliveries()).toMatchObject([{ status: "stale" }])
  })

  test("is told all the same where the agent does not know, or says another's", async () => {
    house.sessions.set("ses_odd", { id: "ses_other", parentID: "ses_root" })
    const core = house.core()
    tell(core, "permission.asked", { id: "per_1", sessionID: "ses_lost" })
    tell(core, "permission.asked", { id: "per_2", sessionID: "ses_odd" })
    tell(core, "session.compacted", { sessionID: S })
    await house.peer.until(() => house.told().at(-1) === "session.compacted")
    expect(house.calls).toHaveLength(2)
    expect(house.told()).not.toContain("session.updated")
  })
})

test("an instance says whether it can answer", async () => {
  house.core().take("event", idle(), undefined)
  house.core({}, { client: null }).take("event", idle(), undefined)
  await house.peer.until(() => house.peer.arrivals.length === 2)
  // Which of the two arrives first is theirs.
  const told = house.peer.arrivals.map(({ batch }) => batch.instance.answers === true)
  expect(told.sort()).toEqual([false, true])
})
