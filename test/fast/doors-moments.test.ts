/**
 * The body of the plugin's door (design section 5): a shell that is wrong is a 400 naming the field, a moment that is
 * wrong costs only itself, and nothing that came in stands in what goes out.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { batch, Doors, rejections, sound } from "./doors-house.ts"

let doors: Doors
beforeEach(() => {
  doors = new Doors(16 * 1024 * 1024)
})
afterEach(() => {
  expect(doors.faults).toEqual([])
  expect(doors.house.faults).toEqual([])
  expect(doors.house.refused).toEqual([])
  doors.close()
})

const CANARY = "canary-7f3a"
const instance = batch().instance

describe("a body that is no batch is a 400 that says why", () => {
  test.each([
    ["nothing", ""],
    ["white space", "  \n"],
    ["half a batch", JSON.stringify(batch()).slice(0, -3)],
    ["two batches", `${JSON.stringify(batch())}${JSON.stringify(batch())}`],
    ["a word", CANARY],
    ["single quotes", `{'instance': '${CANARY}'}`],
    ["NaN", '{"first": NaN}'],
    ["a trailing comma", '{"first": 0,}'],
    ["JSON compressed", gzipSync(JSON.stringify(batch()))],
    ["bytes that are no UTF-8", new Uint8Array([0xff, 0xfe, 0x00, 0x80])],
    ["UTF-16", new Uint8Array(Buffer.from(JSON.stringify(batch()), "utf16le"))],
  ] as [string, BodyInit][])("%s", async (_, body) => {
    const answer = await doors.post(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ error: "invalid-batch", detail: "the body is not JSON" })
  })

  test.each([
    ["null", null, "body"],
    ["a number", 7, "body"],
    ["a text", CANARY, "body"],
    ["a list", [], "instance"],
    ["an empty object", {}, "instance"],
    ["instance: a text", { instance: CANARY }, "instance"],
    ["instance: null", { instance: null }, "instance"],
    ["instance.id missing", { instance: { ...instance, id: undefined } }, "instance.id"],
    ["instance.id empty", { instance: { ...instance, id: "" } }, "instance.id"],
    ["instance.id of 65 characters", { instance: { ...instance, id: "x".repeat(65) } }, "instance.id"],
    ["instance.id a path", { instance: { ...instance, id: `../${CANARY}` } }, "instance.id"],
    ["instance.id a dot first", { instance: { ...instance, id: ".." } }, "instance.id"],
    ["instance.id with a line feed", { instance: { ...instance, id: "a\n" } }, "instance.id"],
    ["instance.id a number", { instance: { ...instance, id: 7 } }, "instance.id"],
    ["instance.agent unknown", { instance: { ...instance, agent: CANARY } }, "instance.agent"],
    ["instance.agent inherited", { instance: { ...instance, agent: "toString" } }, "instance.agent"],
    ["instance.directory missing", { instance: { ...instance, directory: undefined } }, "instance.directory"],
    [
      "instance.directory huge",
      { instance: { ...instance, directory: "x".repeat(4097) } },
      "instance.directory",
    ],
    ["instance.worktree a number", { instance: { ...instance, worktree: 7 } }, "instance.worktree"],
    ["instance.version huge", { instance: { ...instance, version: "x".repeat(129) } }, "instance.version"],
    ["instance.mode unknown", { instance: { ...instance, mode: CANARY } }, "instance.mode"],
    ["instance.plugin missing", { instance: { ...instance, plugin: undefined } }, "instance.plugin"],
    ["first missing", { first: undefined }, "first"],
    ["first negative", { first: -1 }, "first"],
    ["first a fraction", { first: 0.5 }, "first"],
    ["first a text", { first: "0" }, "first"],
    ["first beyond what counts", { first: 2 ** 53 }, "first"],
    ["moments missing", { moments: undefined }, "moments"],
    ["moments an object", { moments: { [CANARY]: 1 } }, "moments"],
    ["dropped a list", { dropped: 7 }, "dropped"],
    ["dropped negative", { dropped: { [CANARY]: -1 } }, "dropped"],
    ["dropped a fraction", { dropped: { a: 0.5 } }, "dropped.a"],
  ] as [string, unknown, string][])("%s", async (name, value, field) => {
    const isWhole =
      typeof value !== "object" || value === null || Array.isArray(value) || name.startsWith("an empty")
    const answer = await doors.post(JSON.stringify(isWhole ? value : { ...batch(), ...value }))
    expect(answer.status).toBe(400)
    expect(answer.body?.error).toBe("invalid-batch")
    expect(answer.body?.detail).toStartWith(field)
    // The name of a field may be told, not what stands in it.
    if (field !== "dropped") expect(answer.text).not.toContain(CANARY)
  })

  test("more moments than the bound, by one", async () => {
    const many = (count: number) => JSON.stringify(batch(Array(count).fill(0)))
    expect((await doors.post(many(10_001))).body?.detail).toContain("more than 10000 in one request")
    expect((await doors.post(many(10_000))).status).toBe(202)
  })

  test("nesting of 100,000 levels", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
    expect((await doors.post(deep)).status).toBe(400)
    expect((await doors.post(`{"instance":${deep}}`)).status).toBe(400)
    const inside = JSON.stringify(batch([sound(0)])).replace('"sessionID"', `"deep":${deep},"sessionID"`)
    expect((await doors.post(inside)).body).toEqual({
      next: 1,
      rejected: [{ n: 0, reason: "body: expected at most 500 levels" }],
    })
  })

  test("an instance and no more than it needs is enough, and what it does not know is ignored", async () => {
    const answer = await doors.post(
      JSON.stringify({ ...batch([sound(0)]), later: CANARY, instance: { ...instance, pid: 7 } }),
    )
    expect([answer.status, answer.body]).toEqual([202, { next: 1, rejected: [] }])
  })
})

const CALL = { tool: "bash", sessionID: "ses_1", callID: "call_1" }

describe("a moment that is malformed is refused with its index and its field", () => {
  test.each([
    ["null", null, "body"],
    ["a text", CANARY, "body"],
    ["a list", [CANARY], "kind"],
    ["no kind", { n: 0, at: 1 }, "kind"],
    ["an unknown kind", { ...sound(0), kind: CANARY }, "kind"],
    ["an inherited kind", { ...sound(0), kind: "constructor" }, "kind"],
    ["a kind yet to come", { n: 0, at: 1, kind: "gate", request: "r", input: {}, output: {} }, "kind"],
    ["no n", { ...sound(0), n: undefined }, "n"],
    ["n negative", { ...sound(0), n: -1 }, "n"],
    ["n a fraction", { ...sound(0), n: 0.5 }, "n"],
    ["n a text", { ...sound(0), n: "0" }, "n"],
    ["n beyond what counts", { ...sound(0), n: 2 ** 53 }, "n"],
    ["no at", { ...sound(0), at: undefined }, "at"],
    ["at NaN", { ...sound(0), at: null }, "at"],
    ["at negative", { ...sound(0), at: -1 }, "at"],
    ["at after the year 9999", { ...sound(0), at: 253_402_300_800_000 }, "at"],
    ["at beyond any date", { ...sound(0), at: 1e300 }, "at"],
    ["at a text", { ...sound(0), at: "now" }, "at"],
    ["cut a text", { ...sound(0), cut: CANARY }, "cut"],
    ["cut with a number", { ...sound(0), cut: ["a", 7] }, "cut.1"],
    ["event missing", { ...sound(0), event: undefined }, "event"],
    ["event.type missing", { ...sound(0), event: { properties: {} } }, "event.type"],
    ["event.type empty", { ...sound(0), event: { type: "", properties: {} } }, "event.type"],
    ["event.type of 513", { ...sound(0), event: { type: "x".repeat(513), properties: {} } }, "event.type"],
    ["event.type a number", { ...sound(0), event: { type: 7, properties: {} } }, "event.type"],
    [
      "event.properties a text",
      { ...sound(0), event: { type: "a.b", properties: CANARY } },
      "event.properties",
    ],
    ["event.id a number", { ...sound(0), event: { id: 7, type: "a.b", properties: {} } }, "event.id"],
    ["a session id of 513", sound(0, "s".repeat(513)), "session id"],
    ["a session id of 1 MB", sound(0, "s".repeat(1_000_000)), "session id"],
    [
      "tool missing",
      { n: 0, at: 1, kind: "tool.before", input: { ...CALL, tool: undefined }, output: {} },
      "input.tool",
    ],
    [
      "tool of 1 MB",
      { n: 0, at: 1, kind: "tool.before", input: { ...CALL, tool: "x".repeat(1e6) }, output: {} },
      "input.tool",
    ],
    [
      "callID empty",
      { n: 0, at: 1, kind: "tool.after", input: { ...CALL, callID: "" }, output: {} },
      "input.callID",
    ],
    [
      "sessionID a number",
      { n: 0, at: 1, kind: "tool.after", input: { ...CALL, sessionID: 7 }, output: {} },
      "input.sessionID",
    ],
    ["output missing", { n: 0, at: 1, kind: "tool.before", input: CALL }, "output"],
    ["permission a text", { n: 0, at: 1, kind: "permission.ask", permission: CANARY }, "permission"],
    ["chat input missing", { n: 0, at: 1, kind: "chat.message", output: {} }, "input"],
  ] as [string, unknown, string][])("%s", async (_, moment, field) => {
    const answer = await doors.post(JSON.stringify(batch([moment, sound(1)])))
    expect(answer.status).toBe(202)
    expect(answer.body).toMatchObject({ next: 2, rejected: [{ n: 0 }] })
    const [rejection] = rejections(answer)
    expect(rejection?.reason).toStartWith(`${field}: expected`)
    expect(answer.text).not.toContain(CANARY)
    expect(answer.text.length).toBeLessThan(250)
    expect(doors.house.core("ses_1")).toEqual(["session.started"])
  })

  test("of a batch half hostile the good half is kept, each refusal by its index", async () => {
    const moments = Array.from({ length: 100 }, (_, n) =>
      n % 2 === 0
        ? {
            n,
            at: 1,
            kind: "bus",
            event: { type: "session.status", properties: { sessionID: "ses_1", status: { type: `s${n}` } } },
          }
        : { n, at: 1, kind: n % 3 === 0 ? CANARY : undefined },
    )
    const answer = await doors.post(JSON.stringify(batch(moments)))
    expect(answer.body?.next).toBe(100)
    const odd = Array.from({ length: 50 }, (_, index) => 2 * index + 1)
    expect(rejections(answer).map(({ n }) => n)).toEqual(odd)
    const told = doors.house.events("ses_1").filter(({ type }) => type === "progress.status")
    expect(told.map(({ opencodemoment }) => opencodemoment)).toEqual(odd.map((n) => n - 1))
  })
})

describe("hostile names do no harm", () => {
  test("__proto__ and constructor as members", async () => {
    const evil = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const moments = [
      `{"n":0,"at":1,"kind":"bus","event":{"type":"__proto__","properties":${evil}}}`,
      `{"n":1,"at":1,"kind":"bus","event":{"type":"constructor","properties":{"sessionID":"__proto__","info":${evil}}}}`,
      `{"n":2,"at":1,"kind":"tool.before","input":{"tool":"__proto__","sessionID":"constructor","callID":"__proto__"},"output":{"args":${evil}}}`,
      `{"n":3,"at":1,"kind":"bus","event":{"type":"todo.updated","properties":{"sessionID":"__proto__","todos":[{"id":"__proto__","content":"x"}]}}}`,
    ]
    const body = JSON.stringify(batch([], { dropped: { "a.b": 1 } })).replace(
      '"moments":[]',
      `"moments":[${moments.join()}]`,
    )
    const answer = await doors.post(body.replace('"dropped":{', '"dropped":{"__proto__":2,"constructor":3,'))
    expect(answer.body).toEqual({ next: 4, rejected: [] })
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(doors.house.core("__proto__")).toEqual(["session.started", "progress.task.planned"])
    expect(doors.house.core("constructor")).toEqual(["session.started", "tool.requested"])
  })

  test.each([
    ["a path", "../../../etc/passwd"],
    ["a null byte", "a\u0000b"],
    ["a line feed", 'a\n{"forged":true}'],
    ["line separators", "a\u2028b\u2029c\u0085d"],
    ["a lone surrogate", "a\ud800b"],
    ["512 of three bytes", "文".repeat(512)],
    ["a space", " "],
    ["a dot", "."],
  ])("%s as a session id", async (_, session) => {
    const answer = await doors.post(JSON.stringify(batch([sound(0, session)])))
    expect(answer.body).toEqual({ next: 1, rejected: [] })
    const all = doors.house.events(session)
    // A lone surrogate has no UTF-8 form; its session is logged under the replacement character.
    if (session.isWellFormed()) expect(all.map(({ type }) => type)).toEqual(["session.started"])
  })
})
