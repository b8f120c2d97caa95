/**
 * What an answer given from elsewhere means (AEP-0002 §5.3, AEP-0006): every road's options, texts and forms as tables, and by
 * chance: nothing is allowed that was not named.
 */
import { describe, expect, test } from "bun:test"
import {
  type Answerable,
  answerableOf,
  type Deed,
  judgeAnswer,
  MAX_TEXT,
} from "../../service/attention/answer.ts"
import { createRandom } from "../crash/random.ts"

const ASK = [
  { id: "once", label: "Allow once" },
  { id: "always", label: "Always allow until the agent restarts: rm *" },
  { id: "reject", label: "Reject, and all other asks of this session" },
]
const REPLY: Answerable = { way: "reply", options: ASK, fields: [] }
const LEGACY: Answerable = { ...REPLY, way: "legacy" }
const HOOK: Answerable = {
  way: "hook",
  options: [
    { id: "allow", label: "Allow" },
    { id: "deny", label: "Deny" },
  ],
  fields: [],
}
/** Two options with one label, and an id that is another's label. */
const AMBIGUOUS: Answerable = {
  way: "reply",
  options: [
    { id: "once", label: "Go" },
    { id: "always", label: "go " },
    { id: "reject", label: "once" },
  ],
  fields: [],
}
const choices = (...labels: string[]) => labels.map((label, at) => ({ id: String(at + 1), label }))
const field = (id: string, more: Partial<Answerable["fields"][number]> = {}) => ({
  ...{ id, multi: false, other: true, required: true, choices: choices("red", "blue") },
  ...more,
})
const DISMISS = [{ id: "reject", label: "Dismiss without an answer" }]
const ONE: Answerable = { way: "question", options: DISMISS, fields: [field("1")] }
const CLOSED: Answerable = { ...ONE, fields: [field("1", { other: false })] }
const MULTI: Answerable = { ...ONE, fields: [field("1", { multi: true })] }
const TWO: Answerable = { ...ONE, fields: [field("1"), field("2", { multi: true })] }
const OPTIONAL: Answerable = { ...ONE, fields: [field("1"), field("2", { required: false })] }

type Case = [name: string, answer: unknown, request: Answerable, deed: Deed | string, answer?: unknown]

const once: Deed = { kind: "reply", reply: "once" }
const always: Deed = { kind: "reply", reply: "always" }
const reject: Deed = { kind: "reply", reply: "reject" }
const because = (message: string): Deed => ({ ...reject, message }) as Deed
const answers = (...given: (number | string)[][]): Deed => ({ kind: "answers", answers: given })

const permissions: Case[] = [
  ["an id", { option: "once" }, REPLY, once, { option: "once" }],
  ["always", { option: "always" }, REPLY, always, { option: "always" }],
  ["a refusal", { option: "reject" }, REPLY, reject, { option: "reject" }],
  [
    "a refusal with a reason",
    { option: "reject", text: " no " },
    REPLY,
    because("no"),
    { option: "reject", text: "no" },
  ],
  [
    "the same where none is carried",
    { option: "reject", text: "no" },
    LEGACY,
    reject,
    { option: "reject", text: "no" },
  ],
  ["allow", { option: "allow" }, HOOK, { kind: "hook", status: "allow" }, { option: "allow" }],
  [
    "deny with a reason",
    { option: "deny", text: "no" },
    HOOK,
    { kind: "hook", status: "deny" },
    { option: "deny", text: "no" },
  ],
  ["another road's option", { option: "once" }, HOOK, "option"],
  ["another case of an id", { option: "ONCE" }, REPLY, "option"],
  ["an unknown option", { option: "maybe" }, REPLY, "option"],
  ["a name of every object", { option: "__proto__" }, REPLY, "option"],
  ["an option that is none", { option: 1 }, REPLY, "option"],
  ["no option", { option: null }, REPLY, "option"],
  ["an empty option", { option: "" }, REPLY, "option"],
  ["a consent with words", { option: "once", text: "but carefully" }, REPLY, once, { option: "once" }],
  ["a text that is an id", { text: "once" }, REPLY, once, { option: "once" }],
  ["its case and spaces", { text: "  ALWAYS\n" }, REPLY, always, { option: "always" }],
  ["a text that is a label", { text: "allow ONCE" }, REPLY, once, { option: "once" }],
  [
    "a text that is a long label",
    { text: "reject, and all other asks of this session" },
    REPLY,
    reject,
    { option: "reject" },
  ],
  ["a part of a label", { text: "allow" }, REPLY, "text"],
  ["yes", { text: "yes" }, REPLY, "text"],
  ["yes, loudly", { text: "YES!!" }, REPLY, "text"],
  ["allow all", { text: "allow all" }, REPLY, "text"],
  ["nothing", { text: "" }, REPLY, "text"],
  ["spaces", { text: " \t " }, REPLY, "text"],
  [
    "a sentence",
    { text: "yes, but only this one" },
    REPLY,
    because("yes, but only this one"),
    { option: "reject", text: "yes, but only this one" },
  ],
  [
    "a sentence to the hook",
    { text: "not today" },
    HOOK,
    { kind: "hook", status: "deny" },
    { option: "deny", text: "not today" },
  ],
  ["a label of two", { text: "go" }, AMBIGUOUS, "text"],
  ["an id that is another's label", { text: "once" }, AMBIGUOUS, once, { option: "once" }],
  ["a text that is none", { text: ["once"] }, REPLY, "text"],
  ["a long text", { text: "x".repeat(MAX_TEXT + 1) }, REPLY, "text"],
  ["values", { values: { 1: "1" } }, REPLY, "values"],
  ["values beside an option", { option: "once", values: {} }, REPLY, "values"],
  ["nothing at all", {}, REPLY, "answer"],
  ["no object", "once", REPLY, "answer"],
  ["a list", ["once"], REPLY, "answer"],
]

const forms: Case[] = [
  ["a choice", { values: { 1: "2" } }, ONE, answers([2]), { values: { 1: "2" } }],
  ["own words", { values: { 1: "green" } }, ONE, answers(["green"]), { values: { 1: "green" } }],
  ["a label as own words", { values: { 1: "red" } }, ONE, answers(["red"]), { values: { 1: "red" } }],
  ["own words where none are taken", { values: { 1: "green" } }, CLOSED, "values"],
  ["no words", { values: { 1: "  " } }, ONE, "values"],
  ["too many words", { values: { 1: "x".repeat(MAX_TEXT + 1) } }, ONE, "values"],
  ["several", { values: { 1: ["2", "1"] } }, MULTI, answers([2, 1]), { values: { 1: ["2", "1"] } }],
  ["one of several", { values: { 1: "2" } }, MULTI, answers([2]), { values: { 1: ["2"] } }],
  ["one twice", { values: { 1: ["2", "2"] } }, MULTI, answers([2]), { values: { 1: ["2"] } }],
  [
    "choices and own words",
    { values: { 1: ["1", "green"] } },
    MULTI,
    answers([1, "green"]),
    { values: { 1: ["1", "green"] } },
  ],
  ["a list where one is taken", { values: { 1: ["1"] } }, ONE, "values"],
  ["an empty list", { values: { 1: [] } }, MULTI, "values"],
  ["a number", { values: { 1: 2 } }, ONE, "values"],
  ["an object", { values: { 1: { id: "2" } } }, ONE, "values"],
  ["no choice that is there", { values: { 1: "3" } }, CLOSED, "values"],
  [
    "two questions",
    { values: { 1: "1", 2: ["2"] } },
    TWO,
    answers([1], [2]),
    { values: { 1: "1", 2: ["2"] } },
  ],
  ["a question left out", { values: { 1: "1" } }, TWO, "values"],
  ["one that may be left out", { values: { 1: "1" } }, OPTIONAL, answers([1], []), { values: { 1: "1" } }],
  ["a question that is not there", { values: { 1: "1", 3: "1" } }, ONE, "values"],
  ["a question of every object", { values: JSON.parse('{"1":"1","__proto__":"1"}') }, ONE, "values"],
  ["values that are a list", { values: ["1"] }, ONE, "values"],
  ["values that are none", { values: "1" }, ONE, "values"],
  ["no values", { values: {} }, ONE, "values"],
  ["a dismissal", { option: "reject" }, TWO, { kind: "dismiss" }, { option: "reject" }],
  [
    "a dismissal in words",
    { text: "dismiss WITHOUT an answer" },
    ONE,
    { kind: "dismiss" },
    { option: "reject" },
  ],
  ["an option that is a choice", { option: "2" }, ONE, answers([2]), { values: { 1: "2" } }],
  ["an option that is none", { option: "red" }, ONE, "option"],
  ["an option of several questions", { option: "1" }, TWO, "form"],
  ["a text that is a label", { text: " BLUE" }, ONE, answers([2]), { values: { 1: "2" } }],
  ["a text that is a choice's id", { text: "1" }, ONE, answers([1]), { values: { 1: "1" } }],
  ["a text of its own", { text: "green" }, ONE, answers(["green"]), { values: { 1: "green" } }],
  ["a text of its own where none is taken", { text: "green" }, CLOSED, "values"],
  ["a text for several questions", { text: "red" }, TWO, "form"],
  ["an empty text", { text: "" }, ONE, "values"],
  ["yes to a question", { text: "yes" }, ONE, answers(["yes"]), { values: { 1: "yes" } }],
]

describe.each([
  ["a permission", permissions],
  ["a form", forms],
] as const)("to %s", (_, cases) => {
  test.each(cases.map((row) => [row[0], row] as const))("%s", (_name, [, given, request, deed, answer]) => {
    const judged = judgeAnswer(given, request)
    if (typeof deed === "string") expect(judged).toMatchObject({ kind: "invalid", why: deed })
    else expect(judged).toEqual({ kind: "apply", deed, answer: answer as never })
  })
})

test("a refusal says what is wanted, and repeats nothing of what was given", () => {
  for (const [, given, request, deed] of [...permissions, ...forms]) {
    if (typeof deed !== "string") continue
    const judged = judgeAnswer(given, request)
    if (judged.kind !== "invalid") throw new Error("was applied")
    expect(judged.detail).toMatch(/^data\.answer/)
    expect(judged.detail).not.toMatch(/green|maybe|__proto__|xxx/)
  }
})

test("by chance: nothing throws, and only what was named is allowed", () => {
  const random = createRandom(20261201)
  const words = [
    "once",
    "always",
    "reject",
    "allow",
    "deny",
    "ONCE ",
    "Allow once",
    "Allow",
    "yes",
    "go",
    "1",
    "2",
    "red",
    "",
  ]
  const odd = [
    null,
    undefined,
    1,
    true,
    [],
    {},
    ["once"],
    { option: "once" },
    Number.NaN,
    "__proto__",
    "constructor",
    "toString",
  ]
  const any = (): unknown =>
    random.fraction() < 0.7 ? random.pick(words) : odd[random.whole(0, odd.length - 1)]
  const seen = { allowed: 0, refused: 0, invalid: 0 }
  for (let nth = 0; nth < 20_000; nth += 1) {
    const given: Record<string, unknown> = {}
    for (const name of ["option", "text", "values"]) {
      if (random.fraction() < 0.5)
        given[name] = name === "values" && random.fraction() < 0.5 ? { 1: any() } : any()
    }
    const request = random.pick([REPLY, LEGACY, HOOK, AMBIGUOUS])
    const judged = judgeAnswer(given, request)
    if (judged.kind === "invalid") {
      seen.invalid += 1
      continue
    }
    const { deed } = judged
    const allows =
      (deed.kind === "reply" && deed.reply !== "reject") || (deed.kind === "hook" && deed.status === "allow")
    if (!allows) {
      seen.refused += 1
      continue
    }
    seen.allowed += 1
    const done = deed.kind === "reply" ? deed.reply : deed.kind === "hook" ? deed.status : ""
    const said = String(given.option ?? given.text)
      .trim()
      .toLowerCase()
    const named = request.options.filter(
      ({ id, label }) => id === said || label.trim().toLowerCase() === said,
    )
    expect(named.map(({ id }) => id)).toContain(done)
    expect(given.values).toBeUndefined()
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(500)
})

test("what a request's event told is read back, and what is odd in it left out", () => {
  const data = {
    options: [{ id: "a", label: "A" }, { id: "b" }, { label: "no id" }, 7],
    fields: [{ id: "1", multi: true, choices: [{ id: "1", label: "x" }] }, { multi: true }, null],
  }
  expect(answerableOf("question", data)).toEqual({
    way: "question",
    options: [
      { id: "a", label: "A" },
      { id: "b", label: "b" },
    ],
    fields: [{ id: "1", multi: true, other: false, required: false, choices: [{ id: "1", label: "x" }] }],
  })
  expect(answerableOf("reply", {})).toEqual({ way: "reply", options: [], fields: [] })
})
