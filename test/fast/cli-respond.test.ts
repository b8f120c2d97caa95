/**
 * `opencode-aep respond` as a process, against the real service as a process and a plugin that is played: what it makes of a call,
 * what goes down, what it says came of it, and every exit code.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type { AepEvent } from "../../shared/aep.ts"
import { suitePort } from "../ports.ts"
import { bus, ControlHouse, ran } from "./cli-control-house.ts"

const house = new ControlHouse()
beforeAll(() => house.open(suitePort("hub", 7)))
afterAll(() => house.close())

let made = 0
let session: string
let ask: string
/** The id of the request, as it is logged. */
let request: string
beforeEach(async () => {
  made += 1
  session = `ses_${made}`
  ask = `per_${made}`
  await house.tell(
    bus("session.created", { sessionID: session, info: { id: session, version: "1" } }),
    bus("permission.asked", {
      id: ask,
      sessionID: session,
      permission: "bash",
      patterns: ["make"],
      metadata: { command: "make" },
      always: ["make *"],
    }),
  )
  request = logged("attention.requested")?.id ?? ""
})

const logged = (type: string): AepEvent | undefined =>
  house.logged(session).find((event) => event.type === type)

/** Plays the plugin: takes the decision, and has the agent confirm it. */
async function confirm(): Promise<Record<string, unknown>> {
  const { request: name, decision } = await house.decision()
  if (decision.kind !== "reply") throw new Error(`not a reply: ${decision.kind}`)
  const { by, reply } = decision
  await house.tell(
    {
      kind: "bus",
      event: { type: "permission.replied", properties: { sessionID: session, requestID: ask, reply } },
      by,
    },
    { kind: "delivery", request: name, status: "done", session, ask, by },
  )
  return { ...decision }
}

// The first of all: no plugin has polled yet.
test("an answer that no plugin listens for is refused for now, and nothing of it happens later", async () => {
  const { code, complained } = await house.run(["respond", request, "once"])
  expect([code, complained]).toEqual([
    3,
    expect.stringContaining("rejected (busy, offline): the agent does not listen"),
  ])
  await house.tell(bus("session.idle", { sessionID: session }))
})

describe("an answer", () => {
  const calls: [string, string[], Record<string, unknown>, string, Record<string, unknown>][] = [
    ["by the option's id", ["once"], { reply: "once" }, "once", { option: "once" }],
    ["by its label", ["allow ONCE"], { reply: "once" }, "once", { option: "once" }],
    [
      "with a reason",
      ["reject", "--text", "not now"],
      { reply: "reject", message: "not now" },
      "reject",
      { option: "reject", text: "not now" },
    ],
    [
      "in words alone",
      ["--text", "use the target"],
      { reply: "reject", message: "use the target" },
      "reject",
      { option: "reject", text: "use the target" },
    ],
  ]
  test.each(calls)("%s goes down, and what was applied is told", async (_, args, decided, option, answer) => {
    const child = house.start(["respond", request, ...args])
    expect(await confirm()).toMatchObject({ kind: "reply", session, ask, ...decided })
    const { code, said } = await ran(child)
    expect([code, said]).toEqual([0, `applied: ${request} ${option}\n`])
    expect(logged("attention.answered")?.data).toMatchObject({
      answer,
      via: "control",
      by: "opencode-aep-cli",
    })
  })

  test("names its request by the end of its id, and is caused by it", async () => {
    const child = house.start(["respond", request.slice(-8), "once"])
    await confirm()
    expect((await ran(child)).code).toBe(0)
    const answered = logged("attention.answered")
    const acks = house.logged(session).filter(({ type }) => type === "control.accepted")
    expect(acks).toHaveLength(1)
    expect(answered?.cause).toBe(acks[0]?.cause)
  })

  test("with --json tells the decision and what came of it, as received", async () => {
    const child = house.start(["respond", request, "once", "--json"])
    await confirm()
    const { said } = await ran(child)
    expect(
      said
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([logged("control.accepted"), logged("attention.answered")])
  })

  test("that comes too late is refused, with what happened instead", async () => {
    const child = house.start(["respond", request, "once"])
    const { request: name, decision } = await house.decision()
    const by = "by" in decision ? decision.by : undefined
    await house.tell(bus("permission.replied", { sessionID: session, requestID: ask, reply: "reject" }), {
      kind: "delivery",
      request: name,
      status: "gone",
      session,
      ask,
      ...(by === undefined ? {} : { by }),
    })
    const { code, complained } = await ran(child)
    expect([code, complained]).toEqual([
      3,
      expect.stringContaining("rejected (refused, answered): the request was answered already"),
    ])
  })

  test("to a request that has ended is not sent, and is told how it ended", async () => {
    await house.tell(bus("permission.replied", { sessionID: session, requestID: ask, reply: "always" }))
    const { code, complained } = await house.run(["respond", request, "once"])
    expect([code, complained]).toEqual([3, expect.stringContaining("answered: always, at the agent")])
    expect(logged("control.rejected")).toBeUndefined()
  })

  test("to a request that nobody made is not sent", async () => {
    const { code, complained } = await house.run(["respond", "no-such", "once"])
    expect([code, complained]).toEqual([
      3,
      expect.stringContaining("no request no-such waits; next: opencode-aep pending"),
    ])
  })
})

describe("a wrong call sends nothing", () => {
  const calls: [string, string[], string][] = [
    ["an option that is not offered", ["maybe"], "no option maybe; give one of once, always, reject"],
    ["no answer at all", [], "give one of once, always, reject, or --text"],
    ["a value for what is no form", ["--value", "1=1"], "the request is no form"],
    ["a value beside an option", ["once", "--value", "1=1"], "give either --value"],
  ]
  test.each(calls)("%s", async (_, args, words) => {
    const { code, complained } = await house.run(["respond", request, ...args])
    expect([code, complained]).toEqual([2, expect.stringContaining(words)])
    expect(logged("control.rejected")).toBeUndefined()
    await house.tell(bus("session.idle", { sessionID: session }))
  })

  test("an id of which too little is given", async () => {
    const { code, complained } = await house.run(["respond", request.slice(-3), "once", "--session", session])
    expect([code, complained]).toEqual([3, expect.stringContaining(`no request ${request.slice(-3)} waits`)])
    await house.tell(bus("session.idle", { sessionID: session }))
  })

  test("an id that fits several", async () => {
    await house.tell(
      bus("permission.asked", { id: `${ask}b`, sessionID: session, permission: "bash", patterns: [] }),
    )
    const common = request.slice(0, 4)
    const { code, complained } = await house.run(["respond", common, "once", "--session", session])
    expect([code, complained]).toEqual([
      2,
      expect.stringContaining(`${common} is not one request: ${request}, `),
    ])
    await house.tell(bus("session.idle", { sessionID: session }))
  })
})

describe("a question", () => {
  beforeEach(async () => {
    await house.tell(
      bus("session.idle", { sessionID: session }),
      bus("question.asked", {
        id: `que_${made}`,
        sessionID: session,
        questions: [
          { question: "Colour?", header: "C", options: [{ label: "red" }, { label: "blue" }] },
          { question: "Sizes?", header: "S", multiple: true, options: [{ label: "S" }, { label: "M" }] },
        ],
      }),
    )
    request = house.logged(session).findLast(({ type }) => type === "attention.requested")?.id ?? ""
  })

  test("takes choices by id or label, several, and own words", async () => {
    const child = house.start([
      "respond",
      request,
      "--value",
      "1=BLUE",
      "--value",
      "2=1",
      "--value",
      "2=my own",
    ])
    const { request: name, decision } = await house.decision()
    expect(decision).toMatchObject({ kind: "answers", answers: [[2], [1, "my own"]] })
    if (decision.kind !== "answers") throw new Error("not answers")
    const { by } = decision
    const event = {
      type: "question.replied",
      properties: { sessionID: session, requestID: decision.ask, answers: [["blue"], ["S", "my own"]] },
    }
    await house.tell(
      { kind: "bus", event, by },
      { kind: "delivery", request: name, status: "done", session, ask: decision.ask, by },
    )
    expect(await ran(child)).toMatchObject({ code: 0, said: `applied: ${request} as given\n` })
  })

  test.each([
    ["a question that it does not have", ["--value", "3=1"], "names no question"],
    ["a pair that is none", ["--value", "blue"], "names no question"],
    [
      "two answers where one is taken",
      ["--value", "1=1", "--value", "1=2", "--value", "2=1"],
      "1 takes one answer",
    ],
  ])("is not sent %s", async (_, args, words) => {
    const { code, complained } = await house.run(["respond", request, ...args])
    expect([code, complained]).toEqual([2, expect.stringContaining(words)])
  })

  test("that is left half answered is not sent, which says what is missing", async () => {
    const { code, complained } = await house.run(["respond", request, "--value", "1=1"])
    expect([code, complained]).toEqual([
      2,
      expect.stringContaining("question 2 needs an answer; give --value 2=... (1, 2)"),
    ])
  })

  test("whose labels are numbers is not answered by a number that could be two", async () => {
    await house.tell(
      bus("session.idle", { sessionID: session }),
      bus("question.asked", {
        id: `que_${made}n`,
        sessionID: session,
        questions: [
          { question: "How many?", header: "N", options: [{ label: "1" }, { label: "3" }, { label: "2" }] },
        ],
      }),
    )
    const named = house.logged(session).findLast(({ type }) => type === "attention.requested")?.id ?? ""
    const { code, complained } = await house.run(["respond", named, "2"])
    expect([code, complained]).toEqual([2, expect.stringContaining("no option 2")])
  })

  test("with several parts takes no text, which the service says", async () => {
    const { code, complained } = await house.run(["respond", request, "--text", "blue"])
    expect([code, complained]).toEqual([
      3,
      expect.stringContaining("rejected (invalid, form): there are several questions; give --value"),
    ])
  })
})

test.each(["OPENCODE", "AGENT"])("inside an agent (%s is set) it does not run", async (name) => {
  const { code, complained } = await house.run(["respond", request, "once"], { [name]: "1" })
  expect([code, complained]).toEqual([2, expect.stringContaining("respond does not run inside an agent")])
})

test("a wrong call is a usage error, and help has an example", async () => {
  expect((await house.run(["respond"])).code).toBe(2)
  const help = await house.run(["respond", "--help"])
  expect([help.code, help.said]).toEqual([0, expect.stringContaining("$ opencode-aep respond 01KX2 once")])
})
