/**
 * Asks as they are raised and lapse (truth rule 4, design.md §5): what a person is told on every road and level, until when, by which
 * road an answer can come, whose child asks, and what an ask is that is told again.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { AepEvent } from "../../shared/aep.ts"
import type { Decision, Instance, MomentBody } from "../../shared/moments.ts"
import { Clock, MORNING } from "../clock.ts"
import { bus, House, instanceOf } from "../house.ts"
import { posture } from "../posture.ts"

const I = instanceOf("i-1", { answers: true })
const S = "ses_1"
const WINDOWS = { hookMs: 55_000, askMs: 1_800_000 }

let house: House
/** As the service is by default: what is asked is told, redacted. */
beforeEach(() => {
  house = new House(new Clock(), undefined, posture("metadata", { attention: "redacted" }))
})
afterEach(() => house.remove())

const asked = (more: Record<string, unknown> = {}): MomentBody =>
  bus("permission.asked", {
    id: "per_1",
    sessionID: S,
    permission: "bash",
    patterns: ["rm -rf build"],
    metadata: { command: "rm -rf build" },
    always: ["rm *", "rmdir *"],
    ...more,
  })
const PERMISSION = {
  id: "per_1",
  type: "bash",
  sessionID: S,
  callID: "c",
  title: "rm -rf build",
  metadata: {},
}
const updated = () => bus("permission.updated", PERMISSION)
const held = (isHeld = true): MomentBody => ({ kind: "permission.ask", permission: PERMISSION, held: isHeld })
const replied = (reply = "once") => bus("permission.replied", { sessionID: S, requestID: "per_1", reply })
const question = () =>
  bus("question.asked", {
    id: "que_1",
    sessionID: S,
    questions: [{ question: "Which?", header: "Q", options: [{ label: "secret one" }, { label: "two" }] }],
  })
const requests = (session = S): AepEvent[] =>
  house.events(session).filter(({ type }) => type === "attention.requested")
const request = (session = S): AepEvent => {
  const [first] = requests(session)
  if (first === undefined) throw new Error("nothing was asked")
  return first
}
const ends = (session = S): string[] =>
  house
    .events(session)
    .flatMap(({ type, subject, data }) =>
      /^attention\.(resolved|timeout)$/.test(type) ? [`${subject} ${data?.resolution ?? "timeout"}`] : [],
    )
/** Time passes, in which the plugin polls. */
const pass = (ms: number): void => {
  for (let left = ms; left > 0; left -= 10_000) {
    house.clock.advance(Math.min(left, 10_000))
    house.intake.renew(I.id)
  }
}
const optionsOf = (event: AepEvent | undefined) =>
  (event?.data?.options ?? []) as { id: string; label: string }[]
/** What waits on the way down to the plugin, and is not a command's. */
const notices = async (): Promise<Decision[]> => {
  const { downlink } = house.commands
  const messages = await downlink.poll(I.id, "nonce-0123456789abcdef", AbortSignal.abort())
  return messages.map(({ decision }) => JSON.parse(decision))
}

describe("a request tells what a person needs to decide", () => {
  const options = (...pairs: [string, string][]) => pairs.map(([id, label]) => ({ id, label }))
  const rows: [string, MomentBody, ReturnType<typeof options>, string[]][] = [
    [
      "the reply route",
      asked(),
      options(
        ["once", "Allow once"],
        ["always", "Always allow until the agent restarts: rm *, rmdir *"],
        ["reject", "Reject, and all other asks of this session"],
      ),
      ["control", "oob"],
    ],
    [
      "the route of 1.0",
      updated(),
      options(
        ["once", "Allow once"],
        ["always", "Always allow in this session: everything of bash"],
        ["reject", "Reject"],
      ),
      ["control", "oob"],
    ],
    [
      "the route of 1.0, with a pattern",
      bus("permission.updated", { ...PERMISSION, pattern: ["rm *"] }),
      options(["once", "Allow once"], ["always", "Always allow in this session: rm *"], ["reject", "Reject"]),
      ["control", "oob"],
    ],
    ["the held hook", held(), options(["allow", "Allow"], ["deny", "Deny"]), ["control"]],
    ["a question", question(), options(["reject", "Dismiss without an answer"]), ["control", "oob"]],
  ]
  test.each(rows)("by %s", (_, moment, expected, via) => {
    house.tell(I, moment)
    expect(request().data).toMatchObject({
      options: expected,
      respond_via: via,
      expires_at: new Date(MORNING + (via.includes("oob") ? WINDOWS.askMs : WINDOWS.hookMs)).toISOString(),
    })
  })

  test("with the tool where the rule does not name it, and the call as its cause", () => {
    const input = { tool: "write", sessionID: S, callID: "call_1" }
    house.tell(
      I,
      { kind: "tool.before", input, output: {} },
      asked({ permission: "edit", tool: { messageID: "m", callID: "call_1" } }),
    )
    const call = house.events(S).find(({ type }) => type === "tool.requested")
    expect(request()).toMatchObject({
      cause: call?.id ?? "",
      data: { prompt: expect.stringContaining("(tool: write)") },
    })
  })

  test("with many patterns cut, and said to be", () => {
    house.tell(I, asked({ always: Array.from({ length: 100 }, (_, at) => `command-${at} *`) }))
    const always = optionsOf(request())[1]?.label ?? ""
    expect(always).toMatch(/ …$/)
    expect(always.length).toBeLessThan(220)
    house.tell(I, asked({ id: "per_2", always: [`${"x".repeat(159)}\u{1f600}`] }))
    expect(optionsOf(requests()[1])[1]?.label.isWellFormed()).toBe(true)
  })

  const diff = `--- a\n+++ b\n${"+line\n".repeat(50)}`
  const edit = () => ({
    ...asked({ permission: "edit", patterns: ["src/a.ts"], metadata: { filepath: "/p/src/a.ts", diff } }),
    cut: ["event.properties.metadata.diff"],
  })
  test.each([
    ["none", undefined, undefined],
    ["metadata", "opencode requests permission: edit", undefined],
    ["redacted", expect.stringContaining("src/a.ts"), undefined],
    [
      "full",
      expect.stringContaining("src/a.ts"),
      {
        permission: "edit",
        patterns: ["src/a.ts"],
        metadata: { filepath: "/p/src/a.ts", diff },
        cut: ["diff"],
      },
    ],
  ] as const)("at %s", (level, prompt, context) => {
    house.remove()
    house = new House(new Clock(), undefined, posture(level, { attention: level }))
    house.tell(I, edit() as MomentBody)
    const [told] = requests()
    expect(told?.data?.prompt).toEqual(prompt as never)
    if (context === undefined) expect(told?.data?.context).toBeUndefined()
    else expect(told?.data?.context).toMatchObject(context)
    // Whatever else is hidden, what can be chosen is not.
    if (level !== "none") expect(optionsOf(told).map(({ id }) => id)).toEqual(["once", "always", "reject"])
  })

  test("a question's labels are hidden at metadata, and its choices stay choices", () => {
    house.remove()
    house = new House(new Clock(), undefined, posture("metadata", { attention: "metadata" }))
    house.tell(I, question())
    expect(JSON.stringify(request())).not.toContain("secret")
    expect(request().data?.fields).toEqual([
      expect.objectContaining({
        id: "1",
        choices: [
          { id: "1", label: "1" },
          { id: "2", label: "2" },
        ],
      }),
    ] as never)
  })
})

describe("a request can be answered by a command only", () => {
  const rows: [string, Partial<Instance>, MomentBody, string[]][] = [
    ["where the plugin carries answers out", {}, asked(), ["control", "oob"]],
    ["where it does, in a terminal", { mode: "tui" }, asked(), ["control", "oob"]],
    ["not by a plugin that cannot", { answers: false }, asked(), ["oob"]],
    ["not in run, which answers by itself", { mode: "run" }, asked(), ["oob"]],
    ["but in 1.0's run, which shows a prompt", { mode: "run" }, updated(), ["control", "oob"]],
    ["not where its id had to be changed", {}, asked({ id: 'per "1"' }), ["oob"]],
  ]
  test.each(rows)("%s", (_, members, moment, via) => {
    house.tell({ ...I, ...members }, moment)
    expect(request().data?.respond_via).toEqual(via as never)
  })
})

describe("a held hook", () => {
  test("is a request only where it is held", () => {
    house.tell(I, held(false))
    expect(requests()).toEqual([])
    house.tell(I, updated())
    expect(requests()).toHaveLength(1)
  })

  test("has its plugin told how long the service waits, and that it waits no longer", async () => {
    house.tell(I)
    await notices()
    house.tell(I, held())
    expect(await notices()).toEqual([{ kind: "pending", session: S, ask: "per_1", ms: WINDOWS.hookMs }])
    pass(WINDOWS.hookMs - 1)
    expect(ends()).toEqual([])
    pass(1)
    expect(ends()).toEqual([`${request().id} timeout`])
    expect(await notices()).toContainEqual({ kind: "lapse", session: S, ask: "per_1" })
  })

  test("that is let go is asked anew in the agent's dialog: another request, which says whose successor it is", () => {
    house.tell(I, held())
    pass(WINDOWS.hookMs)
    house.tell(
      I,
      updated(),
      bus("permission.replied", { sessionID: S, permissionID: "per_1", response: "once" }),
    )
    const [first, second] = requests()
    const end = house.events(S).find(({ type }) => type === "attention.timeout")
    expect(second?.cause).toBe(end?.id ?? "")
    expect(second?.data?.respond_via).toEqual(["control", "oob"] as never)
    expect(ends()).toEqual([`${first?.id} timeout`, `${second?.id} answered`])
  })

  test("that its plugin let go by its own clock has lapsed, and is asked anew", () => {
    house.tell(I, held())
    house.clock.advance(20_000)
    house.tell(I, updated())
    expect(ends()).toEqual([`${request().id} timeout`])
    expect(requests()).toHaveLength(2)
  })
})

describe("a request lapses", () => {
  test("after its window, once; the agent's own answer to it is told as that of a void one", () => {
    house.tell(I, asked())
    pass(WINDOWS.askMs)
    pass(WINDOWS.askMs)
    expect(ends()).toEqual([`${request().id} timeout`])
    const timeout = house.events(S).find(({ type }) => type === "attention.timeout")
    expect(timeout).toMatchObject({ cause: request().id, data: { after_ms: WINDOWS.askMs } })
    house.tell(I, replied())
    expect(house.events(S).at(-1)?.type).toBe("x.opencode.permission.replied")
    expect(ends()).toHaveLength(1)
  })

  test("each at its own time", () => {
    house.tell(I, asked())
    pass(600_000)
    house.tell(I, asked({ id: "per_2" }))
    pass(1_200_000)
    expect(ends()).toHaveLength(1)
    pass(600_000)
    expect(ends()).toHaveLength(2)
  })

  test("after a restart, too, but not before the plugin had time to come back", () => {
    house.tell(I, asked())
    house = house.restart()
    house.clock.advance(2_000)
    house.tell(I)
    pass(WINDOWS.askMs)
    expect(ends()).toEqual([`${request().id} timeout`])
  })

  test("while the service was away, and was answered then: the answer is what is told", () => {
    house.tell(I, asked())
    const clock = house.clock
    house.intake.stop()
    clock.sleep(WINDOWS.askMs + 5_000)
    house = house.restart()
    clock.advance(3_000)
    house.tell(I, replied())
    expect(ends()).toEqual([`${request().id} answered`])
  })
})

describe("an ask that is told again", () => {
  test("while it is open says nothing new", () => {
    house.tell(I, asked())
    const before = house.events(S).length
    house.tell(I, asked(), asked())
    expect(house.events(S)).toHaveLength(before)
  })

  test("after it was answered says nothing new", () => {
    house.tell(I, asked(), replied(), asked())
    expect(requests()).toHaveLength(1)
  })

  test("after it was given up here is a new request, whose cause is the old one's end", () => {
    house.tell(I, asked())
    house.clock.advance(45_000 + 600_000 + 20_000)
    expect(ends()).toEqual([`${request().id} dismissed`])
    const end = house.events(S).find(({ type }) => type === "attention.resolved")
    house.tell(I, asked())
    expect(requests()[1]).toMatchObject({ cause: end?.id ?? "" })
    house.tell(I, replied())
    expect(ends()).toHaveLength(2)
  })

  test("before that keeps its request, and is answered as itself", () => {
    house.tell(I, asked())
    house.clock.advance(45_000 + 300_000)
    house.tell(I, asked(), replied())
    expect(requests()).toHaveLength(1)
    expect(ends()).toEqual([`${request().id} answered`])
  })
})

describe("a sub-agent's ask", () => {
  const created = (id: string, parentID?: string) =>
    bus("session.created", {
      sessionID: id,
      info: { id, version: "1", ...(parentID === undefined ? {} : { parentID }) },
    })
  const placed = (session: string) => {
    const { opencoderoot, opencodepath } = request(session) as Record<string, unknown>
    return [opencoderoot, opencodepath]
  }

  test("is raised in its own session and names the root and the way, at any depth", () => {
    house.tell(I, created("root"), created("a", "root"), created("b", "a"), created("c", "b"))
    for (const session of ["root", "a", "b", "c"])
      house.tell(I, asked({ id: `per_${session}`, sessionID: session }))
    expect(placed("root")).toEqual([undefined, undefined])
    expect(placed("a")).toEqual(["root", "root/a"])
    expect(placed("b")).toEqual(["root", "root/a/b"])
    expect(placed("c")).toEqual(["root", "root/a/b/c"])
  })

  test("whose parent becomes known late is linked then, once", () => {
    house.tell(I, asked({ sessionID: "lost" }))
    expect(placed("lost")).toEqual([undefined, undefined])
    const info = { id: "lost", parentID: "root" }
    house.tell(
      I,
      bus("session.updated", { sessionID: "lost", info }),
      bus("session.updated", { sessionID: "lost", info }),
    )
    const links = house.events("lost").filter(({ type }) => type.endsWith(".linked"))
    expect(links.map(({ type, subject }) => [type, subject])).toEqual([
      ["x.opencode.session.linked", undefined],
      ["x.opencode.attention.linked", request("lost").id],
    ])
    expect(links[1]).toMatchObject({
      opencoderoot: "root",
      opencodepath: "root/lost",
      cause: request("lost").id,
    })
    house.tell(I, asked({ id: "per_2", sessionID: "lost" }))
    expect(requests("lost")[1]).toMatchObject({ opencoderoot: "root" })
  })

  test("of a session nobody knows is shown all the same", () => {
    house.tell(I, asked({ sessionID: "stranger" }))
    expect(house.core("stranger")).toEqual(["session.started", "attention.requested"])
  })
})
