/**
 * `/socket` over real sockets, beside `/events` and `/stream` on the same hub: what the live checker asks of it (hello,
 * subscribe limits, unknown things, exhaustion, roster, control), bytes, claims and their end.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { suitePort } from "../ports.ts"
import { eventOf, messageOf, row } from "./hub-events.ts"
import { BOTH, EMITTER, HELLO } from "./hub-peer-house.ts"
import { Client, RawClient } from "./hub-socket-client.ts"
import { SocketHouse } from "./hub-socket-house.ts"

const RESPOND = "control.attention.respond"
const CONTROL = { accepts: [RESPOND], ack_window_ms: 10_000 }
const OWNER = { ...EMITTER, capabilities: { control: CONTROL, emits: ["session.*"] } }
/** The codes that may refuse a subscription. */
const CLOSED_SET = ["invalid-filter", "unknown-dialect", "unauthorized", "limit-exceeded"]

let house: SocketHouse
/** Open to whoever is on this machine, and with short buffers. */
let watchOnly: SocketHouse
beforeAll(() => {
  house = new SocketHouse({ port: suitePort("hub", 0) })
  watchOnly = new SocketHouse({ port: suitePort("hub", 1), auth: "control", depth: 8 })
})
afterAll(() => Promise.all([house.close(), watchOnly.close()]))

/** A session's name that no other test uses. */
let sessions = 0
function newSession(): string {
  sessions += 1
  return `live-S${sessions}`
}

function commandOf(session: string, type = RESPOND): { id: string; text: string } {
  const { event, text } = messageOf({ type, session, seq: undefined, data: { answer: { option: "a" } } })
  return { id: event.id, text: text.replace('":', '" :  ') }
}

/** An owner whose claim of the session stands. */
async function ownerOf(session: string, at: SocketHouse, token?: string): Promise<Client> {
  const owner = await Client.greeted(at.url(token), OWNER)
  owner.send(eventOf({ session, type: "session.started" }))
  await owner.settled()
  return owner
}

/** Waits for what follows from a connection's end, which nobody is told of. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

describe("hello", () => {
  test("an event first is answered before the connection ends", async () => {
    const client = await Client.open(house.url())
    expect(await client.ask(eventOf())).toMatchObject({ type: "error", code: "hello-required" })
    expect(await client.closed).toEqual({ code: 1008, reason: "hello-required" })
  })

  test("a version that nobody speaks is answered with those that are, before the connection ends", async () => {
    const client = await Client.open(house.url())
    const told = await client.ask({ type: "hello", versions: ["9.9"] })
    expect(told).toMatchObject({ type: "error", code: "version-unsupported", versions: ["0.1"] })
    await client.closed
  })

  test("a consumer needs neither identity nor capabilities", async () => {
    const client = await Client.open(house.url())
    expect(await client.ask(HELLO)).toMatchObject({ type: "hello", versions: ["0.1"] })
    await client.close()
  })

  test("frames in the same write behind it are done in order", async () => {
    const session = newSession()
    const client = await RawClient.open(house.url())
    client.send(
      { ...BOTH, capabilities: { telepathy: true } },
      { type: "zigzag" },
      { type: "subscribe", id: "a", filter: { session } },
      { type: "ping", t: 1 },
      eventOf({ session, seq: 4 }),
      { type: "unsubscribe", id: "a" },
    )
    const told = await client.readUntil(({ type }) => type === "unsubscribed")
    expect(told.map(({ type, t, seq, id }) => [type, t ?? seq ?? id])).toEqual([
      ["hello", undefined],
      ["subscribed", "a"],
      ["pong", 1],
      ["tool.completed", 4],
      ["unsubscribed", "a"],
    ])
    client.vanish()
  })
})

describe("somebody who could answer", () => {
  test("is there from the first subscription that sees requests to the end of the last such connection", async () => {
    const told = house.answerable
    told.length = 0
    const blind = await Client.greeted(house.url(), HELLO)
    blind.send({ type: "subscribe", id: "a", filter: { type: "run.*" } })
    await blind.settled()
    expect(told).toEqual([])
    const seeing = [await Client.greeted(house.url(), HELLO), await Client.greeted(house.url(), HELLO)]
    for (const client of seeing) {
      client.send({ type: "subscribe", id: "a", filter: { type: "attention.*" } })
      await client.settled()
    }
    expect(told).toEqual([true])
    await seeing[0]?.close()
    seeing[1]?.send({ type: "unsubscribe", id: "a" })
    await seeing[1]?.settled()
    await until(() => told.length > 1)
    expect(told).toEqual([true, false])
    await Promise.all([blind.close(), seeing[1]?.close()])
  })

  test("is nobody without the token", async () => {
    watchOnly.answerable.length = 0
    const client = await Client.greeted(watchOnly.url(""), HELLO)
    client.send({ type: "subscribe", id: "a" })
    await client.settled()
    expect(watchOnly.answerable).toEqual([])
    await client.close()
  })
})

describe("subscribe", () => {
  const many = Array.from({ length: 1024 }, (_, seq) => ({
    session: `${"s".repeat(40)}${seq}`,
    epoch: 0,
    seq,
  }))

  test.each([
    ["1024 positions in one frame", { from: many }, ["subscribed"]],
    ["a from that is none", { from: {} }, ["error"]],
  ])("%s is answered, and so is what comes behind it", async (_, members, types) => {
    const client = await Client.open(house.url())
    client.send(HELLO, { type: "subscribe", id: "probe", ...members }, { type: "subscribe", id: "next" })
    expect(await client.next()).toMatchObject({ type: "hello" })
    const told = await client.next()
    expect(types).toContain(String(told.type))
    expect(told.id).toBe("probe")
    if (told.type === "error") expect(CLOSED_SET).toContain(String(told.code))
    expect(await client.next()).toEqual({ type: "subscribed", id: "next" })
    await client.close()
  })

  test("unknown capabilities and frames are passed over", async () => {
    const client = await Client.open(house.url())
    client.send(
      { ...HELLO, capabilities: { zigzag: {} } },
      { type: "zigzag" },
      { type: "subscribe", id: "a" },
    )
    expect([await client.next(), await client.next()]).toMatchObject([
      { type: "hello" },
      { type: "subscribed" },
    ])
    await client.close()
  })

  test("what is no longer held is marked as on the stream: before all events, with the earliest that is", async () => {
    const session = newSession()
    const events = row(0, 15, { session, epoch: 1 })
    watchOnly.hub.publish(events)
    const from = [{ session, epoch: 1, seq: 0 }]
    const client = await Client.greeted(watchOnly.url(), HELLO)
    client.send({ type: "subscribe", id: "late", from })
    const told = (await client.settled()).slice(1)
    expect(JSON.parse(told[0] ?? "")).toEqual({
      type: "replay-exhausted",
      sub: "late",
      session,
      earliest: { epoch: 1, seq: 8 },
    })
    expect(told.slice(1)).toEqual(events.slice(8).map(({ text }) => text))
    const stream = await watchOnly.history(`from=${encodeURIComponent(JSON.stringify(from))}`)
    expect(stream).toContain(`: replay-exhausted ${session} 1:8\n`)
    const data = [...stream.matchAll(/^data: (.*)$/gm)].map(([, text]) => text)
    expect(data).toEqual(told.slice(1))
    await client.close()
  })
})

describe("bytes", () => {
  const members = {
    note: '"\\ud83d\\ude00 \\ud800 \\u2028 😀 é"',
    big: "12345678901234567890",
    float: "1.0e2",
  }

  test("an event comes out as it went in, over sockets and the stream", async () => {
    const session = newSession()
    const reader = await Client.greeted(house.url(), HELLO)
    await reader.ask({ type: "subscribe", id: "a", filter: { session } })
    const data = `{"note" : ${members.note},"big":${members.big},\t"float":${members.float}}`
    const text = `  ${messageOf({ session, data: "DATA" }).text.replace('"DATA"', data)} `
    const emitter = await Client.greeted(house.url(), EMITTER)
    emitter.send(text)
    expect(await reader.nextText()).toBe(text)
    const filter = encodeURIComponent(JSON.stringify({ session }))
    expect(await house.history(`from=all&filter=${filter}`)).toContain(`data: ${text}\n`)
    await Promise.all([reader.close(), emitter.close()])
  })

  test("a command reaches its owner and readers as it went in", async () => {
    const session = newSession()
    const owner = await ownerOf(session, house)
    const reader = await Client.greeted(house.url(), HELLO)
    await reader.ask({ type: "subscribe", id: "a", filter: { session } })
    const { text } = commandOf(session)
    const sender = await Client.greeted(house.url(), HELLO)
    sender.send(text)
    expect([await owner.nextText(), await reader.nextText()]).toEqual([text, text])
    expect(await sender.settled()).toEqual([])
    await Promise.all([owner.close(), reader.close(), sender.close()])
  })
})

describe("the roster", () => {
  test("shows a claim under the identity of its hello, blocks verbatim, until the connection ends", async () => {
    const session = newSession()
    const owner = await ownerOf(session, house)
    const reader = await Client.greeted(house.url(), HELLO)
    const mine = async (): Promise<unknown[]> => {
      const { id, entries } = await reader.ask({ type: "roster", id: "q" })
      expect(id).toBe("q")
      return Array.isArray(entries) ? entries.filter((entry) => entry.session === session) : []
    }
    expect(await mine()).toEqual([
      { session, agent: "em", instance: "em-1", control: CONTROL, emits: ["session.*"] },
    ])
    owner.send(eventOf({ session, type: "session.ended", seq: 1 }))
    await owner.settled()
    expect(await mine()).toHaveLength(1)
    await owner.close()
    await until(() => house.roster.claimants(session).length === 0)
    expect(await mine()).toEqual([])
    await reader.close()
  })

  test("is refused to an emitter, whose connection lives on", async () => {
    const emitter = await Client.greeted(house.url(), OWNER)
    expect(await emitter.ask({ type: "roster", id: "q" })).toMatchObject({ id: "q", code: "unauthorized" })
    expect(await emitter.settled()).toEqual([])
    await emitter.close()
  })
})

describe("control", () => {
  test("without the token is refused: neither the owner nor the history gets the command", async () => {
    const session = newSession()
    const owner = await ownerOf(session, watchOnly, "")
    const stranger = await Client.greeted(watchOnly.url(""), HELLO)
    const { id, text } = commandOf(session)
    expect(await stranger.ask(text)).toMatchObject({ type: "error", code: "unauthorized", cause: id })
    expect(await owner.settled()).toEqual([])
    const held = await watchOnly.history("from=all")
    expect(held).toContain(session)
    expect(held).not.toContain(id)
    await Promise.all([owner.close(), stranger.close()])
  })

  test("of a session that was only posted has no route, and leaves no trace", async () => {
    const session = newSession()
    for (const seq of [0, 1]) expect((await house.post(eventOf({ session, seq }))).status).toBe(202)
    const sender = await Client.greeted(house.url(), HELLO)
    const { id, text } = commandOf(session, "control.pause")
    expect(await sender.ask(text)).toMatchObject({ type: "error", code: "no-route", cause: id })
    const from = encodeURIComponent(JSON.stringify([{ session, seq: 0 }]))
    const filter = encodeURIComponent(JSON.stringify({ session }))
    const held = await house.history(`from=${from}&filter=${filter}`)
    const data = [...held.matchAll(/^data: (.*)$/gm)].map(([, line]) => JSON.parse(line ?? ""))
    expect(data).toMatchObject([{ session, seq: 1 }])
    await sender.close()
  })

  test("of a session that two claim goes to nobody, and to the one that is left once the other vanished", async () => {
    const session = newSession()
    const owner = await ownerOf(session, house)
    const rival = await RawClient.open(house.url())
    rival.send(OWNER, eventOf({ session }), { type: "ping", t: 1 })
    await rival.readUntil(({ type }) => type === "pong")
    const sender = await Client.greeted(house.url(), HELLO)
    expect(await sender.ask(commandOf(session).text)).toMatchObject({ code: "ambiguous" })
    expect(await owner.settled()).toEqual([])
    rival.vanish()
    await until(() => house.roster.claimants(session).length === 1)
    const { text } = commandOf(session)
    sender.send(text)
    expect(await owner.nextText()).toBe(text)
    await Promise.all([owner.close(), sender.close()])
  })

  test("of a type that the owner did not declare is refused on its behalf", async () => {
    const session = newSession()
    const owner = await ownerOf(session, house)
    const sender = await Client.greeted(house.url(), HELLO)
    const told = await sender.ask(commandOf(session, "control.pause").text)
    expect(told).toMatchObject({ code: "unsupported" })
    expect(await owner.settled()).toEqual([])
    await Promise.all([owner.close(), sender.close()])
  })
})

test("nothing of it was a fault of ours, and no connection is left", async () => {
  await until(() => house.door.size === 0 && watchOnly.door.size === 0)
  expect([...house.faults, ...watchOnly.faults]).toEqual([])
  expect(house.roster.size + watchOnly.roster.size).toBe(0)
  expect(house.hub.counts.subscriptions).toBe(0)
})
