/**
 * The live checker's checks of discovery, POST, SSE and WebSocket, against the real service with a token. Eviction
 * and control have files of their own beside this.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { suitePort } from "../ports.ts"
import { CHECKS } from "./checks.ts"
import { EMITTER, eventOf, HELLO, newSession, Party, sessionOf } from "./client.ts"
import { Stage, TOKEN } from "./stage.ts"

/** The codes that may refuse a subscription (AEP-0003 §6.5). */
const CLOSED_SET: readonly unknown[] = ["invalid-filter", "unknown-dialect", "unauthorized", "limit-exceeded"]

let stage: Stage
let party: Party
beforeAll(async () => {
  stage = await Stage.open(suitePort("hub", 6), { AEP_TOKEN: TOKEN })
  party = new Party(stage.url, TOKEN)
})
afterAll(() => stage.close())

test("every check of the checker is held by a test of this suite", () => {
  const tests = readdirSync(import.meta.dir)
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => readFileSync(join(import.meta.dir, name), "utf8"))
    .join("\n")
  expect(CHECKS.filter((check) => !tests.includes(`test("${check}: `))).toEqual([])
})

test("discovery: the document names the version, the doors and what they can, at both of its addresses", async () => {
  const answer = await party.ask("/events")
  expect([answer.status, answer.headers.get("content-type")]).toEqual([
    200,
    expect.stringMatching(/^application\/json/),
  ])
  const document = await answer.json()
  expect(document).toEqual({
    aep: ["0.1"],
    endpoints: { events: "/events", stream: "/stream", socket: "/socket" },
    role: "both",
    capabilities: {
      filters: ["attr-match"],
      replay: { buffer: 10_000, all: true },
      capture: ["none", "metadata", "redacted", "full"],
      control: { accepts: ["control.attention.respond", "control.cancel"], ack_window_ms: 10_000 },
      roster: {},
    },
  })
  expect(await (await party.ask("/.well-known/aep")).json()).toEqual(document)
})

test("version-gate: another version, or none, is answered 426 with those that are spoken", async () => {
  for (const version of ["9.9", ""]) {
    const answer = await party.post([eventOf(newSession(), "session.started")], { "aep-version": version })
    expect([answer.status, await answer.json()]).toEqual([426, { versions: ["0.1"] }])
  }
})

test("reject-invalid: an event without id is answered 400, and nothing of its batch is taken", async () => {
  const session = newSession()
  const good = eventOf(session, "session.started")
  const bad = eventOf(session, "tool.completed", { seq: 1, id: undefined, data: { tool: "canary-5c" } })
  const answer = await party.post([good, bad])
  const body = await answer.text()
  expect([answer.status, JSON.parse(body).error]).toEqual([400, "invalid-event"])
  expect(body).not.toContain("canary")
  expect((await party.held({ filter: { session }, from: "all" })).events).toEqual([])
})

test("ingest-fanout: a stream of a session gets exactly what is posted, as posted, in order", async () => {
  const session = newSession()
  const reader = await party.stream({ filter: { session } })
  const events = sessionOf(session)
  await party.told(sessionOf(newSession()))
  await party.told(events)
  for (const event of events) {
    expect(await reader.event()).toEqual({
      kind: "event",
      type: event.type,
      id: `${session}:0:${event.seq}`,
      data: JSON.stringify(event),
    })
  }
  await reader.cancel()
})

test("resume: a stream behind a position of an ended session gets what came after it, once, and then what happens", async () => {
  const session = newSession()
  const events = sessionOf(session)
  await party.told(events)
  const position = { session, epoch: 0, seq: 0 }
  const readers = [
    await party.stream({ filter: { session }, from: [position] }),
    await party.stream({ filter: { session } }, { "last-event-id": `${session}:0:0` }),
  ]
  const late = eventOf(session, "progress.status", { seq: 3, data: { text: "late" } })
  await party.told([late])
  for (const reader of readers) {
    const texts = [await reader.event(), await reader.event(), await reader.event()].map(({ data }) => data)
    expect(texts).toEqual([...events.slice(1), late].map((event) => JSON.stringify(event)))
    await reader.cancel()
  }
})

test("capture-downlevel: under a ceiling a gated member is gone, the level says so, the rest stays", async () => {
  const session = newSession()
  const event = eventOf(session, "run.started", {
    run: "r1",
    capture: "redacted",
    data: { prompt: "canary-7a", trigger: "user" },
  })
  const reader = await party.stream({ filter: { session }, capture: "metadata" })
  const socket = await party.greeted()
  await socket.ask({ type: "subscribe", id: "low", filter: { session }, capture: "metadata" })
  await party.told([event])
  const lowered = { ...event, capture: "metadata", data: { trigger: "user" } }
  expect(JSON.parse((await reader.event()).data)).toEqual(lowered)
  expect(await socket.next()).toEqual(lowered)
  expect((await party.held({ filter: { session }, from: "all" })).events).toEqual([event])
  await Promise.all([reader.cancel(), socket.close()])
})

test("hello-ws: an event first is told so before the end", async () => {
  const socket = await party.open()
  expect(await socket.ask(eventOf(newSession(), "session.started"))).toMatchObject({
    type: "error",
    code: "hello-required",
  })
  expect((await socket.closed).code).toBe(1008)
})

test("hello-ws: a version nobody speaks is told which are", async () => {
  const socket = await party.open()
  expect(await socket.ask({ type: "hello", versions: ["9.9"] })).toMatchObject({
    type: "error",
    code: "version-unsupported",
    versions: ["0.1"],
  })
  await socket.closed
})

test("hello-ws: a hello of versions alone is answered with the one that is spoken, and with what discovery says", async () => {
  const socket = await party.open()
  const { capabilities } = await (await party.ask("/events")).json()
  expect(await socket.ask({ type: "hello", versions: ["0.1"] })).toEqual({
    type: "hello",
    versions: ["0.1"],
    role: "both",
    identity: { agent: "opencode-aep" },
    capabilities,
  })
  await socket.close()
})

test("subscribe-limits: 1024 positions and a malformed from are answered in the closed set, and the next is served", async () => {
  const many = Array.from({ length: 1024 }, (_, seq) => ({
    session: `${"s".repeat(48)}${seq}`,
    epoch: 0,
    seq,
  }))
  expect(JSON.stringify(many).length).toBeGreaterThan(75_000)
  for (const from of [many, {}]) {
    const socket = await party.open()
    socket.send(HELLO, { type: "subscribe", id: "probe", from }, { type: "subscribe", id: "next" })
    expect(await socket.next()).toMatchObject({ type: "hello" })
    const told = await socket.next()
    expect(told).toMatchObject({ type: "error", id: "probe" })
    expect(CLOSED_SET).toContain(told.code)
    expect(await socket.next()).toEqual({ type: "subscribed", id: "next" })
    await socket.close()
  }
})

test("ignore-unknown: an unknown capability and an unknown frame change nothing", async () => {
  const socket = await party.open()
  socket.send(
    { ...HELLO, capabilities: { zigzag: true } },
    { type: "zigzag", id: "z" },
    { type: "subscribe", id: "a" },
  )
  expect(await socket.next()).toMatchObject({ type: "hello" })
  expect(await socket.next()).toEqual({ type: "subscribed", id: "a" })
  await socket.close()
})

test("replay-all: everything held comes by session, without a mark, and the answer ends", async () => {
  const [first, second] = [newSession(), newSession().toUpperCase()]
  await party.told([...sessionOf(first).slice(0, 2), ...sessionOf(second).slice(0, 1)])
  const answer = await party.ask("/stream?live=0&from=all")
  expect(answer.status).toBe(200)
  const body = await answer.text()
  expect(body).not.toContain("replay-exhausted")
  const events = [...body.matchAll(/^data: (.*)$/gm)].map(([, text]) => JSON.parse(text ?? ""))
  const seqsOf = (session: string) => events.flatMap((each) => (each.session === session ? [each.seq] : []))
  expect([seqsOf(first), seqsOf(second)]).toEqual([[0, 1], [0]])
  expect(body).toEndWith(": replay-complete\n\n")
})

test("roster: a claim is shown as its owner's hello declared it, until the connection ends", async () => {
  const session = newSession()
  const control = { accepts: ["control.attention.respond"], ack_window_ms: 10_000, vendor: { depth: 1 } }
  const owner = await party.owner(session, control)
  const reader = await party.greeted()
  const claim = { session, agent: "aep-live-check-owner", instance: "one", control, emits: ["session.*"] }
  expect(await reader.ask({ type: "roster", id: "q1" })).toEqual({
    type: "roster",
    id: "q1",
    entries: [claim],
  })
  await owner.close()
  // The server had confirmed the end before this connection began.
  const late = await party.greeted()
  expect(await late.ask({ type: "roster", id: "q2" })).toEqual({ type: "roster", id: "q2", entries: [] })
  await Promise.all([reader.close(), late.close()])
})

test("roster: an emitter is refused, and its connection lives on", async () => {
  const emitter = await party.greeted(EMITTER)
  expect(await emitter.ask({ type: "roster", id: "q" })).toMatchObject({
    type: "error",
    id: "q",
    code: "unauthorized",
  })
  expect(await emitter.settled()).toEqual([])
  await emitter.close()
})
