/**
 * The session rules on made-up turns, where no recording shows the case: what opens a run and what does not, what
 * belongs together, and what is told of a session that is over (design section 6).
 */
import { describe, expect, test } from "bun:test"
import type { AgentMode, Moment, MomentBody } from "../../shared/moments.ts"
import { bus, instanceOf } from "../house.ts"
import { replay } from "../replay.ts"
import { rowsOf } from "../rows.ts"

const S = "ses_1"
/** A body, and how long after the one before it; 10 ms when only the body is given. */
type Told = MomentBody | [MomentBody, number]

function rows(told: readonly Told[], session = S, mode: AgentMode = "serve"): string[] {
  let at = 1_796_000_000_000
  const moments = told.map((one, n): Moment => {
    const [body, after] = Array.isArray(one) ? one : [one, 10]
    at += after
    return { ...body, n, at }
  })
  const found = rowsOf(replay(instanceOf("i-1", { mode }), moments).events)[session] ?? []
  return found.map((row) => row.replace(/^\d+ /, ""))
}

/** The types alone, and of runs what decides. */
const short = (told: readonly Told[], session = S): string[] =>
  rows(told, session).map((row) => row.split(" ")[0] ?? "")

/** Every type told, the vendor's machinery too. */
const everything = (told: readonly MomentBody[]): string[] => {
  const moments = told.map((body, n): Moment => ({ ...body, n, at: 1_796_000_000_000 + n }))
  return (replay(instanceOf("i-1"), moments).events.get(S) ?? []).map(({ type }) => type)
}

const created = (members: object = {}, session = S): MomentBody =>
  bus("session.created", { sessionID: session, info: { id: session, ...members } })
const prompt = (id: string, session = S): MomentBody => ({
  kind: "chat.message",
  input: { sessionID: session },
  output: { message: { id, role: "user" }, parts: [] },
})
const user = (id: string, members: object = {}): MomentBody =>
  bus("message.updated", { sessionID: S, info: { id, role: "user", sessionID: S, ...members } })
const answer = (id: string, members: object = {}): MomentBody =>
  bus("message.updated", { sessionID: S, info: { id, role: "assistant", time: {}, ...members } })
const status = (type: string, members: object = {}): MomentBody =>
  bus("session.status", { sessionID: S, status: { type, ...members } })
const idle = (): MomentBody => bus("session.idle", { sessionID: S })
const part = (members: object): MomentBody =>
  bus("message.part.updated", { sessionID: S, part: { sessionID: S, messageID: "msg_1", ...members } })
const toolPart = (call: string, state: object, tool = "bash"): MomentBody =>
  part({ type: "tool", tool, callID: call, state })
const before = (call: string, tool = "bash"): MomentBody => ({
  kind: "tool.before",
  input: { tool, sessionID: S, callID: call },
  output: { args: {} },
})
const after = (call: string, tool = "bash", output: object = { output: "" }): MomentBody => ({
  kind: "tool.after",
  input: { tool, sessionID: S, callID: call },
  output,
})
const asked = (id: string, call?: string): MomentBody =>
  bus("permission.asked", {
    id,
    sessionID: S,
    permission: "bash",
    ...(call === undefined ? {} : { tool: { callID: call } }),
  })
const replied = (id: string, reply: string): MomentBody =>
  bus("permission.replied", { sessionID: S, requestID: id, reply })
const deleted = (): MomentBody => bus("session.deleted", { sessionID: S, info: { id: S } })
const whole = [
  answer("msg_2"),
  answer("msg_2", { finish: "stop", time: { completed: 1 } }),
  status("idle"),
  idle(),
]

describe("a run opens at a prompt, and at nothing else", () => {
  test("the hook's message and its re-broadcasts are one run", () => {
    const told = [
      prompt("msg_1"),
      user("msg_1"),
      status("busy"),
      user("msg_1"),
      ...whole,
      [user("msg_1"), 60],
      user("msg_1"),
    ] as Told[]
    expect(short(told).filter((type) => type.startsWith("run."))).toEqual(["run.started", "run.finished"])
  })

  test("without the hook, a user message opens it once the session goes to work", () => {
    expect(short([user("msg_1"), status("busy"), ...whole])).toEqual([
      ...["session.started", "run.started", "progress.status", "progress.status", "run.finished"],
    ])
    expect(short([user("msg_1"), before("c1")])).toEqual(["session.started", "run.started", "tool.requested"])
    expect(short([user("msg_1")])).toEqual(["session.started"])
  })

  test("a message that was answered before we met it opens nothing", () => {
    expect(short([user("msg_1", { summary: { diffs: [] } }), status("busy")])).toEqual([
      "session.started",
      "progress.status",
    ])
    expect(short([user("msg_1", { summarised: true }), status("busy")])).toEqual([
      "session.started",
      "progress.status",
    ])
  })

  test("a compaction and a shell's own text open nothing", () => {
    const compaction = [
      user("msg_1"),
      part({ type: "compaction", auto: false }),
      status("busy"),
      answer("msg_2", { summary: true, finish: "stop" }),
      status("idle"),
      idle(),
    ]
    expect(short(compaction).filter((type) => type.startsWith("run."))).toEqual([])
    const shell = [
      user("msg_1"),
      part({ type: "text", synthetic: true }),
      status("busy"),
      toolPart("c1", { status: "running" }),
      toolPart("c1", { status: "completed" }),
      status("idle"),
      idle(),
    ]
    expect(short(shell)).toEqual(["session.started", "progress.status", "progress.status"])
  })

  test("a fork's replay of old messages and calls tells only that the session began", () => {
    const old = [
      created({ title: "x (fork #1)" }),
      user("msg_1"),
      answer("msg_2", { finish: "stop", time: { completed: 1 } }),
      toolPart("c1", { status: "completed", output: "x" }),
      toolPart("c2", { status: "error", error: "Aborted" }),
    ]
    expect(everything(old)).toEqual(["session.started"])
  })

  test("a prompt queued behind another is answered in the same run", () => {
    const told = [prompt("msg_1"), status("busy"), prompt("msg_3"), ...whole]
    expect(short(told).filter((type) => type.startsWith("run."))).toEqual(["run.started", "run.finished"])
  })

  test("a prompt within the wait for a verdict ends the run before it opens its own", () => {
    const told = [
      prompt("msg_1"),
      status("busy"),
      ...whole,
      [prompt("msg_5"), 100],
      status("busy"),
      answer("msg_6", { finish: "length" }),
      status("idle"),
      idle(),
    ] as Told[]
    expect(rows(told).filter((row) => row.startsWith("run."))).toEqual([
      "run.started trigger=user run=1",
      "run.finished duration_ms=40 run=1 <1",
      "run.started trigger=user run=2",
      "run.failed reason=length duration_ms=30 run=2 <5",
    ])
  })

  test("in a child's session it is the agent's", () => {
    expect(rows([created({ parentID: "ses_0" }), prompt("msg_1")])).toEqual([
      "session.started parent.session=ses_0",
      "run.started trigger=agent run=1",
    ])
  })

  test("after a deletion it opens no more", () => {
    expect(short([deleted(), prompt("msg_1"), user("msg_3"), status("busy")])).toEqual([
      "session.started",
      "session.ended",
    ])
  })
})

describe("a session starts once, from whatever is known then", () => {
  test("a resumed one takes parent from its first word", () => {
    expect(
      rows([bus("session.updated", { sessionID: S, info: { id: S, parentID: "ses_0" } }), created()]),
    ).toEqual(["session.started parent.session=ses_0"])
  })

  test("met through a tool or an ask it starts without", () => {
    expect(short([before("c1"), created({ parentID: "ses_0" })])).toEqual([
      "session.started",
      "tool.requested",
    ])
    expect(short([asked("per_1"), created()])).toEqual(["session.started", "attention.requested"])
  })

  test("deleted twice it ends once", () => {
    expect(short([created(), deleted(), deleted()])).toEqual(["session.started", "session.ended"])
  })

  test("deleted while it works, what is open ends before it", () => {
    expect(short([prompt("msg_1"), before("c1"), asked("per_1", "c1"), deleted()])).toEqual([
      ...["session.started", "run.started", "tool.requested", "attention.requested"],
      ...["attention.resolved", "tool.failed", "run.cancelled", "session.ended"],
    ])
  })

  test("after its end no progress is told, and an ask of the run that goes on still gets its end", () => {
    const todo = bus("todo.updated", { sessionID: S, todos: [{ content: "x", status: "pending" }] })
    const told = [
      deleted(),
      todo,
      bus("session.compacted", { sessionID: S }),
      status("busy"),
      asked("per_1"),
      idle(),
    ]
    expect(short(told)).toEqual([
      "session.started",
      "session.ended",
      "attention.requested",
      "attention.resolved",
    ])
  })
})

describe("a call gets one terminal", () => {
  test("told twice it is requested once, and completed once", () => {
    expect(
      short([before("c1"), before("c1"), after("c1"), after("c1"), toolPart("c1", { status: "completed" })]),
    ).toEqual(["session.started", "tool.requested", "tool.completed"])
  })

  test("the part completes it where the hook's word was lost", () => {
    expect(short([before("c1"), toolPart("c1", { status: "completed", output: "x" })])).toEqual([
      "session.started",
      "tool.requested",
      "tool.completed",
    ])
  })

  test.each([
    [
      "The user rejected permission",
      "tool.failed bash tool.name=bash tool.call_id=c1 error.type=rejected duration_ms=10 <1",
    ],
    [
      "The user dismissed this question",
      "tool.failed bash tool.name=bash tool.call_id=c1 error.type=dismissed duration_ms=10 <1",
    ],
    [
      "Tool execution aborted",
      "tool.failed bash tool.name=bash tool.call_id=c1 error.type=aborted duration_ms=10 <1",
    ],
    [
      "The user has specified a rule which prevents",
      "tool.denied bash tool.name=bash tool.call_id=c1 by=user_setting <1",
    ],
    ["ENOENT", "tool.failed bash tool.name=bash tool.call_id=c1 error.type=error duration_ms=10 <1"],
  ])("an error %p", (error, row) => {
    expect(rows([before("c1"), toolPart("c1", { status: "error", error })]).at(-1)).toBe(row)
  })

  test("completed although it had to be called aborted, it is told as late, once", () => {
    const told = [
      prompt("msg_1"),
      before("c1"),
      status("idle"),
      idle(),
      [after("c1"), 900],
      toolPart("c1", { status: "completed" }),
    ] as Told[]
    expect(short(told)).toEqual([
      ...[
        "session.started",
        "run.started",
        "tool.requested",
        "progress.status",
        "tool.failed",
        "run.cancelled",
      ],
      "x.opencode.tool.late",
    ])
  })

  test("its parts say nothing beside its hooks, before or after them", () => {
    const parts = [toolPart("c1", { status: "running" }), toolPart("c1", { status: "completed" })]
    const told = everything([status("busy"), before("c1"), ...parts, after("c1"), ...parts])
    expect(told).toEqual(["session.started", "progress.status", "tool.requested", "tool.completed"])
    expect(everything([status("busy"), ...parts]).slice(2)).toEqual([
      "x.opencode.message.part.updated",
      "x.opencode.message.part.updated",
    ])
  })

  test("without its request it is nothing of ours", () => {
    expect(short([after("c1"), toolPart("c2", { status: "error", error: "x" })])).toEqual(["session.started"])
  })
})

describe("a person stops a run", () => {
  test("by a refusal beside a call that goes on", () => {
    const told = [
      prompt("msg_1"),
      answer("msg_2"),
      before("c1"),
      before("c2"),
      toolPart("c1", { status: "error", error: "The user rejected permission" }),
      after("c2"),
      answer("msg_2", { finish: "tool-calls" }),
      status("idle"),
      idle(),
    ]
    expect(rows(told).at(-1)).toStartWith("run.failed reason=rejected")
  })

  test("but not by a refusal after which the agent took another step", () => {
    const told = [
      prompt("msg_1"),
      answer("msg_2"),
      before("c1"),
      toolPart("c1", { status: "error", error: "The user rejected permission" }),
      answer("msg_2", { finish: "tool-calls" }),
      answer("msg_3", { finish: "tool-calls" }),
      status("idle"),
      idle(),
    ]
    expect(rows(told).at(-1)).toStartWith("run.cancelled by=user")
  })
})

describe("an ask gets one terminal", () => {
  test("its twins and its hook are one request", () => {
    const hook: MomentBody = {
      kind: "permission.ask",
      permission: { id: "per_1", sessionID: S, type: "bash" },
    }
    const twin = bus("permission.v2.asked", { id: "per_1", sessionID: S, action: "bash" })
    const old = bus("permission.updated", { id: "per_1", sessionID: S, type: "bash" })
    expect(short([hook, old, asked("per_1"), twin])).toEqual(["session.started", "attention.requested"])
    expect(short([asked("per_1"), replied("per_1", "once"), twin])).toEqual([
      ...["session.started", "attention.requested", "attention.answered", "attention.resolved"],
    ])
  })

  test("a reply and its twin are one answer", () => {
    const twin = bus("permission.v2.replied", { sessionID: S, requestID: "per_1", reply: "once" })
    const old = bus("permission.replied", { sessionID: S, permissionID: "per_1", response: "once" })
    expect(short([asked("per_1"), replied("per_1", "once"), twin, old])).toHaveLength(4)
  })

  test("what a reject or an always takes along is resolved, not answered; a second once is an answer", () => {
    const two = (reply: string, gap: number): Told[] => [
      asked("per_1"),
      asked("per_2"),
      replied("per_1", reply),
      [replied("per_2", reply), gap],
    ]
    const answers = (reply: string, gap: number) =>
      short(two(reply, gap)).filter((type) => type === "attention.answered").length
    expect([answers("reject", 1), answers("always", 1), answers("once", 1), answers("reject", 51)]).toEqual([
      1, 1, 2, 2,
    ])
  })

  test("idle, an abort and a deletion void it; another error does not", () => {
    const ends = (moment: MomentBody) =>
      rows([asked("per_1"), moment]).filter((row) => row.startsWith("attention.resolved"))
    const error = (name: string) => bus("session.error", { sessionID: S, error: { name } })
    const dismissed = ["attention.resolved @1 resolution=dismissed latency_ms=10 <1"]
    expect(ends(idle())).toEqual(dismissed)
    expect(ends(deleted())).toEqual(dismissed)
    expect(ends(error("MessageAbortedError"))).toEqual(dismissed)
    expect(ends(error("APIError"))).toEqual([])
    expect(ends({ kind: "dispose" })).toEqual(dismissed)
  })

  test("the end of its call ends it: by itself when it ran, withdrawn when it failed", () => {
    const call = [before("c1"), asked("per_1", "c1")]
    expect(rows([...call, after("c1")])[3]).toBe("attention.resolved @2 resolution=auto latency_ms=10 <2")
    expect(rows([...call, toolPart("c1", { status: "error", error: "x" })])[3]).toStartWith(
      "attention.resolved @2 resolution=dismissed",
    )
    expect(
      rows([...call, toolPart("c1", { status: "error", error: "The user rejected permission" })])[3],
    ).toStartWith("attention.resolved @2 resolution=auto")
  })

  test("a yes to a void ask is told with a warning, one to a settled ask not at all", () => {
    expect(rows([asked("per_1"), idle(), replied("per_1", "once")]).at(-1)).toBe(
      "x.opencode.permission.replied per_1 reply=once void=true",
    )
    expect(everything([asked("per_1"), replied("per_1", "once"), replied("per_1", "once")])).toHaveLength(4)
    expect(everything([replied("per_9", "once")])).toEqual([
      "session.started",
      "x.opencode.permission.replied",
    ])
  })

  test("answered in a one-shot run, the host answered; elsewhere, and in 1.0's run, a person", () => {
    const told: Told[] = [asked("per_1"), [replied("per_1", "reject"), 5]]
    expect(rows(told, S, "run")[2]).toContain("by=host")
    expect(rows(told, S, "tui")[2]).not.toContain("by=host")
    const legacy = bus("permission.replied", { sessionID: S, permissionID: "per_1", response: "reject" })
    expect(rows([asked("per_1"), [legacy, 5]], S, "run")[2]).not.toContain("by=host")
  })

  test("a question's own words are not told, its choices are", () => {
    const question = bus("question.asked", {
      id: "que_1",
      sessionID: S,
      questions: [
        { question: "?", options: [{ label: "A" }, { label: "B" }] },
        { question: "??", options: [] },
      ],
    })
    const reply = bus("question.replied", {
      sessionID: S,
      requestID: "que_1",
      answers: [["B"], ["my own words"]],
    })
    expect(rows([question, reply])).toEqual([
      "session.started",
      "attention.requested que_1 kind=form prompt=opencode asks 2 questions fields=1(1,2)|2() respond_via=oob options=reject expires=+1800s",
      "attention.answered @1 answer.values.1=2 via=oob <1",
      "attention.resolved @1 resolution=answered latency_ms=10 <2",
    ])
  })
})

describe("status is told on change", () => {
  test("busy repeated is silent, each retry is not", () => {
    const told = [
      status("busy"),
      status("busy"),
      status("retry", { attempt: 1 }),
      status("retry", { attempt: 2 }),
      status("busy"),
      status("idle"),
      status("idle"),
    ]
    expect(rows(told).map((row) => row.split(" ")[1])).toEqual([
      undefined,
      "busy",
      "retry",
      "retry",
      "busy",
      "idle",
    ])
  })

  test("an idle without a status says so for the run", () => {
    expect(rows([prompt("msg_1"), idle()])).toEqual([
      "session.started",
      "run.started trigger=user run=1",
      "progress.status idle run=1",
      "run.cancelled by=user duration_ms=10 run=1 <1",
    ])
  })
})

test("usage and cost are summed by message, the last word of each counts", () => {
  const tokens = (input: number) => ({ tokens: { input, output: 1 }, cost: 0.25 })
  const told = [
    prompt("msg_1"),
    answer("msg_2", tokens(5)),
    answer("msg_2", { ...tokens(10), finish: "tool-calls" }),
    answer("msg_3", { ...tokens(20), finish: "stop" }),
    status("idle"),
    idle(),
  ]
  expect(rows(told).at(-1)).toBe(
    "run.finished duration_ms=40 gen_ai.usage.input_tokens=30 gen_ai.usage.output_tokens=2 cost.currency=USD cost.total=0.5 run=1 <1",
  )
})
