/**
 * Reading values nobody has checked: bus names, todos, asks in all their spellings, token counts, and how the text
 * of a tool's error tells who stopped it. All pure.
 */
import { describe, expect, test } from "bun:test"
import {
  formFields,
  formValues,
  type QuestionField,
  readAsk,
  readQuestion,
} from "../../service/map/attention.ts"
import { usage } from "../../service/map/bus.ts"
import { countOf, listOf, numberOf, objectOf, textOf } from "../../service/map/members.ts"
import { sessionOf } from "../../service/map/moment.ts"
import { PROFILES, type Profile, profileOf, stopOf } from "../../service/map/profile.ts"
import { diffTodos, identifyTodos, readTodos, type Todo } from "../../service/map/todos.ts"
import { vendorType } from "../../service/map/vendor-type.ts"
import { TYPE } from "../../shared/aep.ts"

const profile = PROFILES.opencode as Profile

describe("a bus name becomes a legal vendor type", () => {
  test.each([
    ["lsp.client.diagnostics", "x.opencode.lsp.client.diagnostics"],
    ["models-dev.refreshed", "x.opencode.models_dev.refreshed"],
    ["installation.update-available", "x.opencode.installation.update_available"],
    ["ready", "x.opencode.event.ready"],
    ["", "x.opencode.event.unnamed"],
    ["...", "x.opencode.event.unnamed"],
    [".a..b.", "x.opencode.a.b"],
    ["control.cancel", "x.opencode.event.control.cancel"],
    ["control", "x.opencode.event.control"],
    ["Control.Cancel", "x.opencode.event.control.cancel"],
    ["Session.CREATED", "x.opencode.session.created"],
    ["öl.stand", "x.opencode._l.stand"],
    ["文.字", "x.opencode._._"],
    ["a b\nc.d", "x.opencode.a_b_c.d"],
    ["__proto__", "x.opencode.event.__proto__"],
    ["constructor", "x.opencode.event.constructor"],
    ["a".repeat(1000), `x.opencode.event.${"a".repeat(120)}`],
    [`${"a.".repeat(500)}b`, `x.opencode.${Array(60).fill("a").join(".")}`],
  ])("%j", (name, type) => {
    expect(vendorType("opencode", name)).toBe(type)
    expect(type).toMatch(TYPE)
  })
})

describe("a todo without an id keeps the id of its content", () => {
  const digest = (text: string) => `#${text}`
  const item = (content: string, completed = false, id?: string) => ({ id, content, completed })
  const todo = (id: string, content: string, completed = false): Todo => ({
    id,
    key: `#${content}`,
    completed,
  })

  test.each([
    ["new ones are counted up", [], [item("a"), item("b")], 0, ["t1", "t2"], 2],
    ["a known one keeps its id", [todo("t1", "a")], [item("a", true)], 1, ["t1"], 1],
    ["order does not matter", [todo("t1", "a"), todo("t2", "b")], [item("b"), item("a")], 2, ["t2", "t1"], 2],
    ["one that vanished gives its id to nobody", [todo("t1", "a")], [item("b")], 1, ["t2"], 2],
    [
      "two alike are told apart",
      [todo("t1", "a"), todo("t2", "a")],
      [item("a"), item("a")],
      2,
      ["t1", "t2"],
      2,
    ],
    [
      "a third alike is new",
      [todo("t1", "a"), todo("t2", "a")],
      [item("a"), item("a"), item("a")],
      2,
      ["t1", "t2", "t3"],
      3,
    ],
    ["an id of the agent's own stays", [], [item("a", false, "7"), item("b")], 0, ["7", "t1"], 1],
    ["empty content is content", [], [item(""), item("")], 0, ["t1", "t2"], 2],
  ] as [string, Todo[], ReturnType<typeof item>[], number, string[], number][])(
    "%s",
    (_, previous, items, counter, ids, counted) => {
      const found = identifyTodos(previous, items, counter, digest)
      expect(found.todos.map(({ id }) => id)).toEqual(ids)
      expect(found.counter).toBe(counted)
    },
  )

  test.each([
    ["a new one is planned", [], [todo("1", "a")], ["planned 1"]],
    [
      "a new one already done is planned and completed",
      [],
      [todo("1", "a", true)],
      ["planned 1", "completed 1"],
    ],
    ["one done now is completed", [todo("1", "a")], [todo("1", "a", true)], ["completed 1"]],
    ["one done before is silent", [todo("1", "a", true)], [todo("1", "a", true)], []],
    ["one taken up again is silent", [todo("1", "a", true)], [todo("1", "a")], []],
    ["one that vanished is silent", [todo("1", "a")], [], []],
    ["an id twice in one list counts once", [], [todo("1", "a"), todo("1", "b", true)], ["planned 1"]],
  ] as [string, Todo[], Todo[], string[]][])("%s", (_, previous, next, told) => {
    const drafts = diffTodos(previous, next, (id) => `title ${id}`)
    expect(drafts.map(({ type, subject }) => `${type.split(".").at(-1)} ${subject}`)).toEqual(told)
    for (const { data, subject } of drafts) expect(data).toEqual({ task: { title: `title ${subject}` } })
  })

  test("a list that holds anything is read as far as it goes", () => {
    expect(
      readTodos([
        null,
        7,
        "x",
        [],
        {},
        { id: 3, content: 4, status: "completed" },
        { id: "1", content: "a" },
      ]),
    ).toEqual([
      { id: undefined, content: "", completed: false },
      { id: undefined, content: "", completed: false },
      { id: undefined, content: "", completed: true },
      { id: "1", content: "a", completed: false },
    ])
    for (const value of [undefined, null, {}, "todos", 7]) expect(readTodos(value)).toEqual([])
  })
})

describe("an ask is read in every spelling", () => {
  test.each([
    [
      "1.18",
      {
        id: "per_1",
        permission: "edit",
        patterns: ["a.txt"],
        metadata: { filepath: "a.txt", diff: "d" },
        tool: { callID: "c" },
      },
      { id: "per_1", permission: "edit", title: "a.txt", callID: "c" },
    ],
    [
      "1.18 bash: the command before its patterns",
      { id: "per_1", permission: "bash", patterns: ["ls", "wc"], metadata: { command: "ls | wc" } },
      { id: "per_1", permission: "bash", title: "ls | wc", callID: undefined },
    ],
    [
      "the v2 twin",
      { id: "per_1", action: "bash", resources: ["ls", "wc"], source: { callID: "c" } },
      { id: "per_1", permission: "bash", title: "ls, wc", callID: "c" },
    ],
    [
      "1.0, bus and hook",
      { id: "per_1", type: "bash", pattern: "rm build *", title: "rm -r build", callID: "c", metadata: {} },
      { id: "per_1", permission: "bash", title: "rm -r build", callID: "c" },
    ],
    [
      "one pattern as text",
      { id: "p", type: "bash", pattern: "ls *" },
      { id: "p", permission: "bash", title: "ls *", callID: undefined },
    ],
    [
      "nothing but an id",
      { id: "p" },
      { id: "p", permission: "permission", title: undefined, callID: undefined },
    ],
    [
      "members of other types",
      { id: "p", permission: 7, patterns: [1, {}], metadata: "x", tool: [], title: {} },
      { id: "p", permission: "permission", title: undefined, callID: undefined },
    ],
    ["no id", { permission: "bash" }, undefined],
    ["an empty id", { id: "" }, undefined],
    ["an id that is no text", { id: 7 }, undefined],
  ] as [string, Record<string, unknown>, unknown][])("%s", (_, value, ask) => {
    expect(readAsk(value)).toEqual(ask as never)
  })
})

describe("a question is read as one form", () => {
  test.each([
    ["no id", { questions: [{ question: "?" }] }],
    ["no questions", { id: "q" }],
    ["an empty list", { id: "q", questions: [] }],
    ["questions that are no list", { id: "q", questions: { a: 1 } }],
  ])("with %s it is none", (_, value) => {
    expect(readQuestion(value)).toBeUndefined()
  })

  test("what is missing is filled so that the form stays legal", () => {
    const question = readQuestion({
      id: "q",
      questions: [{}, null, { question: "?", options: [{}, 7, { label: "" }] }],
    })
    expect(question && formFields(question)).toEqual([
      { id: "1", type: "select", label: "1", required: true, other: true, choices: [] },
      { id: "2", type: "select", label: "2", required: true, other: true, choices: [] },
      {
        ...{ id: "3", type: "select", label: "?", required: true, other: true },
        choices: [
          { id: "1", label: "1" },
          { id: "2", label: "2" },
          { id: "3", label: "3" },
        ],
      },
    ])
  })

  const fields: QuestionField[] = [
    { label: "One", multi: false, other: true, choices: ["Left", "Right"] },
    { label: "Many", multi: true, other: true, choices: ["A", "B", "C"] },
  ]
  test.each([
    ["labels become choice ids", [["Right"], ["A", "C"]], { "1": "2", "2": ["1", "3"] }],
    ["own text stays text", [["Straight on"], ["A", "mine"]], { "1": "Straight on", "2": ["1", "mine"] }],
    ["a question without an answer has no value", [[], ["B"]], { "2": ["2"] }],
    ["too few answers leave the rest out", [["Left"]], { "1": "1" }],
    ["two labels for one choice keep the first", [["Right", "Left"]], { "1": "2" }],
    ["answers beyond the questions are left out", [["Left"], ["A"], ["?"]], { "1": "1", "2": ["1"] }],
    ["what is no text is left out", [[7, null, "Left"], "A"], { "1": "1" }],
    ["no list at all", "Left", {}],
    ["nothing", undefined, {}],
  ] as [string, unknown, unknown][])("%s", (_, answers, values) => {
    expect(formValues(fields, answers)).toEqual(values as never)
  })
})

describe("who stopped a call is told by its error's text", () => {
  test.each([
    ["The user rejected permission to use this specific tool call.", "rejected"],
    ["Error: The user rejected permission to use this specific tool call. You may try again", "rejected"],
    ["The user rejected permission … with the following feedback: no", "rejected"],
    ["The user dismissed this question", "dismissed"],
    ["Tool execution aborted", "aborted"],
    ["Task cancelled", "aborted"],
    ["The operation was aborted.", "aborted"],
    ["Error: Aborted", "aborted"],
    ["The user has specified a rule which prevents you from using this specific tool call.", "userSetting"],
    ["File not found: The user rejected permission", "error"],
    ["Error: Error: Aborted", "error"],
    ["", "error"],
    ["ENOENT", "error"],
  ] as const)("%j is %s", (text, how) => {
    expect(stopOf(profile, text)).toBe(how)
  })
})

describe("token counts", () => {
  const told = (input?: number, output?: number) => ({
    ...(input === undefined ? {} : { "gen_ai.usage.input_tokens": input }),
    ...(output === undefined ? {} : { "gen_ai.usage.output_tokens": output }),
  })
  test.each([
    ["both", { input: 3, output: 4, reasoning: 9, cache: { read: 1 } }, told(3, 4)],
    ["one of them 0", { input: 0, output: 4 }, told(0, 4)],
    ["both 0 say nothing", { input: 0, output: 0 }, {}],
    ["one alone", { output: 4 }, told(undefined, 4)],
    ["none", {}, {}],
    ["fractions and negatives are no counts", { input: 1.5, output: -4 }, {}],
    ["texts are no counts", { input: "3", output: "4" }, {}],
    ["infinite ones are no counts", { input: Number.POSITIVE_INFINITY, output: Number.NaN }, {}],
  ])("%s", (_, tokens, expected) => {
    expect(usage(tokens)).toEqual(expected)
  })
})

describe("a member is taken only if it is of the expected type", () => {
  test.each([
    [undefined, { object: {}, text: undefined, number: undefined, list: [], count: undefined }],
    [null, { object: {}, text: undefined, number: undefined, list: [], count: undefined }],
    ["", { object: {}, text: undefined, number: undefined, list: [], count: undefined }],
    ["a", { object: {}, text: "a", number: undefined, list: [], count: undefined }],
    [0, { object: {}, text: undefined, number: 0, list: [], count: 0 }],
    [-1, { object: {}, text: undefined, number: -1, list: [], count: undefined }],
    [0.5, { object: {}, text: undefined, number: 0.5, list: [], count: undefined }],
    [2 ** 53, { object: {}, text: undefined, number: 2 ** 53, list: [], count: undefined }],
    [Number.NaN, { object: {}, text: undefined, number: undefined, list: [], count: undefined }],
    [[1], { object: {}, text: undefined, number: undefined, list: [1], count: undefined }],
    [{ a: 1 }, { object: { a: 1 }, text: undefined, number: undefined, list: [], count: undefined }],
  ] as [unknown, object][])("%j", (value, expected) => {
    expect({
      object: objectOf(value),
      text: textOf(value),
      number: numberOf(value),
      list: listOf(value),
      count: countOf(value),
    }).toEqual(expected as never)
  })
})

describe("the session of a bus event", () => {
  test.each([
    ["its own member", "session.idle", { sessionID: "ses_1" }, "ses_1"],
    ["of its message", "message.updated", { info: { id: "msg_1", sessionID: "ses_1" } }, "ses_1"],
    ["of its part", "message.part.updated", { part: { sessionID: "ses_1" } }, "ses_1"],
    ["the session itself", "session.updated", { info: { id: "ses_1" } }, "ses_1"],
    ["a message's id names no session", "message.updated", { info: { id: "msg_1" } }, undefined],
    ["a stranger's id names no session", "project.updated", { info: { id: "prj_1" } }, undefined],
    ["none", "file.edited", { file: "a" }, undefined],
    ["an empty one", "session.idle", { sessionID: "" }, undefined],
    ["one that is no text", "session.idle", { sessionID: 7 }, undefined],
  ] as [string, string, Record<string, unknown>, string | undefined][])(
    "%s",
    (_, type, properties, session) => {
      expect(sessionOf({ kind: "bus", event: { type, properties } })).toBe(session as never)
    },
  )
})

test("a profile is found by its own name only", () => {
  expect(profileOf("opencode")?.namespace).toBe("opencode")
  expect(profileOf("kilocode")?.agent).toBe("kilocode")
  for (const name of ["", "OpenCode", "toString", "__proto__", "constructor"])
    expect(profileOf(name)).toBeUndefined()
})
