/** What a WebSocket connection says (AEP-0003 §3.5, AEP-0004 §4): events of sessions it owns, and commands to others' owners. */
import { describe, expect, test } from "bun:test"
import { MAX_CLAIMS } from "../../service/hub/roster.ts"
import { eventOf, messageOf } from "./hub-events.ts"
import { BOTH, EMITTER, HELLO, OURS, PeerHouse } from "./hub-peer-house.ts"

const ACCEPTS = {
  capabilities: { control: { accepts: ["control.attention.respond", "x.acme.control.nudge"] } },
}
const OWNER = { ...EMITTER, ...ACCEPTS }

/** A command as its sender wrote it: members in an order of their own, and a space. */
function commandOf(members: Record<string, unknown> = {}): string {
  const type = "control.attention.respond"
  const text = messageOf({
    id: "C1",
    type,
    seq: undefined,
    data: { answer: { option: "a" } },
    ...members,
  }).text
  return text.replace('":', '" : ')
}

describe("an event", () => {
  test("of an emitter reaches subscribers byte for byte and claims its session", () => {
    const house = new PeerHouse()
    const reader = house.greeted()
    reader.asks({ type: "subscribe", id: "a" })
    const { text } = messageOf({ data: { n: 1.0, s: "ü\u2028" }, myext: true })
    const spaced = text.replace('":', '" :  ')
    expect(house.greeted(EMITTER).asks(spaced)).toEqual([])
    expect(reader.texts()).toEqual([spaced])
    expect(house.roster.claimants("s1")).toHaveLength(1)
  })

  test.each([
    ["lacks an id", { id: undefined }, undefined],
    ["has a seq below 0", { id: "E-a", seq: -1 }, "E-a"],
    ["has a null", { id: "E-b", run: null }, "E-b"],
    ["is of another version", { id: "E-c", aep: "9.9" }, "E-c"],
    ["is a command with a seq", { id: "E-d", type: "control.pause" }, "E-d"],
  ])("that %s is refused with its id where it has one, and stays out", (_, members, cause) => {
    const house = new PeerHouse()
    const line = house.greeted(EMITTER)
    const base: Record<string, unknown> = { ...eventOf(), ...members }
    expect(line.asks(base)).toEqual([
      {
        type: "error",
        code: "invalid-event",
        ...(cause === undefined ? {} : { cause }),
        detail: expect.any(String),
      },
    ])
    expect(house.published).toEqual([])
    expect(house.roster.size).toBe(0)
    expect(line.lives).toBe(true)
  })

  test.each([
    ["a sequenced one", {}],
    ["an acknowledgement, which only an owner speaks", { type: "control.accepted", cause: "C1" }],
    [
      "one of its agent",
      { type: "agent.heartbeat", session: undefined, seq: undefined, source: "aep://host/agent/test" },
    ],
  ])("from a consumer is refused: %s", (_, members) => {
    const house = new PeerHouse()
    const line = house.greeted()
    expect(line.asks(eventOf({ id: "E-z", ...members }))).toMatchObject([
      { type: "error", code: "unauthorized", cause: "E-z" },
    ])
    expect(house.published).toEqual([])
    expect(house.roster.size).toBe(0)
    expect(line.lives).toBe(true)
  })

  test.each([
    ["attention.routed, from anyone", HELLO, { type: "attention.routed", seq: undefined, subject: "R1" }],
    [
      "one of its agent, from an emitter",
      EMITTER,
      { type: "agent.heartbeat", session: undefined, seq: undefined, source: "aep://host/agent/test" },
    ],
  ])("enters without a claim: %s", (_, hello, members) => {
    const house = new PeerHouse()
    expect(house.greeted(hello).asks(eventOf(members))).toEqual([])
    expect(house.published).toHaveLength(1)
    expect(house.roster.size).toBe(0)
  })

  test("in a session of ours is refused, but attention.routed may enter there", () => {
    const house = new PeerHouse()
    const line = house.greeted(BOTH)
    expect(line.asks(eventOf({ id: "E-o", session: OURS }))).toMatchObject([
      { type: "error", code: "unauthorized", cause: "E-o" },
    ])
    expect(house.published).toEqual([])
    expect(house.roster.size).toBe(0)
    line.asks(eventOf({ type: "attention.routed", session: OURS, seq: undefined, subject: "R1" }))
    expect(house.published).toHaveLength(1)
  })
})

describe("a claim", () => {
  test("stands until its connection ends, session.ended or not", () => {
    const house = new PeerHouse()
    const line = house.greeted(EMITTER)
    line.says(eventOf({ type: "session.started" }), eventOf({ type: "session.ended", seq: 1 }))
    expect(house.roster.claimants("s1")).toHaveLength(1)
    line.peer.closed()
    expect(house.roster.claimants("s1")).toEqual([])
  })

  test("past the most that one connection may have is refused, and the event stays out", () => {
    const house = new PeerHouse()
    const line = house.greeted(EMITTER)
    for (let at = 0; at < MAX_CLAIMS; at += 1) line.peer.message(messageOf({ session: `s${at}` }).text)
    expect(line.asks(eventOf({ id: "E-over", session: "one-more" }))).toMatchObject([
      {
        type: "error",
        code: "limit-exceeded",
        cause: "E-over",
        detail: expect.stringContaining(`${MAX_CLAIMS}`),
      },
    ])
    expect(line.asks(eventOf({ session: "s5", seq: 1 }))).toEqual([])
    expect(house.published).toHaveLength(MAX_CLAIMS + 1)
  })
})

describe("a command", () => {
  test.each([
    ["control.attention.respond", HELLO],
    ["x.acme.control.nudge", EMITTER],
  ])("%s goes to the owner byte for byte, and to whoever reads", (type, sender) => {
    const house = new PeerHouse()
    const [owner, other, reader] = [house.greeted(OWNER), house.greeted(OWNER), house.greeted()]
    owner.says(eventOf())
    other.says(eventOf({ session: "s2" }))
    reader.asks({ type: "subscribe", id: "a" })
    const text = commandOf({ type })
    expect(house.greeted(sender).asks(text)).toEqual([])
    expect(owner.texts()).toEqual([text])
    expect(other.texts()).toEqual([])
    expect(reader.texts()).toEqual([text])
  })

  test("that was delivered is in the session's history", () => {
    const house = new PeerHouse()
    house.greeted(OWNER).says(eventOf())
    const text = commandOf()
    house.greeted().says(text)
    const late = house.greeted()
    late.says({ type: "subscribe", id: "a", from: "all" })
    expect(late.texts().at(-1)).toBe(text)
  })

  test("claims nothing", () => {
    const house = new PeerHouse()
    house.greeted(OWNER).says(eventOf())
    house.greeted(BOTH).says(commandOf())
    expect(house.roster.claimants("s1")).toHaveLength(1)
  })

  test("is not dropped for an owner that reads slowly, be it of severity debug", () => {
    const house = new PeerHouse({ softBytes: 200, hardBytes: 100_000 })
    const owner = house.greeted(OWNER)
    owner.says(eventOf())
    owner.isStalled = true
    const sender = house.greeted()
    const texts = [1, 2, 3, 4].map((at) => commandOf({ id: `C${at}`, severity: "debug" }))
    sender.says(...texts)
    owner.reads()
    expect(owner.texts()).toEqual(texts)
  })

  test.each([
    ["nobody claims", "no-route", 0, {}, true],
    ["two claim", "ambiguous", 2, {}, true],
    ["an owner does not take the type", "unsupported", 1, { type: "control.pause", data: {} }, true],
    ["nobody authenticated sends it", "unauthorized", 1, {}, false],
  ])(
    "where %s is refused to its sender alone and leaves no trace",
    (_, code, claims, members, isAuthenticated) => {
      const house = new PeerHouse()
      const owners = Array.from({ length: claims }, () => house.greeted(OWNER))
      for (const owner of owners) owner.says(eventOf())
      const reader = house.greeted()
      reader.asks({ type: "subscribe", id: "a" })
      const published = house.published.length
      const sender = house.greeted(HELLO, isAuthenticated)
      expect(sender.asks(commandOf(members))).toEqual([
        { type: "error", code, cause: "C1", detail: expect.any(String) },
      ])
      expect(house.published).toHaveLength(published)
      for (const line of [...owners, reader]) expect(line.heard()).toEqual([])
      const late = house.greeted()
      expect(JSON.stringify(late.asks({ type: "subscribe", id: "b", from: "all" }))).not.toContain("C1")
      expect(sender.lives).toBe(true)
    },
  )

  test("finds no route once the owner is gone, and one again when one of two is", () => {
    const house = new PeerHouse()
    const [first, second, sender] = [house.greeted(OWNER), house.greeted(OWNER), house.greeted()]
    for (const owner of [first, second]) owner.says(eventOf())
    expect(sender.asks(commandOf())).toMatchObject([{ code: "ambiguous" }])
    first.peer.closed()
    expect(sender.asks(commandOf({ id: "C2" }))).toEqual([])
    expect(second.heard()).toMatchObject([{ id: "C2" }])
    second.peer.closed()
    expect(sender.asks(commandOf({ id: "C3" }))).toMatchObject([{ code: "no-route", cause: "C3" }])
  })

  test("in a session of ours may be sent by whoever is authenticated", () => {
    const house = new PeerHouse()
    const taken: string[] = []
    house.roster.claim(OURS, {
      agent: "opencode",
      instance: "i",
      control: { accepts: ["control.attention.respond"] },
      emits: undefined,
      take: ({ text }) => void taken.push(text),
    })
    const text = commandOf({ session: OURS })
    expect(house.greeted().asks(text)).toEqual([])
    expect(taken).toEqual([text])
  })
})
