/**
 * `GET /stream` in process (AEP-0003 §3.3): framing, what is replayed and in which order, and what a stream does whose
 * reader is slow, gone, or asks for nonsense. What only a socket can show is in `doors-stream-socket.test.ts`.
 */
import { afterEach, describe, expect, test } from "bun:test"
import { readMessage } from "../../service/hub/message.ts"
import { AepHouse, type AepHouseOptions, CANARY, eventOf } from "./doors-aep-house.ts"
import { type Part, SseReader } from "./doors-sse-reader.ts"

let houses: AepHouse[] = []
afterEach(async () => {
  for (const house of houses) {
    await house.close()
    expect(house.stream.size).toBe(0)
    expect(house.hub.counts.subscriptions).toBe(0)
    expect(house.faults).toEqual([])
  }
  houses = []
})

function made(options: AepHouseOptions = {}): AepHouse {
  const house = new AepHouse(options)
  houses.push(house)
  return house
}

/** Opens a stream and reads its first comment. */
async function follow(house: AepHouse, query = "", headers: Record<string, string> = {}): Promise<SseReader> {
  const response = await house.open(`/stream${query}`, { headers })
  expect(response.status).toBe(200)
  const reader = new SseReader(response)
  expect(await reader.next()).toEqual({ kind: "comment", text: "open" })
  return reader
}

/** The same answer, whose reader does something after each piece. */
function paced(response: Response, pause: () => void): Response {
  const pausing = new TransformStream<Uint8Array, Uint8Array>({
    transform: (bytes, controller) => {
      controller.enqueue(bytes)
      if (bytes.length > 100) pause()
    },
  })
  return new Response(response.body?.pipeThrough(pausing))
}

const from = (value: unknown) => `from=${encodeURIComponent(JSON.stringify(value))}`
const comment = (text: string): Part => ({ kind: "comment", text })
const COMPLETE = comment("replay-complete")

function part(event: Record<string, unknown>): Part {
  const { type, session, epoch = 0, seq } = event
  return {
    kind: "event",
    type: String(type),
    id: seq === undefined ? undefined : `${session}:${epoch}:${seq}`,
    data: JSON.stringify(event),
  }
}

describe("what happens is told as it happens", () => {
  test("headers and a first comment at once, then events with name, position and text", async () => {
    const house = made()
    const response = await house.open("/stream")
    expect(response.headers.get("content-type")).toBe("text/event-stream")
    expect(response.headers.get("cache-control")).toBe("no-store")
    const reader = new SseReader(response)
    expect(await reader.next()).toEqual(comment("open"))
    await house.postEvents(eventOf(0), eventOf(1, { epoch: 3 }))
    expect(await reader.next()).toEqual(part(eventOf(0)))
    expect(await reader.next()).toEqual(part(eventOf(1, { epoch: 3 })))
  })

  test("from the turn in which the stream was opened", async () => {
    const house = made()
    const opening = house.open("/stream")
    const posting = house.postEvents(eventOf(0))
    const reader = new SseReader(await opening)
    await posting
    expect(await reader.event()).toEqual(part(eventOf(0)) as never)
  })

  test("the text is the one that was posted", async () => {
    const house = made()
    const reader = await follow(house)
    const text = ` ${JSON.stringify(eventOf(0)).replace('"seq":0', '"seq" : 0')} `
    await house.post(`${text}\n`)
    expect((await reader.event()).data).toBe(text)
  })

  test.each([
    ["an event of an agent", { type: "agent.online", session: undefined, seq: undefined }],
    ["a routing of an ask", { type: "attention.routed", seq: undefined, subject: "r" }],
    ["one in a session whose name would end the line", { session: "a\nid: b:0:1" }],
    ["one in a session whose name holds a return", { session: "a\rb" }],
    ["one in a session whose name holds a NUL", { session: "a\0b" }],
  ])("%s has no id line", async (_, members) => {
    const house = made()
    const reader = await follow(house)
    const event = eventOf(0, members)
    await house.postEvents(event, eventOf(9))
    expect(await reader.next()).toEqual({ ...part(event), id: undefined } as Part)
    expect(await reader.next()).toEqual(part(eventOf(9)))
  })

  test("line ends and other hostile characters in content break nothing", async () => {
    const house = made()
    const reader = await follow(house)
    const message = "a\n\ndata: forged\r\n\r: b\u2028\u2029\u0085\0\ud800"
    await house.postEvents(eventOf(0, { data: { message } }), eventOf(1))
    expect(JSON.parse((await reader.event()).data).data.message).toBe(message)
    expect(await reader.next()).toEqual(part(eventOf(1)))
  })

  test("only what the filter takes, at no more than the ceiling", async () => {
    const house = made()
    const query = `?filter=${encodeURIComponent('{"type":"run.*"}')}&capture=metadata`
    const reader = await follow(house, query)
    const run = eventOf(1, {
      type: "run.started",
      run: "r1",
      capture: "redacted",
      data: { prompt: CANARY, trigger: "user" },
    })
    await house.postEvents(eventOf(0), run)
    const told = JSON.parse((await reader.event()).data)
    expect(told).toMatchObject({ id: run.id, capture: "metadata", data: { trigger: "user" } })
    expect(JSON.stringify(told)).not.toContain(CANARY)
  })
})

describe("what is held is replayed first", () => {
  async function held(options: AepHouseOptions = {}): Promise<AepHouse> {
    const house = made(options)
    await house.postEvents(eventOf(0), eventOf(1), eventOf(0, { session: "b" }), eventOf(2))
    return house
  }

  test("live=0 ends after it, and says so", async () => {
    const reader = await follow(await held(), "?live=0&from=all")
    const parts = await reader.rest()
    expect(parts.at(-1)).toEqual(COMPLETE)
    const ids = parts.slice(0, -1).map((given) => (given.kind === "event" ? given.id : given.text))
    expect(ids.filter((id) => id?.startsWith("ses_peer"))).toEqual([
      "ses_peer:0:0",
      "ses_peer:0:1",
      "ses_peer:0:2",
    ])
    expect(ids).toContain("b:0:0")
    expect(ids).toHaveLength(4)
  })

  test("live=0 without a position ends at once", async () => {
    expect(await (await follow(await held(), "?live=0")).rest()).toEqual([COMPLETE])
  })

  test("after the position that from names, and of that session only", async () => {
    const query = `?live=0&${from([{ session: "ses_peer", epoch: 0, seq: 0 }])}`
    expect(await (await follow(await held(), query)).rest()).toEqual([
      part(eventOf(1)),
      part(eventOf(2)),
      COMPLETE,
    ])
  })

  test("after Last-Event-ID, and then live", async () => {
    const house = await held()
    const reader = await follow(house, "", { "last-event-id": "ses_peer:0:1" })
    await house.postEvents(eventOf(1, { session: "b" }))
    expect(await reader.next()).toEqual(part(eventOf(2)))
    expect(await reader.next()).toEqual(part(eventOf(1, { session: "b" })))
  })

  test("a session named with colons resumes by what its own id lines said", async () => {
    const house = made()
    const session = "ses:0:7:"
    await house.postEvents(eventOf(0, { session }), eventOf(1, { session }))
    const seen = await (await follow(house, "?live=0&from=all")).event()
    const reader = await follow(house, "?live=0", { "last-event-id": seen.id ?? "" })
    expect(await reader.rest()).toEqual([part(eventOf(1, { session })), COMPLETE])
  })

  test("from wins over Last-Event-ID", async () => {
    const query = `?live=0&${from([{ session: "b", seq: 0 }])}`
    expect(await (await follow(await held(), query, { "last-event-id": "ses_peer:0:0" })).rest()).toEqual([
      COMPLETE,
    ])
  })

  test.each(["", "x", "ses_peer", "ses_peer:0", "ses_peer:a:1", "ses_peer:0:-1", ":0:1", "::"])(
    "a Last-Event-ID of %j resumes nothing",
    async (id) => {
      expect(await (await follow(await held(), "?live=0", { "last-event-id": id })).rest()).toEqual([
        COMPLETE,
      ])
    },
  )

  test("what happens during a replay comes behind it", async () => {
    const house = await held()
    const reader = new SseReader(await house.open("/stream?from=all"))
    await house.postEvents(eventOf(3))
    const seen: string[] = []
    while (seen.at(-1) !== "ses_peer:0:3") seen.push((await reader.event()).id ?? "")
    expect(seen).toHaveLength(5)
  })

  test("a gap is marked before the events of that session, under a name that cannot break the line", async () => {
    const house = made({ depth: 2 })
    const session = "a\n\ndata: forged"
    for (const name of ["plain", session]) {
      await house.postEvents(...[0, 1, 2, 3].map((seq) => eventOf(seq, { session: name, epoch: 1 })))
    }
    const asked = ["plain", session].map((name) => ({ session: name, epoch: 1, seq: 0 }))
    const parts = await (await follow(house, `?live=0&${from(asked)}`)).rest()
    const of = (name: string): Part[] =>
      [2, 3].map((seq) => ({
        ...(part(eventOf(seq, { session: name, epoch: 1 })) as Extract<Part, { kind: "event" }>),
        id: name === "plain" ? `plain:1:${seq}` : undefined,
      }))
    expect(parts).toEqual([
      comment("replay-exhausted plain 1:2"),
      ...of("plain"),
      comment("replay-exhausted a\\u000a\\u000adata: forged 1:2"),
      ...of(session),
      COMPLETE,
    ])
  })
})

describe("what is not understood is refused before the first byte", () => {
  test.each([
    ["filter=", "invalid-filter"],
    ["filter=x", "invalid-filter"],
    [`filter={"${CANARY}":"}`, "invalid-filter"],
    ['filter={"time":"x"}', "invalid-filter"],
    ["filter=[]", "invalid-filter"],
    ["filter=null", "invalid-filter"],
    ['filter={"type":"*"}', "invalid-filter"],
    ["filter={}&filter={}", "invalid-query"],
    ["from=", "invalid-filter"],
    ["from=some", "invalid-filter"],
    ["from={}", "invalid-filter"],
    ["from=[{}]", "invalid-filter"],
    [`from=[{"session":"${CANARY}"}]`, "invalid-filter"],
    ['from=[{"session":"a","seq":-1}]', "invalid-filter"],
    ['from=[{"session":"a","seq":"1"}]', "invalid-filter"],
    ["from=all&from=all", "invalid-query"],
    [from(Array.from({ length: 11 }, (_, seq) => ({ session: `s${seq}`, seq }))), "limit-exceeded"],
    ["capture=", "invalid-query"],
    [`capture=${CANARY}`, "invalid-query"],
    ["capture=FULL", "invalid-query"],
    ["live=", "invalid-query"],
    ["live=no", "invalid-query"],
    ["live=0&live=1", "invalid-query"],
    ["%zz=1&live=%zz", "invalid-query"],
  ])("%s", async (query, error) => {
    const house = made()
    const answer = await house.ask(`/stream?${query}`)
    expect([answer.status, answer.body?.error]).toEqual([400, error])
    expect(answer.body?.detail).toBeString()
    expect(answer.text).not.toContain(CANARY)
    expect(house.stream.size).toBe(0)
  })

  test("what is not asked for is passed over", async () => {
    expect(await (await follow(made(), "?live=0&lang=en&from_=x")).rest()).toEqual([COMPLETE])
  })
})

describe("a silent stream is kept alive", () => {
  test("by a ping every 15 s", async () => {
    const house = made()
    const reader = await follow(house)
    for (let times = 0; times < 3; times += 1) {
      const next = reader.next()
      house.clock.advance(15_000)
      expect(await next).toEqual(comment("ping"))
    }
  })

  test("for as long as nothing waits for its reader", async () => {
    const house = made()
    await follow(house)
    house.clock.advance(600_000)
    expect(house.stream.size).toBe(1)
  })
})

describe("a reader who falls behind", () => {
  const wide = { data: { message: "x".repeat(1000) } }

  test("misses debug and info, is told how many, and nothing else", async () => {
    const house = made({ softBytes: 10_000, hardBytes: 1_000_000 })
    const reader = await follow(house)
    const events = Array.from({ length: 100 }, (_, seq) =>
      eventOf(seq, { ...wide, severity: seq % 10 === 0 ? "notice" : "debug" }),
    )
    await house.postEvents(...events)
    const seen: Part[] = []
    for (let next = await reader.next(); next !== undefined; next = await reader.next()) {
      seen.push(next)
      if (next.kind === "comment") break
    }
    const seqs = seen.flatMap((next) => (next.kind === "event" ? [Number(next.id?.split(":")[2])] : []))
    expect(seqs.filter((seq) => seq % 10 === 0)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90])
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b))
    expect(seen.at(-1)).toEqual(comment(`dropped ${100 - seqs.length}`))
    expect(seqs.length).toBeLessThan(30)
    await house.postEvents(eventOf(100, { severity: "debug" }))
    expect((await reader.event()).id).toBe("ses_peer:0:100")
  })

  test("is cut off where only loss would be left, and resumes from what it had", async () => {
    const house = made({ softBytes: 10_000, hardBytes: 50_000 })
    const reader = await follow(house)
    const events = Array.from({ length: 200 }, (_, seq) => eventOf(seq, { ...wide, severity: "notice" }))
    await house.postEvents(...events)
    expect(house.stream.size).toBe(0)
    const seen = await reader.rest()
    expect(seen.at(-1)).toEqual(comment("closing too slow"))
    const last = seen.filter((next) => next.kind === "event").at(-1)?.id
    const query = last === undefined ? "?live=0&from=all" : "?live=0"
    const again = await follow(house, query, last === undefined ? {} : { "last-event-id": last })
    const rest = (await again.rest()).slice(0, -1)
    expect([...seen.slice(0, -1), ...rest]).toEqual(events.map(part))
  })

  test("is ended when it takes nothing for half a minute, and another reads on", async () => {
    const house = made()
    const stalled = await house.open("/stream")
    const reader = await follow(house)
    await house.postEvents(eventOf(0))
    await house.postEvents(eventOf(1))
    expect(await reader.next()).toEqual(part(eventOf(0)))
    expect(await reader.next()).toEqual(part(eventOf(1)))
    house.clock.advance(30_000)
    expect(house.stream.size).toBe(2)
    house.clock.advance(15_000)
    expect(house.stream.size).toBe(1)
    const parts = await new SseReader(stalled).rest()
    expect(parts.at(-1)).toEqual(comment("closing too slow"))
    await house.postEvents(eventOf(2))
    for (;;) if ((await reader.event()).id === "ses_peer:0:2") break
  })
})

test("a reader who is slow but reads on is not ended", async () => {
  const house = made()
  const reader = (await house.open("/stream")).body?.getReader()
  await reader?.read()
  const message = "x".repeat(10_000)
  for (let seq = 0; seq < 40; seq += 20) {
    const batch = Array.from({ length: 20 }, (_, at) =>
      eventOf(seq + at, { severity: "notice", data: { message } }),
    )
    expect((await house.postEvents(...batch)).status).toBe(202)
  }
  for (let times = 0; times < 4; times += 1) {
    house.clock.advance(30_000)
    expect(house.stream.size).toBe(1)
    await reader?.read()
  }
})

describe("one large event", () => {
  const event = eventOf(0, { severity: "notice", data: { message: "文".repeat(80_000) } })

  test("comes in pieces, so that a reader who takes them slowly is not ended", async () => {
    const house = made()
    const response = await house.open("/stream")
    let pieces = 0
    const take = (): void => {
      pieces += 1
      house.clock.advance(30_000)
    }
    const reader = new SseReader(paced(response, take))
    expect(await reader.next()).toEqual(comment("open"))
    await house.postEvents(event)
    expect(await reader.next()).toEqual(part(event))
    expect(pieces).toBe(4)
    expect(house.stream.size).toBe(1)
  })

  test("that was begun is ended before the stream is", async () => {
    const house = made()
    const reader = await follow(house)
    const next = reader.next()
    await house.postEvents(event)
    house.stream.closeAll("stopping")
    expect(await next).toEqual(part(event))
    expect(await reader.rest()).toEqual([comment("closing stopping")])
  })
})

describe("the end of a stream", () => {
  test("by its reader leaves nothing behind", async () => {
    const house = made()
    const reader = await follow(house)
    expect(house.stream.size).toBe(1)
    await reader.cancel()
    expect([house.stream.size, house.clock.waiting]).toEqual([0, 0])
    expect((await house.postEvents(eventOf(0))).status).toBe(202)
  })

  test("by a request that was given up leaves nothing behind", async () => {
    const house = made()
    const abort = new AbortController()
    await house.open("/stream", { signal: abort.signal })
    expect(house.stream.size).toBe(1)
    abort.abort()
    expect([house.stream.size, house.clock.waiting]).toEqual([0, 0])
  })

  test("by the service says why, and no new one is opened", async () => {
    const house = made()
    const readers = [await follow(house), await follow(house)]
    house.stream.closeAll("stopping")
    house.stream.closeAll("again")
    for (const reader of readers) expect(await reader.rest()).toEqual([comment("closing stopping")])
    expect([house.stream.size, house.clock.waiting]).toEqual([0, 0])
    const answer = await house.ask("/stream")
    expect([answer.status, answer.body?.error]).toEqual([503, "stopping"])
  })

  test("by the service comes behind what was published in the same turn", async () => {
    const house = made()
    const reader = await follow(house)
    const next = reader.next()
    const read = readMessage(JSON.stringify(eventOf(0)))
    if (read.kind !== "message") throw new Error(read.detail)
    house.hub.publish([read.message])
    house.stream.closeAll("stopping")
    expect(await next).toEqual(part(eventOf(0)))
    expect(await reader.rest()).toEqual([comment("closing stopping")])
  })

  test("frees its place among those that may be open", async () => {
    const house = made({ maxStreams: 2 })
    const first = await follow(house)
    await follow(house)
    const answer = await house.ask("/stream")
    expect([answer.status, answer.body?.error]).toEqual([503, "too-many-streams"])
    await first.cancel()
    await follow(house)
  })
})
