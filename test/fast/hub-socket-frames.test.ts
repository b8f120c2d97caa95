/**
 * What `/socket` makes of frames as bytes: in pieces, of any length, too large, or not text at all. The runtime takes
 * them apart; this holds it to what the protocol relies on. Over bare TCP, since the runtime's own client cannot send
 * these.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { suitePort } from "../ports.ts"
import { HELLO } from "./hub-peer-house.ts"
import { Client, RawClient } from "./hub-socket-client.ts"
import { MAX_FRAME, SocketHouse } from "./hub-socket-house.ts"

const TEXT = 1
const BINARY = 2
const MORE = 0
const PING = 9
const LAST = 0x80
const MASK = Buffer.from([1, 2, 3, 4])

let house: SocketHouse
beforeAll(() => {
  house = new SocketHouse({ port: suitePort("hub", 2) })
})
afterAll(() => house.close())

/** A frame of a client; `first` is its first byte. `length` is what it says of itself, where that is not the truth. */
function frameOf(first: number, payload: string | Uint8Array, length?: number): Buffer {
  const bytes = Buffer.from(payload)
  const size = length ?? bytes.length
  const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10)
  head[0] = first
  head[1] = 0x80 | (size < 126 ? size : size < 65_536 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(size, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2)
  return Buffer.concat([head, MASK, bytes.map((byte, at) => byte ^ (MASK[at % 4] ?? 0))])
}

/** A connection whose hello was answered. */
async function greeted(): Promise<RawClient> {
  const client = await RawClient.open(house.url())
  client.send(HELLO)
  await client.readUntil(({ type }) => type === "hello")
  client.socket.removeAllListeners("data")
  return client
}

/** All bytes up to the connection's end. */
async function rest({ socket }: RawClient): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on("data", (bytes) => chunks.push(Buffer.from(bytes)))
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.once("close", () => resolve())
  socket.resume()
  await promise
  return Buffer.concat(chunks)
}

/** Bytes as text, up to the first that end so. */
function upTo({ socket }: RawClient, end: string): Promise<string> {
  let got = Buffer.alloc(0)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  socket.on("data", (bytes) => {
    got = Buffer.concat([got, Buffer.from(bytes)])
    if (got.toString().endsWith(end)) resolve(got.toString())
  })
  socket.once("close", () => reject(new Error("the connection ended")))
  socket.resume()
  return promise
}

/** The code of the close frame that these bytes end with; absent where there is none. */
function closeCodeOf(bytes: Buffer): number | undefined {
  const at = bytes.lastIndexOf(0x88)
  return at === -1 ? undefined : bytes.readUInt16BE(at + 2)
}

const pingOf = (t: string): string => JSON.stringify({ type: "ping", t })

test("a text in pieces is one frame, wherever it is cut and whatever comes between", async () => {
  const client = await greeted()
  const bytes = Buffer.from(pingOf("a é 😀"))
  const inside = bytes.indexOf("😀") + 2
  client.socket.write(
    Buffer.concat([
      frameOf(TEXT, bytes.subarray(0, 5)),
      frameOf(LAST | PING, "alive?"),
      frameOf(MORE, bytes.subarray(5, inside)),
      frameOf(MORE, ""),
      frameOf(LAST | MORE, bytes.subarray(inside)),
    ]),
  )
  const answer = await upTo(client, "}")
  expect(answer).toContain("alive?")
  expect(answer).toEndWith('{"type":"pong","t":"a é 😀"}')
  client.vanish()
})

test("a frame that comes byte by byte is taken when it is whole", async () => {
  const client = await greeted()
  client.socket.setNoDelay(true)
  for (const byte of frameOf(LAST | TEXT, pingOf("slow"))) client.socket.write(Buffer.from([byte]))
  expect(await client.readUntil(({ type }) => type === "pong")).toEqual([{ type: "pong", t: "slow" }])
  client.vanish()
})

test("a frame of 80 kB and those behind it in the same write are taken in order", async () => {
  const client = await greeted()
  const from = Array.from({ length: 1024 }, (_, seq) => ({
    session: `${"s".repeat(48)}${seq}`,
    epoch: 0,
    seq,
  }))
  const subscribe = JSON.stringify({ type: "subscribe", id: "long", from })
  expect(subscribe.length).toBeGreaterThan(80_000)
  client.socket.write(
    Buffer.concat([frameOf(LAST | TEXT, subscribe), frameOf(LAST | TEXT, pingOf("behind"))]),
  )
  const told = await client.readUntil(({ type }) => type === "pong")
  expect(told).toEqual([
    { type: "subscribed", id: "long" },
    { type: "pong", t: "behind" },
  ])
  client.vanish()
})

test.each([
  ["in one frame, before its bytes came", [frameOf(LAST | TEXT, "", MAX_FRAME + 1)]],
  [
    "in pieces",
    Array.from({ length: 5 }, (_, at) => frameOf(at === 0 ? TEXT : MORE, "x".repeat(MAX_FRAME / 4))),
  ],
])("more than may come %s ends the connection, and another goes on", async (_, frames) => {
  const other = await Client.greeted(house.url(), HELLO)
  const client = await greeted()
  client.socket.write(Buffer.concat(frames))
  const bytes = await rest(client)
  expect(closeCodeOf(bytes)).toBe(1009)
  expect(await other.settled()).toEqual([])
  await other.close()
})

test("a binary frame ends the connection with 1003, behind its answer", async () => {
  const client = await greeted()
  client.socket.write(frameOf(LAST | BINARY, pingOf("bytes")))
  const bytes = await rest(client)
  expect(bytes.toString()).toContain('"code":"invalid-frame"')
  expect(closeCodeOf(bytes)).toBe(1003)
})

test("a text that is no UTF-8 ends the connection, and nothing of it is taken", async () => {
  const client = await greeted()
  client.socket.write(
    frameOf(
      LAST | TEXT,
      Buffer.concat([Buffer.from('{"type":"ping","t":"'), Buffer.from([0xff]), Buffer.from('"}')]),
    ),
  )
  const bytes = await rest(client)
  expect(bytes.toString()).not.toContain("pong")
  expect(closeCodeOf(bytes)).toBe(1007)
})

test("nothing of it was a fault of ours, and no connection is left", async () => {
  while (house.door.size > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(house.faults).toEqual([])
  expect([house.roster.size, house.hub.counts.subscriptions]).toEqual([0, 0])
})
