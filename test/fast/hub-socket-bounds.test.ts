/**
 * `/socket` at its bounds, over real sockets: who may open one, frames that are too large or no text, a reader that stops
 * reading, and the service's end.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { suitePort } from "../ports.ts"
import { TOKEN } from "./doors-house.ts"
import { messageOf } from "./hub-events.ts"
import { BOTH, HELLO } from "./hub-peer-house.ts"
import { Client, RawClient } from "./hub-socket-client.ts"
import { MAX_FRAME, SocketHouse } from "./hub-socket-house.ts"

const MIB = 1024 * 1024
const MAX_SOCKETS = 4
const HARD_BYTES = 2 * MIB

let house: SocketHouse
beforeAll(() => {
  house = new SocketHouse({
    port: suitePort("hub", 1),
    maxSockets: MAX_SOCKETS,
    softBytes: MIB,
    hardBytes: HARD_BYTES,
  })
})
afterAll(() => house.close())

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

const HANDSHAKE = {
  authorization: `Bearer ${TOKEN}`,
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}

describe("opening a socket", () => {
  test.each([
    ["no handshake", { authorization: `Bearer ${TOKEN}` }, 426, "no-upgrade"],
    ["no token", { ...HANDSHAKE, authorization: "" }, 401, "unauthorized"],
    ["the token of another", { ...HANDSHAKE, authorization: "Bearer nobody" }, 401, "unauthorized"],
    ["a page of another origin", { ...HANDSHAKE, origin: "https://evil.example" }, 403, "foreign-origin"],
    ["half a handshake", { ...HANDSHAKE, "sec-websocket-key": "" }, 400, "no-upgrade"],
  ])("takes more than %s", async (_, headers, status, error) => {
    const answer = await fetch(`${house.base}/socket`, { headers: new Headers(headers) })
    expect([answer.status, (await answer.json()).error]).toEqual([status, error])
  })

  test("takes a free place; one that ended makes it", async () => {
    const url = house.url()
    const tried = await Promise.allSettled(Array.from({ length: MAX_SOCKETS + 3 }, () => Client.open(url)))
    const open = tried.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []))
    expect(open).toHaveLength(MAX_SOCKETS)
    const answer = await fetch(`${house.base}/socket`, { headers: HANDSHAKE })
    expect([answer.status, (await answer.json()).error]).toEqual([503, "too-many-sockets"])
    await open[0]?.close()
    await until(() => house.door.size < MAX_SOCKETS)
    const next = await Client.greeted(url, HELLO)
    await Promise.all([next, ...open.slice(1)].map((client) => client.close()))
    await until(() => house.door.size === 0)
  })
})

describe("a frame", () => {
  test("of bytes is answered and ends the connection", async () => {
    const client = await Client.greeted(house.url(), HELLO)
    expect(await client.ask(new Uint8Array([123, 125]))).toMatchObject({
      type: "error",
      code: "invalid-frame",
    })
    expect((await client.closed).code).toBe(1003)
  })

  test("as large as is taken is taken, a larger one ends the connection", async () => {
    const client = await Client.greeted(house.url(), HELLO)
    const t = "x".repeat(MAX_FRAME - 100)
    expect(await client.ask({ type: "ping", t })).toEqual({ type: "pong", t })
    client.send({ type: "ping", t: "x".repeat(MAX_FRAME) })
    await client.closed
    await until(() => house.door.size === 0)
  })

  test("that nests deeper than any stack harms nobody", async () => {
    const client = await Client.greeted(house.url(), HELLO)
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
    expect(await client.ask(`{"type":"ping","t":${deep}}`)).toMatchObject({ code: "invalid-frame" })
    expect(await client.settled()).toEqual([])
    await client.close()
  })
})

describe("a reader", () => {
  const pad = "x".repeat(20_000)
  const noticeOf = (session: string, seq: number) =>
    messageOf({ session, seq, severity: "notice", data: { pad } })

  test("that stops reading is let go at a bounded price, while one beside it gets everything", async () => {
    const quick = await Client.greeted(house.url(), HELLO)
    await quick.ask({ type: "subscribe", id: "a" })
    const stopped = await RawClient.open(house.url())
    stopped.send(HELLO, { type: "subscribe", id: "b" })
    await until(() => house.hub.counts.subscriptions === 2)

    let seq = 0
    let written = 0
    for (; house.hub.counts.subscriptions === 2; seq += 1) {
      const message = noticeOf("flood", seq)
      written += message.text.length
      house.hub.publish([message])
      expect(await quick.nextText()).toBe(message.text)
    }
    // Its queue, what the socket is handed, and what the two kernels hold.
    expect(written / MIB).toBeLessThan(32)
    expect(written).toBeGreaterThan(HARD_BYTES)
    await until(() => house.door.size === 1)
    const last = noticeOf("flood", seq)
    house.hub.publish([last])
    expect(await quick.nextText()).toBe(last.text)

    // What it was given before is still its own to read, up to the word that says how far that was.
    const told = await stopped.readUntil(({ type }) => type === "closing")
    const given = told.flatMap(({ type, seq: at }) => (type === "tool.completed" ? [at] : []))
    expect(given).toEqual(given.map((_, at) => at))
    expect(told.at(-1)).toEqual({
      type: "closing",
      reason: "too slow",
      delivered: [{ sub: "b", session: "flood", epoch: 0, seq: given.length - 1 }],
    })
    stopped.vanish()
    await quick.close()
  })

  test("that pauses and goes on is given all, in order", async () => {
    const client = await RawClient.open(house.url())
    client.send(HELLO, { type: "subscribe", id: "a", from: "all", filter: { session: "long" } })
    await until(() => house.hub.counts.subscriptions === 1)
    const events = Array.from({ length: 60 }, (_, seq) => noticeOf("long", seq))
    house.hub.publish(events)
    const told = await client.readUntil(({ seq }) => seq === 59)
    expect(told.slice(2).map(({ seq }) => seq)).toEqual(events.map(({ event }) => event.seq))
    client.vanish()
    await until(() => house.door.size === 0)
  })

  test("of a replay far larger than its queue's bound is given all of it, in order, and then what happens", async () => {
    const events = Array.from({ length: 600 }, (_, seq) => noticeOf("replay", seq))
    house.hub.hold(events)
    const client = await RawClient.open(house.url())
    client.send(HELLO, { type: "subscribe", id: "a", from: "all", filter: { session: "replay" } })
    await until(() => house.hub.counts.subscriptions === 1)
    house.hub.publish([noticeOf("replay", 600)])
    const told = await client.readUntil(({ seq }) => seq === 600)
    expect(told.slice(2).map(({ seq }) => seq)).toEqual(Array.from({ length: 601 }, (_, seq) => seq))
    client.vanish()
    await until(() => house.door.size === 0)
  })
})

describe("the service's end", () => {
  test("tells each reader how far it was served, and nobody comes in any more", async () => {
    const [reader, owner] = [
      await Client.greeted(house.url(), HELLO),
      await Client.greeted(house.url(), BOTH),
    ]
    await reader.ask({ type: "subscribe", id: "a", filter: { session: "end" } })
    const message = messageOf({ session: "end", seq: 3 })
    owner.send(message.text)
    expect(await reader.nextText()).toBe(message.text)
    house.door.closeAll("stopping")
    house.door.closeAll("stopping")
    expect(await reader.next()).toEqual({
      type: "closing",
      reason: "stopping",
      delivered: [{ sub: "a", session: "end", epoch: 0, seq: 3 }],
    })
    expect(await reader.closed).toEqual({ code: 1001, reason: "stopping" })
    expect((await owner.closed).code).toBe(1001)
    const answer = await fetch(`${house.base}/socket`, { headers: HANDSHAKE })
    expect([answer.status, (await answer.json()).error]).toEqual([503, "stopping"])
    expect([house.door.size, house.roster.size, house.hub.counts.subscriptions]).toEqual([0, 0, 0])
    expect(house.faults).toEqual([])
  })
})
