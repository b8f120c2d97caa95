/**
 * `GET /stream` over a real socket: that a reader is live once it has its headers, that its going away is noticed, that one
 * who stops reading costs a bounded amount of memory and is ended, and that another beside it gets everything.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { connect, type Socket } from "node:net"
import { suitePort } from "../ports.ts"
import { AepHouse, eventOf } from "./doors-aep-house.ts"
import { TOKEN } from "./doors-house.ts"
import { SseReader } from "./doors-sse-reader.ts"

const PORT = suitePort("hub", 2)
const MIB = 1024 * 1024
const house = new AepHouse({
  port: PORT,
  softBytes: MIB,
  hardBytes: 4 * MIB,
  replayBytes: 4 * MIB,
  maxBatch: 100,
})
let base = ""

beforeAll(() => {
  base = house.serve()
})
afterAll(() => house.close())

const headers = { authorization: `Bearer ${TOKEN}` }
const publish = (events: object[]) =>
  fetch(`${base}/events`, {
    method: "POST",
    headers: { ...headers, "aep-version": "0.1", "content-type": "application/x-ndjson" },
    body: events.map((event) => `${JSON.stringify(event)}\n`).join(""),
  })

/** Lets the server's turns go by until something is so; the test's own time limit bounds it. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

/** A client that sends a request and reads only what it is told to. */
async function raw(path: string, lines: readonly string[] = []): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect(PORT, "127.0.0.1", () => {
    const head = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${PORT}`, `Authorization: Bearer ${TOKEN}`]
    socket.write(Buffer.from([...head, ...lines, "", ""].join("\r\n")), () => resolve(socket))
  })
  socket.on("error", reject)
  return promise
}

test("a reader is live once it has its headers", async () => {
  const reader = new SseReader(await fetch(`${base}/stream`, { headers }))
  await publish([eventOf(0)])
  expect((await reader.event()).id).toBe("ses_peer:0:0")
  await reader.cancel()
  await until(() => house.stream.size === 0)
})

test("the token in the query opens it", async () => {
  const reader = new SseReader(await fetch(`${base}/stream?live=0&access_token=${TOKEN}`))
  expect((await reader.rest()).at(-1)).toEqual({ kind: "comment", text: "replay-complete" })
})

test("the answer to live=0 ends as a whole, and its connection serves on", async () => {
  const socket = await raw("/stream?live=0&from=all")
  let got = ""
  let hasAsked = false
  for await (const bytes of socket) {
    got += bytes
    if (hasAsked || !got.includes(": replay-complete\n\n")) continue
    hasAsked = true
    socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${PORT}\r\nConnection: close\r\n\r\n`)
  }
  expect(got).toContain("id: ses_peer:0:0\n")
  expect(got).toEndWith('{"ok":true,"relay":true}')
})

test("Last-Event-ID is read as the UTF-8 that browsers send", async () => {
  const session = "sés-文"
  await publish([eventOf(0, { session, id: "u0" }), eventOf(1, { session, id: "u1" })])
  const socket = await raw("/stream?live=0", [`Last-Event-ID: ${session}:0:0`, "Connection: close"])
  let got = ""
  for await (const bytes of socket) got += bytes
  expect(got).not.toContain('"id":"u0"')
  expect(got).toContain(`id: ${session}:0:1\n`)
})

test("a client that hangs up is noticed, before and amid its stream", async () => {
  for (let times = 0; times < 20; times += 1) {
    const socket = await raw("/stream")
    if (times % 2 === 0) await until(() => house.stream.size > 0)
    socket.destroy()
  }
  await publish([eventOf(1)])
  await until(() => house.stream.size === 0)
})

/** Publishes 76 MiB while a reader takes all of it, in order; returns by how many MiB the process grew. */
async function flood(reader: SseReader, session: string): Promise<number> {
  Bun.gc(true)
  const before = process.memoryUsage.rss()
  const message = "x".repeat(20_000)
  for (let batch = 0; batch < 400; batch += 1) {
    const events = Array.from({ length: 10 }, (_, index) =>
      eventOf(batch * 10 + index, { session, severity: "notice", data: { message } }),
    )
    house.published.length = 0
    await publish(events)
    for (const { id } of events) expect(JSON.parse((await reader.event()).data).id).toBe(id)
  }
  Bun.gc(true)
  return (process.memoryUsage.rss() - before) / MIB
}

test("a client that stops reading is ended at a bounded price, and another gets everything", async () => {
  const reader = new SseReader(await fetch(`${base}/stream`, { headers }))
  // What the flood itself costs a process is paid before it is measured.
  const alone = await flood(reader, "alone")
  const stopped = await raw("/stream")
  stopped.pause()
  await until(() => house.stream.size === 2)
  const beside = await flood(reader, "beside")
  process.stdout.write(`slow reader: ${beside.toFixed(0)} MiB, ${alone.toFixed(0)} MiB before without it\n`)
  expect(beside).toBeLessThan(40)
  expect(house.stream.size).toBe(1)

  // What it was given before is still its own to read, up to a whole last frame that says why.
  let got = ""
  stopped.resume()
  for await (const bytes of stopped) {
    got = (got + bytes).slice(-1000)
    if (got.endsWith("0\r\n\r\n")) break
  }
  expect(got).toContain(": closing too slow\n\n")
  stopped.destroy()
  await reader.cancel()
  await until(() => house.stream.size === 0)
}, 60_000)

test("the service's end ends the stream as a whole", async () => {
  const reader = new SseReader(await fetch(`${base}/stream`, { headers }))
  expect(await reader.next()).toEqual({ kind: "comment", text: "open" })
  house.stream.closeAll("stopping")
  expect(await reader.rest()).toEqual([{ kind: "comment", text: "closing stopping" }])
})

test("nothing of it was a fault of ours", () => {
  expect(house.faults).toEqual([])
})
