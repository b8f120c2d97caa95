/**
 * One WebSocket connection as a protocol (AEP-0003 §3.5, §4): hello, and frames that are odd. How it ends, what it reads and
 * what it says have files of their own beside this.
 */
import { describe, expect, test } from "bun:test"
import { eventOf } from "./hub-events.ts"
import { EMITTER, HELLO, PeerHouse, SERVER } from "./hub-peer-house.ts"

/** Deeper than the program's stack. */
const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`

describe("hello comes first", () => {
  test.each([
    ["an event", JSON.stringify(eventOf())],
    ["a frame of another type", '{"type":"subscribe","id":"a"}'],
    ["a frame of an unknown type", '{"type":"zigzag"}'],
    ["no JSON", "hello"],
    ["a text that is a hello in an array", '[{"type":"hello","versions":["0.1"]}]'],
  ])("%s instead is answered and ends the connection", (_, text) => {
    const line = new PeerHouse().open()
    expect(line.asks(text, HELLO)).toEqual([
      { type: "error", code: "hello-required", detail: expect.any(String) },
    ])
    expect(line.closes).toEqual([{ code: 1008, reason: "hello-required" }])
  })

  test("the one version that both speak is chosen, and the server says what it is", () => {
    const line = new PeerHouse().open()
    expect(line.asks({ ...HELLO, versions: ["9.9", "0.1"] })).toEqual([
      { type: "hello", versions: ["0.1"], ...SERVER },
    ])
  })

  test.each([[["9.9"]], [[]], ["0.1"], [undefined], [null]])(
    "versions %j are refused with those that are spoken",
    (versions) => {
      const line = new PeerHouse().open()
      expect(line.asks({ type: "hello", versions })).toMatchObject([
        { type: "error", code: "version-unsupported", versions: ["0.1"] },
      ])
      expect(line.closes).toHaveLength(1)
    },
  )

  test.each([
    ["an emitter that names no agent", { role: "emitter" }, /^identity\.agent/],
    ["a party of both roles that names no agent", { role: "both", identity: { instance: "i" } }, /^identity/],
    ["an agent without a name", { role: "emitter", identity: { agent: "" } }, /^identity\.agent/],
    ["an unknown role", { role: "owner" }, /^role/],
    ["an identity that is no object", { identity: "me" }, /^identity/],
    [
      "a block that the roster could not repeat",
      { ...EMITTER, capabilities: { emits: ["x".repeat(20_000)] } },
      /^identity, capabilities/,
    ],
  ])("%s is refused by the member at fault, and the connection ends", (_, members, detail) => {
    const line = new PeerHouse().open()
    expect(line.asks({ ...HELLO, ...members })).toEqual([
      { type: "error", code: "invalid-hello", detail: expect.stringMatching(detail) },
    ])
    expect(line.closes).toEqual([{ code: 1008, reason: "invalid-hello" }])
  })

  test("unknown capabilities and members are passed over", () => {
    const line = new PeerHouse().open()
    const hello = { ...HELLO, capabilities: { telepathy: { depth: 9 }, control: "odd" }, mood: "good" }
    expect(line.asks(hello)).toMatchObject([{ type: "hello" }])
  })

  test("what is sent behind it, before its answer came, is done in order", () => {
    const line = new PeerHouse().open()
    const told = line.asks(
      HELLO,
      { type: "ping", t: 1 },
      { type: "subscribe", id: "a" },
      { type: "ping", t: 2 },
    )
    expect(told.map(({ type, t, id }) => [type, t ?? id])).toEqual([
      ["hello", undefined],
      ["pong", 1],
      ["subscribed", "a"],
      ["pong", 2],
    ])
  })

  test("a second one is refused and changes nothing", () => {
    const line = new PeerHouse().greeted()
    expect(line.asks(EMITTER)).toMatchObject([{ type: "error", code: "invalid-frame" }])
    expect(line.asks(eventOf({ id: "E-x" }))).toMatchObject([{ code: "unauthorized", cause: "E-x" }])
  })

  test("whoever says none for ten seconds is told and let go", () => {
    const house = new PeerHouse()
    const [silent, greeted] = [house.open(), house.greeted()]
    house.pass(9)
    expect(silent.closes).toEqual([])
    house.pass(1)
    expect(silent.heard()).toMatchObject([{ type: "error", code: "hello-required" }])
    expect(silent.closes).toHaveLength(1)
    expect(greeted.lives).toBe(true)
  })
})

describe("odd frames", () => {
  test.each([
    ["no JSON", "{"],
    ["an empty text", ""],
    ["an array", "[]"],
    ["a number", "1"],
    ["no type", '{"id":"a"}'],
    ["a type that is no text", '{"type":7}'],
  ])("%s is answered, and the connection serves on", (_, text) => {
    const line = new PeerHouse().greeted()
    expect(line.asks(text)).toMatchObject([{ type: "error", code: "invalid-frame" }])
    expect(line.lives).toBe(true)
  })

  test.each(["zigzag", "subscribed", "replay-exhausted", "pong", "closing", "error", "__proto__"])(
    "a frame %s is passed over without a word",
    (type) => {
      const line = new PeerHouse().greeted()
      expect(line.asks({ type, id: "a" }, { type: "ping", t: 3 })).toEqual([{ type: "pong", t: 3 }])
    },
  )

  test.each([
    ["a ping", `{"type":"ping","t":${DEEP}}`],
    ["a roster request", `{"type":"roster","id":${DEEP}}`],
    ["a subscription", `{"type":"subscribe","id":${DEEP}}`],
    ["a filter", `{"type":"subscribe","id":"a","filter":{"type":${DEEP}}}`],
  ])("%s that nests too deep to be written again is refused", (_, text) => {
    const line = new PeerHouse().greeted()
    expect(line.asks(text)).toMatchObject([{ type: "error", code: "invalid-frame" }])
    expect(line.lives).toBe(true)
  })

  test("a hello that nests too deep is no hello", () => {
    const line = new PeerHouse().open()
    line.says(`{"type":"hello","versions":["0.1"],"capabilities":{"emits":${DEEP}}}`)
    expect(line.heard()).toMatchObject([{ code: "hello-required" }])
  })

  test.each([["before"], ["after"]])("a binary frame %s hello ends the connection", (when) => {
    const house = new PeerHouse()
    const line = when === "before" ? house.open() : house.greeted()
    expect(line.asks(new Uint8Array([123, 125]))).toMatchObject([{ type: "error", code: "invalid-frame" }])
    expect(line.closes).toEqual([{ code: 1003, reason: "invalid-frame" }])
  })

  test("that ends the connection is answered behind what came before it", () => {
    const line = new PeerHouse().greeted()
    expect(line.asks({ type: "ping", t: 1 }, new Uint8Array(2))).toMatchObject([
      { type: "pong", t: 1 },
      { type: "error" },
    ])
  })

  test.each([[0], [""], [null], [false], [{ a: [1] }]])("a ping's t %j comes back as it was", (t) => {
    expect(new PeerHouse().greeted().asks({ type: "ping", t })).toEqual([{ type: "pong", t }])
  })

  test("a ping without t has a pong without t", () => {
    expect(new PeerHouse().greeted().asks({ type: "ping" })).toEqual([{ type: "pong" }])
  })
})
