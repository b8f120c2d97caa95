/**
 * What an answer given from elsewhere means (AEP-0002 §5.3, AEP-0006): every road's options, texts and forms as tables, and by
 * chance: nothing is allowed that was not named.
 */
import { describe, expect, test } from "bun:test"
import { type Answerable, answerableOf, type Deed, judgeAnswer } from "../../service/attention/answer.ts"
import { MAX_TEXT } from "../../service/attention/judged.ts"
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
    { id: "once", label: "As ever" },
    { id: "always", label: "as EVER " },
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
/** Labels that are other choices' numbers, that two choices have, and that dismiss. */
const TRICKY: Answerable = {
  ...ONE,
  fields: [field("1", { choices: choices("1", "3", "2", "same", "SAME", "Reject") })],
}
const OPTIONAL: Answerable = { ...ONE, fields: [field("1"), field("2", { required: false })] }
/** Every way in which an agent asks for leave. */
const LEAVES = [REPLY, LEGACY, HOOK] as const

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
  ["a label of two", { text: "as ever" }, AMBIGUOUS, "text"],
  ["an id that is another's label", { text: "once" }, AMBIGUOUS, "text"],
  ["the same as an option", { option: "once" }, AMBIGUOUS, once, { option: "once" }],
  [
    "an option against its text",
    { option: "reject", text: "once" },
    REPLY,
    because("once"),
    { option: "reject", text: "once" },
  ],
  ["an option for another letter", { option: "once " }, REPLY, "option"],
  ["another road's word", { text: "always" }, HOOK, "text"],
  [
    "another road's refusal",
    { text: "reject" },
    HOOK,
    { kind: "hook", status: "deny" },
    { option: "deny", text: "reject" },
  ],
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
  [
    "a dismissal with words",
    { option: "reject", text: " later " },
    ONE,
    { kind: "dismiss" },
    { option: "reject", text: "later" },
  ],
  ["a dismissal of several in words", { text: " REJECT" }, TWO, { kind: "dismiss" }, { option: "reject" }],
  ["a dismissal beside values", { option: "reject", values: { 1: "1" } }, ONE, "option"],
  ["a choice beside values", { option: "2", values: { 1: "1" } }, ONE, "option"],
  ["a text beside values", { text: "2", values: { 1: "1" } }, ONE, answers([1]), { values: { 1: "1" } }],
  ["a number that is another's label", { text: "2" }, TRICKY, "text"],
  ["a number that is its own label", { text: "1" }, TRICKY, answers([1]), { values: { 1: "1" } }],
  ["that number as a value", { values: { 1: "2" } }, TRICKY, answers([2]), { values: { 1: "2" } }],
  ["a label of two choices", { text: "Same" }, TRICKY, answers(["Same"]), { values: { 1: "Same" } }],
  ["a label that is the dismissal's id", { text: "reject" }, TRICKY, "text"],
  ["its number", { option: "6" }, TRICKY, answers([6]), { values: { 1: "6" } }],
  [
    "a name of every object as own words",
    { values: { 1: "constructor" } },
    ONE,
    answers(["constructor"]),
    { values: { 1: "constructor" } },
  ],
  ["a name of every object as a choice", { values: { 1: "constructor" } }, CLOSED, "values"],
  ["a name of every object as an option", { option: "__proto__" }, ONE, "option"],
  ["a function of every object", { values: JSON.parse('{"1":"1","constructor":"1"}') }, ONE, "values"],
  ["no value", { values: { 1: null } }, ONE, "values"],
  ["yes or no", { values: { 1: true } }, ONE, "values"],
  ["a list in a list", { values: { 1: [["1"]] } }, MULTI, "values"],
  ["one bad among several", { values: { 1: ["1", 2] } }, MULTI, "values"],
  [
    "one that may be left out, empty",
    { values: { 1: "1", 2: [] } },
    OPTIONAL,
    answers([1], []),
    { values: { 1: "1" } },
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

describe("a text that only consents, or says nothing", () => {
  const consents = [
    ...["yes", "YES!!", "yes, please", "y", "ok.", "Okay", "sure", "allow all", "allow it", "Always allow"],
    ...["approve", "go ahead", "👍", "+1", "1", "?", "…", "\u200b"],
  ]
  test.each(consents)("%j allows nothing, and refuses nothing either", (text) => {
    for (const request of LEAVES)
      expect(judgeAnswer({ text }, request)).toMatchObject({ kind: "invalid", why: "text" })
  })
})

describe("a reason", () => {
  test.each([
    ...["no", "non", "yes, but only this one", "do not allow it", "once more, please not", "allow!?, no"],
  ])("%j refuses", (text) => {
    for (const request of LEAVES) {
      const judged = judgeAnswer({ text }, request)
      expect(judged).toMatchObject({ kind: "apply", answer: { text } })
      expect(permitted(judged)).toBeUndefined()
    }
  })
})

/** What a verdict allows or answers; absent when it does neither. */
function permitted(judged: ReturnType<typeof judgeAnswer>): string | (number | string)[][] | undefined {
  if (judged.kind === "invalid") return undefined
  const { deed } = judged
  switch (deed.kind) {
    case "reply":
      return deed.reply === "reject" ? undefined : deed.reply
    case "hook":
      return deed.status === "deny" ? undefined : deed.status
    case "answers":
      return deed.answers
    case "dismiss":
      return undefined
    default:
      return deed satisfies never
  }
}

/** The ids that a text names by id or label; written apart from the product's way of finding them. */
function namesOf(text: unknown, entries: readonly { id: string; label: string }[]): string[] {
  const fold = (word: string) => word.trim().toLowerCase()
  if (typeof text !== "string" || fold(text) === "") return []
  return entries.flatMap(({ id, label }) =>
    [id, label].some((name) => fold(name) === fold(text)) ? [id] : [],
  )
}

test("by chance: nothing throws, and only what was named exactly is allowed or answered", () => {
  const random = createRandom(20261201)
  const words = [
    ...["once", "always", "reject", "allow", "deny", "ONCE ", "Allow once", "Allow", "yes", "as ever"],
    ...["1", "2", "3", "6", " 2", "red", "BLUE", "same", "", "dismiss without an answer", "own words"],
  ]
  const odd = [
    ...[null, undefined, 1, 2, true, [], {}, ["once"], ["1"], { option: "once" }, Number.NaN, 1n],
    ...["__proto__", "constructor", "toString", "\u0000", "x".repeat(MAX_TEXT + 1)],
  ]
  const any = (): unknown =>
    random.fraction() < 0.8 ? random.pick(words) : odd[random.whole(0, odd.length - 1)]
  const some = (): unknown =>
    random.fraction() < 0.3 ? Array.from({ length: random.whole(0, 3) }, any) : any()
  const forms = [ONE, CLOSED, MULTI, TWO, TRICKY, OPTIONAL]
  const seen = { allowed: 0, answered: 0, refused: 0, invalid: 0 }
  for (let nth = 0; nth < 20_000; nth += 1) {
    const request = random.pick([...LEAVES, AMBIGUOUS, ...forms])
    const given: Record<string, unknown> = {}
    if (random.fraction() < 0.4) given.option = any()
    if (random.fraction() < 0.5) given.text = any()
    if (random.fraction() < (request.way === "question" ? 0.5 : 0.1)) {
      const values: Record<string, unknown> = {}
      for (const id of ["1", "2", "constructor"]) {
        if (random.fraction() < (id === "1" ? 0.9 : 0.3)) values[id] = some()
      }
      given.values = random.fraction() < 0.9 ? values : any()
    }
    const whole = random.fraction() < 0.97 ? given : any()
    const judged = judgeAnswer(whole, request)
    const done = permitted(judged)
    if (done === undefined) {
      if (judged.kind === "invalid") seen.invalid += 1
      else seen.refused += 1
      continue
    }
    const { option, text, values } = whole as Record<string, unknown>
    if (typeof done === "string") {
      seen.allowed += 1
      expect(values).toBeUndefined()
      expect(option === undefined ? namesOf(text, request.options) : [option]).toEqual([done])
      continue
    }
    seen.answered += 1
    expect(done).toHaveLength(request.fields.length)
    for (const [at, elements] of done.entries()) {
      const { id, other, choices: offered } = request.fields[at] as Answerable["fields"][number]
      const told = values === undefined ? [option ?? text] : [(values as Record<string, unknown>)[id]].flat()
      // No value for a question that needs none; else every element stands for something that was said.
      for (const element of elements) {
        if (typeof element === "string") {
          expect(other).toBe(true)
          expect(told.map((word) => (values === undefined ? String(word).trim() : word))).toContain(element)
        } else if (values === undefined && option === undefined) {
          expect(namesOf(text, [...offered, ...request.options])).toEqual([String(element)])
        } else expect(told).toContain(String(element))
      }
    }
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(300)
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
