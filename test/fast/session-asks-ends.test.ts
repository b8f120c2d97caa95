/**
 * How asks end, story by story (truth rule 4): who answered, what else went with it, what takes an ask away and what does not.
 * Each request has exactly one end, and it comes before that of its session.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { AgentMode, MomentBody } from "../../shared/moments.ts"
import { bus, instanceOf } from "../house.ts"
import * as asks from "./asks-house.ts"
import { asked, I, idle, question, replied, S } from "./asks-house.ts"

let at: asks.AskHouse
beforeEach(() => {
  at = new asks.AskHouse()
})
afterEach(() => at.remove())

/** Told one after the other, each 100 ms after the one before: too far apart for one answer to have taken another along. */
function tell(...moments: MomentBody[]): void {
  for (const moment of moments) {
    at.wait(100)
    at.tell(moment)
  }
}
const R1 = "attention.requested R1"
const HERE = (option: string, request = "R1") => [
  `attention.answered ${request} answer={"option":"${option}"} via=oob <${request}`,
  `attention.resolved ${request} resolution=answered <attention.answered`,
]
const gone = (how: string, request = "R1") => `attention.resolved ${request} resolution=${how} <${request}`

describe("answered in the agent's own dialog, or by another of its clients", () => {
  test.each(["once", "always", "reject"])("with %s", (reply) => {
    tell(asked(), replied("per_1", reply))
    expect(at.tale()).toEqual([R1, ...HERE(reply)])
  })

  test("in the spelling of 1.0", () => {
    const response = { sessionID: S, permissionID: "per_1", response: "once" }
    tell(asks.updated(), bus("permission.replied", response))
    expect(at.tale()).toEqual([R1, ...HERE("once")])
  })

  test("in 1.0's run, which shows a prompt, by a person", () => {
    const instance = instanceOf("i-2", { answers: true, mode: "run" })
    const response = { sessionID: S, permissionID: "per_1", response: "reject" }
    at.house.tell(instance, asks.updated(), bus("permission.replied", response))
    expect(at.tale()).toEqual([R1, ...HERE("reject")])
  })

  test("in the second spelling of 1.18, of permissions and questions", () => {
    const v2 = (type: string, more: object) => bus(type, { sessionID: S, ...more })
    tell(
      v2("permission.v2.asked", { id: "per_1", action: "bash", resources: ["ls"] }),
      v2("permission.v2.replied", { requestID: "per_1", reply: "once" }),
      v2("question.v2.asked", { id: "que_1", questions: [{ question: "?", options: [{ label: "red" }] }] }),
      v2("question.v2.replied", { requestID: "que_1", answers: [["red"]] }),
      v2("question.v2.asked", { id: "que_2", questions: [{ question: "?", options: [] }] }),
      v2("question.v2.rejected", { requestID: "que_2" }),
    )
    expect(at.tale()).toEqual([
      ...[R1, ...HERE("once")],
      "attention.requested R2",
      'attention.answered R2 answer={"values":{"1":"1"}} via=oob <R2',
      "attention.resolved R2 resolution=answered <attention.answered",
      ...["attention.requested R3", gone("dismissed", "R3")],
    ])
  })

  test("how long it took is told", () => {
    tell(asked())
    at.wait(2_400)
    tell(replied())
    expect(at.last("attention.resolved").data).toEqual({ resolution: "answered", latency_ms: 2_500 })
  })

  test.each<[AgentMode, string]>([
    ["run", " by=host"],
    ["tui", ""],
    ["unknown", ""],
  ])("in the mode %s", (mode, by) => {
    const instance = instanceOf("i-2", { answers: true, mode })
    at.house.tell(instance, asked())
    at.house.tell(instance, replied("per_1", "reject"))
    expect(at.tale()[1]).toBe(`attention.answered R1 answer={"option":"reject"} via=oob${by} <R1`)
  })
})

describe("a question", () => {
  const values = (given: object) => [
    `attention.answered R1 answer=${JSON.stringify({ values: given })} via=oob <R1`,
    "attention.resolved R1 resolution=answered <attention.answered",
  ]

  test("answered tells choices by their number", () => {
    tell(question(), asks.answeredWith([["blue"]]))
    expect(at.tale()).toEqual([R1, ...values({ 1: "2" })])
  })

  test("of several choices tells all of them, in the order they were given", () => {
    tell(question("que_1", [["a", "b", "c"]], { multiple: true }), asks.answeredWith([["c", "a"]]))
    expect(at.tale()).toEqual([R1, ...values({ 1: ["3", "1"] })])
  })

  test("of several answers tells those that were given, and own words not at all", () => {
    const labels = [
      ["a", "b"],
      ["a", "b"],
      ["a", "b"],
    ]
    tell(question("que_1", labels), asks.answeredWith([["b"], [], ["my own words"]]))
    expect(at.tale()).toEqual([R1, ...values({ 1: "2" })])
  })

  test("dismissed was not answered", () => {
    tell(question(), asks.dismissed())
    expect(at.tale()).toEqual([R1, gone("dismissed")])
  })

  test("that nobody asked leaves no end behind", () => {
    tell(question(), asks.dismissed("que_9"), asks.answeredWith([["red"]], "que_9"))
    expect(at.tale()).toEqual([R1])
  })
})

describe("an answer takes along", () => {
  const three = [asked("per_1"), asked("per_2"), asked("per_3")]
  const R = three.map((_, index) => `attention.requested R${index + 1}`)

  test.each(["reject", "always"])("with %s the other asks that the agent settles by it", (reply) => {
    tell(...three)
    at.tell(replied("per_2", reply), replied("per_1", reply), replied("per_3", reply))
    expect(at.tale()).toEqual([...R, ...HERE(reply, "R2"), gone("auto", "R1"), gone("auto", "R3")])
  })

  test("with always only those that it covers", () => {
    tell(...three)
    at.tell(replied("per_1", "always"), replied("per_2", "always"))
    expect(at.tale()).toEqual([...R, ...HERE("always"), gone("auto", "R2")])
  })

  test("nothing with once, and nothing that comes later than 50 ms", () => {
    const two = (reply: string, gap: number): string[] => {
      tell(asked("per_1"), asked("per_2"), replied("per_1", reply))
      at.wait(gap)
      at.tell(replied("per_2", reply))
      return at.tale().slice(4)
    }
    expect(two("once", 0)).toEqual(HERE("once", "R2"))
    for (const [gap, expected] of [
      [50, [gone("auto", "R2")]],
      [51, HERE("reject", "R2")],
    ] as const) {
      at.remove()
      at = new asks.AskHouse()
      expect(two("reject", gap)).toEqual([...expected])
    }
  })

  test("nothing of another session", () => {
    const other = "ses_2"
    tell(asked("per_1"), asked("per_2", { sessionID: other }))
    at.tell(replied("per_1", "reject"), replied("per_2", "reject", undefined, other))
    expect(at.tale(other)).toEqual([R1, ...HERE("reject")])
  })

  test("nothing that is answered otherwise, or by another word", () => {
    tell(...three)
    at.tell(replied("per_1", "reject"), replied("per_2", "once"), replied("per_3", "reject"))
    expect(at.tale().slice(3)).toEqual([...HERE("reject"), ...HERE("once", "R2"), ...HERE("reject", "R3")])
  })

  test("nothing when a form was dismissed beside it", () => {
    tell(question(), asked())
    at.tell(asks.dismissed(), replied("per_1", "reject"))
    expect(at.tale().slice(2)).toEqual([gone("dismissed"), ...HERE("reject", "R2")])
  })
})

describe("an ask is taken away", () => {
  const rows: [string, MomentBody, string[]][] = [
    ["by an abort", asks.failure("MessageAbortedError"), [gone("dismissed")]],
    ["by an idle", idle(), [gone("dismissed")]],
    ["by the end of the session", asks.deleted(), [gone("dismissed"), "session.ended reason=normal"]],
    ["by the goodbye of its agent", { kind: "dispose" }, [gone("dismissed")]],
  ]
  test.each(rows)("%s", (_, moment, expected) => {
    tell(asked(), moment)
    expect(at.tale()).toEqual([R1, ...expected])
  })

  test("once, however many of these come", () => {
    tell(asked(), asks.failure("MessageAbortedError"), idle(), asks.deleted(), { kind: "dispose" })
    expect(at.tale().filter((line) => line.startsWith("attention."))).toEqual([R1, gone("dismissed")])
  })

  test("all that are open, in the order they were asked", () => {
    tell(asked("per_1"), question(), asked("per_2"), asks.failure("MessageAbortedError"))
    expect(at.tale().slice(3)).toEqual(["R1", "R2", "R3"].map((request) => gone("dismissed", request)))
  })

  test("not by what happens to another session", () => {
    const other = "ses_2"
    tell(asked(), asked("per_2", { sessionID: other }), idle(other), asks.deleted(other))
    expect(at.tale()).toEqual([R1])
    tell(replied())
    expect(at.tale()).toEqual([R1, ...HERE("once")])
  })

  test.each(["UnknownError", "APIError", "ContextOverflowError", "ProviderAuthError"])(
    "not by %s, of which an unknown slash command is one: it is answered as if nothing had been",
    (name) => {
      tell(asked(), asks.failure(name), replied())
      expect(at.tale().filter((line) => line.startsWith("attention."))).toEqual([R1, ...HERE("once")])
    },
  )

  test("and a yes that comes after all is told as a warning, for the agent acts on it", () => {
    tell(asked(), asks.failure("MessageAbortedError"), replied())
    expect(at.tale()).toEqual([R1, gone("dismissed"), "x.opencode.permission.replied reply=once void=true"])
    expect(at.last("x.opencode.permission.replied").subject).toBe("per_1")
  })

  test("but a reply told twice is no late one, and says nothing", () => {
    tell(asked(), replied())
    const before = at.house.events(S).length
    tell(replied(), replied("per_1", "reject"))
    expect(at.house.events(S)).toHaveLength(before)
  })

  test("and an answer to a question that comes after all as well", () => {
    tell(question(), asks.failure("MessageAbortedError"), asks.answeredWith([["red"]]))
    expect(at.tale().at(-1)).toBe("x.opencode.question.replied void=true")
  })
})

describe("the end of a call", () => {
  const ofCall = (id: string, callID: string) => asked(id, { tool: { messageID: "msg_2", callID } })
  const endsOf = (...moments: MomentBody[]) => {
    tell(asks.before("call_1"), asks.before("call_2"))
    tell(ofCall("per_1", "call_1"), ofCall("per_2", "call_2"), ofCall("per_3", "call_1"), ...moments)
    return at.tale().filter((line) => line.startsWith("attention.resolved"))
  }

  test("that ran closes all that it asked, and nothing of another call", () => {
    expect(endsOf(asks.after("call_1"))).toEqual([gone("auto", "R1"), gone("auto", "R3")])
  })

  test.each([
    ["Tool execution aborted", "dismissed"],
    ["ENOENT: no such file", "dismissed"],
    ["The user rejected permission to use this specific tool call.", "auto"],
  ])("in %p closes them as %s", (error, how) => {
    expect(endsOf(asks.failedPart("call_1", error))).toEqual([gone(how, "R1"), gone(how, "R3")])
  })

  test("comes after the ends of what it asked", () => {
    tell(asks.before("call_1"), ofCall("per_1", "call_1"), asks.after("call_1"))
    expect(at.tale()).toEqual([
      "attention.requested R1 <tool.requested",
      gone("auto"),
      expect.stringMatching(/^tool\.completed .*<tool\.requested$/),
    ])
  })
})

describe("a session ends", () => {
  test("after its asks, its calls and its run, in this order", () => {
    tell(asks.prompt(), asks.before("call_1"), asked(), question(), asks.deleted())
    expect(at.tale().map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
      ...["attention.requested R1", "attention.requested R2"],
      ...["attention.resolved R1", "attention.resolved R2"],
      ...['tool.failed error={"type":"aborted"}', "run.cancelled by=user", "session.ended reason=normal"],
    ])
  })

  test("and what is asked after that gets its own end, and no second of the session", () => {
    tell(asked(), asks.deleted(), asked("per_2"), asks.deleted())
    expect(at.tale()).toEqual([
      R1,
      gone("dismissed"),
      "session.ended reason=normal",
      "attention.requested R2",
      gone("dismissed", "R2"),
    ])
  })

  test("of the plugin's own with its agent's goodbye, and that of the one who asks stays open", () => {
    tell(asked(), { kind: "dispose" })
    expect(at.house.core(S)).not.toContain("session.ended")
    expect(at.house.core(`instance-${I.id}`)).toContain("session.ended")
  })
})
