/**
 * `POST /events` (AEP-0003 §3.2): what is let in, byte for byte, and what is refused, as a whole and by its first bad line.
 * No refusal repeats a value. The fuzz at the end holds the door to answers that are no fault of ours.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { AepHouse, CANARY, eventOf, linesOf, OURS } from "./doors-aep-house.ts"
import { MAX_BODY } from "./doors-house.ts"

const MAX_BATCH = 50
const house = new AepHouse({ maxBatch: MAX_BATCH })
afterAll(() => house.close())

/** The texts that came to the hub of one post. */
async function accepted(body: BodyInit, headers: Record<string, string> = {}): Promise<string[]> {
  const before = house.published.length
  const answer = await house.post(body, headers)
  const texts = house.published.slice(before).map(({ text }) => text)
  expect([answer.status, answer.body]).toEqual([202, { accepted: texts.length }])
  return texts
}

/** The detail of a refusal, of which nothing came to the hub. */
async function refused(
  body: BodyInit,
  status: number,
  error: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const before = house.published.length
  const answer = await house.post(body, headers)
  expect([answer.status, answer.body?.error]).toEqual([status, error])
  expect(Object.keys(answer.body ?? {})).toEqual(["error", "detail"])
  expect(answer.text).not.toContain(CANARY)
  expect(house.published.length).toBe(before)
  return String(answer.body?.detail)
}

const json = { "content-type": "application/json" }
const line = (seq: number, members: Record<string, unknown> = {}) => JSON.stringify(eventOf(seq, members))

describe("the version is judged before anything of the body", () => {
  test.each(["9.9", "1.0", "0.2", "0.10", "0", "", "0.1, 0.2", "v0.1"])("%j is another", async (version) => {
    const answer = await house.post(CANARY, { "aep-version": version, "content-type": "text/plain" })
    expect([answer.status, answer.body]).toEqual([426, { versions: ["0.1"] }])
  })

  test("and one that is not told is another", async () => {
    const answer = await house.ask("/events", { method: "POST", body: line(0), headers: json })
    expect([answer.status, answer.body]).toEqual([426, { versions: ["0.1"] }])
  })
})

describe("the content type says how to read the body", () => {
  test("one event, on however many lines", async () => {
    const event = eventOf(0)
    expect(await accepted(line(0), json)).toEqual([line(0)])
    // Line breaks go and nothing else, so that numbers stay as they were written.
    const broken = JSON.stringify(event, null, 2)
    expect(await accepted(broken, json)).toEqual([broken.replaceAll("\n", " ")])
    expect(await accepted(line(0), { "content-type": "Application/JSON; charset=utf-8" })).toHaveLength(1)
  })

  test("one event a line, in the order of the lines", async () => {
    expect(await accepted(linesOf(eventOf(0), eventOf(1), eventOf(2)))).toEqual([line(0), line(1), line(2)])
    expect(await accepted(line(0), { "content-type": "application/x-ndjson; charset=utf-8" })).toHaveLength(1)
  })

  test.each(["", "text/plain", "application/jsonl", "application/json-seq", CANARY])(
    "%j is none of both",
    async (type) => {
      expect(await refused(line(0), 415, "wrong-content-type", { "content-type": type })).toContain(
        "application/x-ndjson",
      )
    },
  )

  test.each([
    [linesOf(eventOf(0), eventOf(1)), "two events"],
    [`[${line(0)}]`, "a list"],
  ])("%# as one event is refused (%s)", async (body) => {
    await refused(body, 400, "invalid-event", json)
  })
})

describe("what is passed on are the bytes that came", () => {
  test.each([
    ["spaces", ` { "aep" : "0.1",${line(0).slice(1).replace('"aep":"0.1",', "")} `],
    ["another order and escapes", line(0).replace("step 0", "\\u0073tep \\/ 0")],
    ["numbers as they were written", line(0).replace('"step 0"}', '"step 0","n":1.50e3,"z":-0}')],
    ["a name twice", line(0).replace('"data":{', '"data":{"message":"one",')],
    ["wide characters", line(0, { data: { message: "文\u2028🙂" } })],
    ["unknown attributes", line(0, { extra: "kept", data: { unknown: [1, { deep: null }] } })],
  ])("%s", async (_, text) => {
    expect(await accepted(`${text}\n`)).toEqual([text])
  })

  test("without the carriage return of a line's end", async () => {
    expect(await accepted(`${line(0)}\r\n${line(1)}\r\n`)).toEqual([line(0), line(1)])
  })

  test("an event twice comes twice: readers tell by source and id", async () => {
    expect(await accepted(linesOf(eventOf(0), eventOf(0)))).toEqual([line(0), line(0)])
  })

  test("a small event of a large body does not keep the body in memory", async () => {
    const small = line(0, { session: "ses_small" })
    const pad = line(1, { data: { message: "x".repeat(200_000) } })
    const kept: unknown[] = []
    await accepted(`${small}\n${pad}\n`)
    Bun.gc(true)
    const before = process.memoryUsage.rss()
    for (let times = 0; times < 300; times += 1) {
      const at = house.published.length
      await house.post(`${small}\n${pad}\n`)
      kept.push(house.published[at]?.text)
      house.published.length = at
    }
    Bun.gc(true)
    expect(kept).toHaveLength(300)
    // Their bodies are 60 MB.
    expect(process.memoryUsage.rss() - before).toBeLessThan(45 * 1024 * 1024)
  })
})

describe("empty lines are passed over, and counted", () => {
  test.each([
    [`${line(0)}\n\n\n`, 1],
    [`\n${line(0)}\n`, 1],
    [`${line(0)}\n\n\r\n${line(1)}`, 2],
  ])("%#", async (body, count) => {
    expect(await accepted(body)).toHaveLength(count)
  })

  test("in the number that a refusal names", async () => {
    expect(await refused(`\n${line(0)}\n\r\n\n{}\n`, 400, "invalid-event")).toStartWith("line 5: ")
  })

  test.each(["", "\n", "\r\n\n\n"])("and a body of none but them holds no event (%j)", async (body) => {
    expect(await refused(body, 400, "invalid-event")).toContain("no event")
  })
})

describe("a batch with a bad line is refused as a whole, by line and attribute", () => {
  test.each([
    ["no JSON", `{"aep":"0.1","${CANARY}`, "JSON"],
    ["no object", `["${CANARY}"]`, ""],
    ["no id", line(1, { id: undefined }), "id"],
    ["an empty id", line(1, { id: "" }), "id"],
    ["another version", line(1, { aep: CANARY }), "aep"],
    ["a type of no category", line(1, { type: `${CANARY}.x` }), "type"],
    ["no session where one is due", line(1, { session: undefined }), "session"],
    ["no seq where one is due", line(1, { seq: undefined }), "seq"],
    ["a seq below 0", line(1, { seq: -1 }), "seq"],
    ["a seq of letters", line(1, { seq: CANARY }), "seq"],
    ["no time", line(1, { time: CANARY }), "time"],
    ["a source that is no URI", line(1, { source: ` ${CANARY}` }), "source"],
    ["a level that is none", line(1, { capture: CANARY }), "capture"],
    ["a severity that is none", line(1, { severity: CANARY }), "severity"],
    ["data that is no object", line(1, { data: CANARY }), "data"],
    ["an agent's event in a session", line(1, { type: "agent.online" }), "seq|session"],
    ["a byte order mark", `\ufeff${line(1)}`, "JSON"],
    ["half an event", line(1).slice(0, 40), "JSON"],
    ["an extension of another spelling", line(1, { [`X-${CANARY}`]: 1 }), ""],
  ])("%s", async (_, bad, attribute) => {
    const detail = await refused(`${line(0)}\n${bad}\n${line(2)}\n`, 400, "invalid-event")
    expect(detail).toStartWith("line 2: ")
    expect(detail).toMatch(new RegExp(attribute))
    expect(await refused(bad, 400, "invalid-event", json)).not.toStartWith("line")
  })

  test("the first of several is the one that is named", async () => {
    expect(await refused(`${line(0)}\n{}\n[]\n`, 400, "invalid-event")).toStartWith("line 2: ")
  })

  test("bytes that are no UTF-8, by the line they stand on", async () => {
    const bytes = Buffer.from(linesOf(eventOf(0), eventOf(1, { data: { message: "@" } }), eventOf(2)))
    bytes[bytes.indexOf("@")] = 0xff
    expect(await refused(bytes, 400, "invalid-event")).toMatch(/^line 2: not UTF-8/)
  })

  test("half a character at the end of a line", async () => {
    const whole = Buffer.from("文")
    const body = Buffer.concat([Buffer.from(line(0)), whole.subarray(0, 2), Buffer.from(`\n${line(1)}\n`)])
    expect(await refused(body, 400, "invalid-event")).toMatch(/^line 1: not UTF-8/)
  })
})

describe("who may say what", () => {
  const command = (type: string) =>
    linesOf(eventOf(0, { type, seq: undefined, subject: "r", data: { answer: { option: CANARY } } }))

  test.each([
    "control.attention.respond",
    "control.cancel",
    "control.pause",
    "control.resume",
    "x.acme.control.reboot",
  ])("%s does not ride this binding", async (type) => {
    expect(await refused(command(type), 400, "invalid-event")).toMatch(/^line 1: type: .*socket/)
  })

  test.each([
    ["an ack", eventOf(0, { type: "control.accepted", cause: "c", data: {} })],
    ["a rejection", eventOf(0, { type: "control.rejected", cause: "c", data: { reason: "gone" } })],
    ["a routing of an ask", eventOf(0, { type: "attention.routed", seq: undefined, subject: "r", data: {} })],
    ["an event of an agent", eventOf(0, { type: "agent.online", seq: undefined, session: undefined })],
  ])("%s does", async (_, event) => {
    expect(await accepted(linesOf(event))).toHaveLength(1)
  })

  test("a peer may not speak in a session of ours", async () => {
    const before = house.published.length
    const answer = await house.postEvents(
      eventOf(0),
      eventOf(0, { session: OURS, data: { message: CANARY } }),
    )
    expect(answer.status).toBeOneOf([400, 403])
    expect(String(answer.body?.detail)).toStartWith("line 2: ")
    expect(answer.text).not.toContain(CANARY)
    expect(house.published.length).toBe(before)
  })
})

describe("a request over a bound is refused", () => {
  const large = line(0, { data: { message: `${CANARY}${"x".repeat(MAX_BODY)}` } })

  test("by its declared length, before it is read", async () => {
    const detail = await refused(line(0), 413, "too-large", { "content-length": String(MAX_BODY + 1) })
    expect(detail).toContain("AEP_MAX_BODY")
  })

  test("by what it is, declared or not", async () => {
    await refused(large, 413, "too-large")
    const chunks = new ReadableStream({
      start(controller) {
        for (let at = 0; at < large.length; at += 10_000) {
          controller.enqueue(new TextEncoder().encode(large.slice(at, at + 10_000)))
        }
        controller.close()
      },
    })
    await refused(chunks, 413, "too-large")
  })

  test("by the number of its events; one at the bound is taken", async () => {
    const events = (count: number) => linesOf(...Array.from({ length: count }, (_, seq) => eventOf(seq)))
    expect(await accepted(events(MAX_BATCH))).toHaveLength(MAX_BATCH)
    expect(await accepted(`${events(MAX_BATCH)}\n\n`)).toHaveLength(MAX_BATCH)
    expect(await refused(events(MAX_BATCH + 1), 413, "too-many")).toContain("AEP_MAX_BATCH")
  })

  test("a sender that goes away amid its body is no fault of ours", async () => {
    const broken = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(line(0).slice(0, 20)))
        controller.error(new Error("gone"))
      },
    })
    expect(await refused(broken, 400, "invalid-event")).toContain("ended before")
  })
})

describe("whatever is posted", () => {
  /** A small generator (mulberry32): the same numbers on every machine. */
  let state = 20_261_201
  const pick = (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
  const NAMES = ["aep", "id", "type", "time", "source", "agent", "session", "seq", "epoch", "data", "capture"]
  const ATOMS = [
    "null",
    "-1",
    "1e999",
    '"\\u0000"',
    "[]",
    "{}",
    '"__proto__"',
    "true",
    '"\\ud800"',
    "0.5",
    '""',
  ]

  function spoil(body: string): Uint8Array<ArrayBuffer> {
    let text = body
    for (let times = pick(4); times > 0; times -= 1) {
      const name = `"${NAMES[pick(NAMES.length)]}":`
      const at = text.indexOf(name, pick(text.length))
      if (at !== -1)
        text = text.slice(0, at) + name + ATOMS[pick(ATOMS.length)] + text.slice(at + name.length + 4)
    }
    const bytes = new Uint8Array(Buffer.from(text))
    for (let times = pick(5); times > 0; times -= 1) bytes[pick(bytes.length)] = pick(256)
    return pick(4) === 0 ? bytes.slice(0, pick(bytes.length)) : bytes
  }

  const DEEP = 200_000
  test.each([
    ["levels", `{"a":${"[".repeat(DEEP)}${"]".repeat(DEEP / 2)}`.slice(0, MAX_BODY)],
    ["levels in data", line(0).replace('"step 0"', "[".repeat(60_000) + "]".repeat(60_000))],
    [
      "levels in data over lines",
      line(0).replace('"step 0"', `\r\n${"[".repeat(60_000)}${"]".repeat(60_000)}`),
    ],
    ["names", `{${Array.from({ length: 9_000 }, (_, at) => `"a${at}":1`).join(",")}}`],
    ["line ends", "\n".repeat(MAX_BODY)],
  ])("many %s are answered", async (_, body) => {
    for (const type of ["application/json", "application/x-ndjson"]) {
      expect((await house.post(body, { "content-type": type })).status).toBeOneOf([202, 400])
    }
  })

  test("5000 spoilt bodies are answered with 202 or 400, and a sound one after them with 202", async () => {
    const statuses = new Map<number, number>()
    for (let round = 0; round < 5000; round += 1) {
      const body = linesOf(
        ...Array.from({ length: 1 + pick(3) }, (_, seq) => eventOf(seq, { severity: "info" })),
      )
      const answer = await house.post(spoil(body), pick(2) === 0 ? json : {})
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      expect(answer.status).toBeOneOf([202, 400])
    }
    expect(statuses.get(202) ?? 0).toBeGreaterThan(100)
    expect(statuses.get(400) ?? 0).toBeGreaterThan(1000)
    expect(await accepted(line(0), json)).toEqual([line(0)])
    for (const { text } of house.published) expect(text).not.toMatch(/[\r\n]/)
  }, 30_000)
})

test("no refusal was a fault of ours", () => {
  expect(house.faults).toEqual([])
})
