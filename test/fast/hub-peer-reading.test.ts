/** What a WebSocket connection reads (AEP-0003 §4.1, §5, §6.5): subscriptions, replay and the roster. */
import { describe, expect, test } from "bun:test"
import { messageOf, row } from "./hub-events.ts"
import { BOTH, EMITTER, type Line, PeerHouse } from "./hub-peer-house.ts"

/** Types and what tells them apart, of what a line heard. */
function outline(line: Line): [unknown, unknown][] {
  return line.heard().map(({ type, id, sub, seq }) => [type, seq ?? sub ?? id])
}

describe("a subscription", () => {
  test("is answered first, then come its marks, what is held, and what happens", () => {
    const house = new PeerHouse({}, 3)
    house.publish(row(0, 5))
    const line = house.greeted()
    const from = [{ session: "s1", seq: 0 }]
    line.peer.message(JSON.stringify({ type: "subscribe", id: "a", from }))
    house.publish(row(6, 6))
    expect(outline(line)).toEqual([
      ["subscribed", "a"],
      ["replay-exhausted", "a"],
      ["tool.completed", 3],
      ["tool.completed", 4],
      ["tool.completed", 5],
      ["tool.completed", 6],
    ])
  })

  test("is told the earliest position that is held, when events before it are gone", () => {
    const house = new PeerHouse({}, 3)
    house.publish(row(0, 5, { epoch: 2 }))
    const line = house.greeted()
    const told = line.asks({ type: "subscribe", id: "a", from: [{ session: "s1", epoch: 2, seq: 0 }] })
    expect(told[1]).toEqual({
      type: "replay-exhausted",
      sub: "a",
      session: "s1",
      earliest: { epoch: 2, seq: 3 },
    })
  })

  test("without from begins with what happens next", () => {
    const house = new PeerHouse()
    house.publish(row(0, 1))
    const line = house.greeted()
    expect(line.asks({ type: "subscribe", id: "a" })).toEqual([{ type: "subscribed", id: "a" }])
    house.publish(row(2, 2))
    expect(outline(line)).toEqual([["tool.completed", 2]])
  })

  test("from all begins with all that is held, without a mark, and stays live", () => {
    const house = new PeerHouse({}, 2)
    house.publish([...row(0, 5), ...row(0, 1, { session: "s2" })])
    const line = house.greeted()
    line.says({ type: "subscribe", id: "a", from: "all" })
    house.publish(row(6, 6))
    expect(outline(line).map(([, what]) => what)).toEqual(["a", 4, 5, 0, 1, 6])
  })

  test("gives events byte for byte as they came, and under a ceiling without what is above it", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.asks({ type: "subscribe", id: "raw", filter: { type: "run.*" } })
    const text =
      `{ "seq":0, "data":{"prompt":"hi\\u0041","trigger":"user"},"aep":"0.1","id":"r", "capture":"redacted",
      "type":"run.started","time":"2026-12-01T00:00:00Z","source":"aep://h/agent/t","agent":"t","session":"s9"}`.replace(
        /\n/g,
        "",
      )
    house.greeted(EMITTER).says(text)
    expect(line.texts()).toEqual([text])
    const low = house.greeted()
    const told = low.asks({ type: "subscribe", id: "low", from: "all", capture: "metadata" })
    expect(told[1]).toMatchObject({ id: "r", capture: "metadata", data: { trigger: "user" } })
    expect(JSON.stringify(told)).not.toContain("hi")
  })

  test("is one of several, each of which delivers what it matches", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.asks(
      { type: "subscribe", id: "a", filter: { session: "s1" } },
      { type: "subscribe", id: "b", filter: { session: ["s1", "s2"] } },
    )
    house.publish([messageOf({ seq: 1 }), messageOf({ session: "s2", seq: 2 }), messageOf({ session: "s3" })])
    expect(outline(line).map(([, seq]) => seq)).toEqual([1, 1, 2])
  })

  test("may resume 1024 sessions at once", () => {
    const line = new PeerHouse().greeted()
    const from = Array.from({ length: 1024 }, (_, seq) => ({
      session: `${"s".repeat(40)}${seq}`,
      epoch: 0,
      seq,
    }))
    const frame = JSON.stringify({ type: "subscribe", id: "a", from })
    expect(frame.length).toBeGreaterThan(75_000)
    expect(line.asks(frame)).toEqual([{ type: "subscribed", id: "a" }])
  })
})

describe("a subscription that is refused", () => {
  const many = Array.from({ length: 1025 }, (_, seq) => ({ session: "s", seq }))

  test.each([
    [
      "a filter on an attribute that cannot be filtered",
      { filter: { time: "now" } },
      "invalid-filter",
      /^filter/,
    ],
    ["a filter that is no object", { filter: [] }, "invalid-filter", /filter/],
    ["a from that is neither all nor an array", { from: {} }, "invalid-filter", /^from/],
    ["a position without seq", { from: [{ session: "s" }] }, "invalid-filter", /^from\[0\]/],
    ["more positions than are taken", { from: many }, "limit-exceeded", /1024/],
    ["an unknown capture level", { capture: "everything" }, "invalid-filter", /^capture/],
    ["a capture level that is no text", { capture: null }, "invalid-filter", /^capture/],
    ["an id of any length", { id: "i".repeat(257) }, "limit-exceeded", /^id.*256/],
    ["no text as id", { id: 7 }, "invalid-filter", /^id/],
    ["an empty id", { id: "" }, "invalid-filter", /^id/],
    ["an id in use", { id: "old" }, "limit-exceeded", /^id/],
  ])("for %s names the fault with its id, and disturbs no other", (_, members, code, detail) => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.asks({ type: "subscribe", id: "old", filter: { session: "s1" } })
    const frame = { type: "subscribe", id: "new", ...members }
    expect(line.asks(frame)).toEqual([
      { type: "error", code, id: frame.id, detail: expect.stringMatching(detail) },
    ])
    house.publish([messageOf({ seq: 1 }), messageOf({ session: "s2", seq: 2 })])
    expect(outline(line)).toEqual([["tool.completed", 1]])
    expect(line.closes).toEqual([])
  })

  test("for want of an id names no id", () => {
    expect(new PeerHouse().greeted().asks({ type: "subscribe" })).toEqual([
      { type: "error", code: "invalid-filter", detail: expect.stringMatching(/^id/) },
    ])
  })

  test("because its connection is an emitter's only", () => {
    const line = new PeerHouse().greeted(EMITTER)
    expect(line.asks({ type: "subscribe", id: "a" })).toMatchObject([
      { type: "error", id: "a", code: "unauthorized" },
    ])
    expect(line.lives).toBe(true)
    expect(new PeerHouse().greeted(BOTH).asks({ type: "subscribe", id: "a" })).toEqual([
      { type: "subscribed", id: "a" },
    ])
  })

  test("because there are too many names the bound; one that ended makes room", () => {
    const line = new PeerHouse({ maxSubscriptions: 2 }).greeted()
    line.asks({ type: "subscribe", id: "a" }, { type: "subscribe", id: "b" })
    expect(line.asks({ type: "subscribe", id: "c" })).toEqual([
      { type: "error", id: "c", code: "limit-exceeded", detail: expect.stringMatching(/at most 2/) },
    ])
    line.asks({ type: "unsubscribe", id: "a" })
    expect(line.asks({ type: "subscribe", id: "c" })).toEqual([{ type: "subscribed", id: "c" }])
  })

  test("because what ended ones have still to be given takes the room, when nobody reads", () => {
    const house = new PeerHouse({ maxSubscriptions: 2 })
    house.publish(row(0, 9))
    const line = house.greeted()
    line.isStalled = true
    for (const id of ["a", "b", "c"]) {
      line.says({ type: "subscribe", id, from: "all" }, { type: "unsubscribe", id })
    }
    line.reads()
    const told = line
      .heard()
      .flatMap(({ type, id, code }) => (type === "tool.completed" ? [] : [[type, id, code]]))
    expect(told).toEqual([
      ["subscribed", "a", undefined],
      ["unsubscribed", "a", undefined],
      ["subscribed", "b", undefined],
      ["unsubscribed", "b", undefined],
      ["error", "c", "limit-exceeded"],
      ["unsubscribed", "c", undefined],
    ])
    expect(line.asks({ type: "subscribe", id: "c" })).toEqual([{ type: "subscribed", id: "c" }])
  })
})

describe("unsubscribe", () => {
  test("comes behind the last event, and other subscriptions go on", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.asks({ type: "subscribe", id: "a" }, { type: "subscribe", id: "b", filter: { session: "s2" } })
    house.hub.publish(row(0, 0))
    line.says({ type: "unsubscribe", id: "a" })
    house.publish([messageOf({ seq: 1 }), messageOf({ session: "s2", seq: 2 })])
    expect(outline(line)).toEqual([
      ["tool.completed", 0],
      ["unsubscribed", "a"],
      ["tool.completed", 2],
    ])
  })

  test("of an unknown id is answered all the same, for nothing of that name is subscribed", () => {
    expect(new PeerHouse().greeted().asks({ type: "unsubscribe", id: "never" })).toEqual([
      { type: "unsubscribed", id: "never" },
    ])
  })

  test("without a text as id is refused", () => {
    expect(new PeerHouse().greeted().asks({ type: "unsubscribe", id: 4 })).toMatchObject([
      { type: "error", code: "invalid-filter", id: 4 },
    ])
  })

  test("frees the name, and how far it was served is not told at the end", () => {
    const house = new PeerHouse()
    house.publish(row(0, 3))
    const line = house.greeted()
    line.says(
      { type: "subscribe", id: "a", from: "all" },
      { type: "unsubscribe", id: "a" },
      { type: "subscribe", id: "a", filter: { session: "s2" } },
      { type: "subscribe", id: "b", filter: { session: "s2" } },
      { type: "unsubscribe", id: "b" },
    )
    house.publish([messageOf({ session: "s2", seq: 8 })])
    line.heard()
    line.peer.end("stopping")
    expect(line.heard()).toMatchObject([
      { type: "closing", delivered: [{ sub: "a", session: "s2", epoch: 0, seq: 8 }] },
    ])
  })
})

describe("the roster", () => {
  const control = { accepts: ["control.attention.respond"], ack_window_ms: 10_000, x: { y: 1 } }

  test("shows each claim as its connection's hello declared it, whatever the events say", () => {
    const house = new PeerHouse()
    const emits = ["session.*", "tool.*"]
    const owner = house.greeted({ ...EMITTER, capabilities: { control, emits } })
    owner.says(messageOf({ agent: "another" }).text, messageOf({ seq: 1 }).text)
    const bare = house.greeted({ ...BOTH, identity: { agent: "bare" } })
    bare.says(messageOf({ session: "s1", seq: 7 }).text)
    expect(house.greeted().asks({ type: "roster", id: "q1" })).toEqual([
      {
        type: "roster",
        id: "q1",
        entries: [
          { session: "s1", agent: "em", instance: "em-1", control, emits },
          { session: "s1", agent: "bare" },
        ],
      },
    ])
  })

  test("is empty where nobody claims anything, known from history or not", () => {
    const house = new PeerHouse()
    house.publish(row(0, 3))
    expect(house.greeted().asks({ type: "roster", id: 0 })).toEqual([{ type: "roster", id: 0, entries: [] }])
  })

  test("is refused to an emitter, whose connection lives on", () => {
    const line = new PeerHouse().greeted(EMITTER)
    expect(line.asks({ type: "roster", id: "q" })).toMatchObject([
      { type: "error", id: "q", code: "unauthorized" },
    ])
    expect(line.lives).toBe(true)
  })

  test("without an id is refused", () => {
    expect(new PeerHouse().greeted().asks({ type: "roster" })).toMatchObject([
      { type: "error", code: "invalid-frame" },
    ])
  })
})
