/**
 * How a WebSocket connection ends (AEP-0003 §3.5, §8.4): by silence, by a reader that does not keep up, by the service's own
 * end; and that nothing is left of it.
 */
import { describe, expect, test } from "bun:test"
import { eventOf, messageOf, row } from "./hub-events.ts"
import { BOTH, type Line, PeerHouse } from "./hub-peer-house.ts"

describe("silence", () => {
  /** Seconds until the server let the line go. */
  function secondsUntilClosed(house: PeerHouse, line: Line, each: () => void = () => undefined): number {
    for (let second = 1; second <= 300; second += 1) {
      house.pass(1)
      each()
      if (line.closes.length > 0) return second
    }
    return Number.POSITIVE_INFINITY
  }

  test("we ping every 30 s, and give up on a client that says nothing for 90 s, never sooner", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    house.pass(9)
    line.says({ type: "pong" })
    const after = secondsUntilClosed(house, line)
    expect(after).toBeGreaterThanOrEqual(90)
    expect(after).toBeLessThanOrEqual(100)
    expect(line.heard().map(({ type }) => type)).toEqual(["ping", "ping", "ping", "closing"])
    expect(line.closes).toEqual([{ code: 1001, reason: "no sign of life" }])
  })

  test("a client that answers stays", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    const answer = () => {
      for (const { type, t } of line.heard()) if (type === "ping") line.says({ type: "pong", t })
    }
    expect(secondsUntilClosed(house, line, answer)).toBe(Number.POSITIVE_INFINITY)
  })

  test("one that reads a long backlog slowly stays, though our ping has not reached it", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.isStalled = true
    expect(secondsUntilClosed(house, line, () => line.peer.drained())).toBe(Number.POSITIVE_INFINITY)
  })
})

describe("a reader that does not keep up", () => {
  const bounds = { softBytes: 2000, hardBytes: 6000 }
  const pad = (length: number) => ({ data: { pad: "x".repeat(length) } })

  test("is told how far it was served and let go, while one beside it gets everything", () => {
    const house = new PeerHouse(bounds)
    const [slow, quick] = [house.greeted(), house.greeted()]
    for (const line of [slow, quick]) line.asks({ type: "subscribe", id: "a" })
    const events = row(0, 29, { severity: "notice", ...pad(500) })
    house.publish(events.slice(0, 2))
    expect(slow.heard()).toHaveLength(2)
    slow.isStalled = true
    for (const event of events.slice(2)) house.publish([event])
    expect(slow.heard()).toEqual([
      { type: "closing", reason: "too slow", delivered: [{ sub: "a", session: "s1", epoch: 0, seq: 1 }] },
    ])
    expect(slow.closes).toEqual([{ code: 1013, reason: "too slow" }])
    expect(quick.texts()).toEqual(events.map(({ text }) => text))
    expect(house.hub.counts.subscriptions).toBe(1)
  })

  test("loses debug and info first, and nothing else", () => {
    const house = new PeerHouse(bounds)
    const line = house.greeted()
    line.asks({ type: "subscribe", id: "a" })
    line.isStalled = true
    const events = Array.from({ length: 20 }, (_, seq) =>
      messageOf({ seq, severity: seq % 5 === 0 ? "notice" : "debug", ...pad(500) }),
    )
    house.publish(events)
    expect(line.closes).toEqual([])
    line.reads()
    const seqs = line.heard().map(({ seq }) => Number(seq))
    expect(seqs.filter((seq) => seq % 5 === 0)).toEqual([0, 5, 10, 15])
    expect(seqs.length).toBeLessThan(10)
  })

  test("is handed no more once something has to wait, and never more than a MiB before it takes some", () => {
    const house = new PeerHouse({ softBytes: 10_000_000, hardBytes: 10_000_000 })
    const line = house.greeted()
    line.asks({ type: "subscribe", id: "a" })
    line.hasToWait = true
    const events = row(0, 299, pad(10_000))
    house.publish(events.slice(0, 100))
    expect(line.texts()).toHaveLength(1)
    let handed = 0
    for (const event of events.slice(100)) {
      house.publish([event])
      handed += line.texts().join("").length
    }
    expect(handed).toBeGreaterThan(900_000)
    expect(handed).toBeLessThan(1_100_000)
    line.reads()
    expect(line.heard().at(-1)).toMatchObject({ seq: 299 })
  })

  test("is let go when its backlog does not move for 30 s", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.asks({ type: "subscribe", id: "a" })
    line.isStalled = true
    house.publish(row(0, 0))
    // It talks, and takes nothing.
    for (let second = 0; second < 29; second += 1) {
      house.pass(1)
      line.says({ type: "pong" })
    }
    expect(line.closes).toEqual([])
    house.pass(12)
    expect(line.closes).toEqual([{ code: 1013, reason: "too slow" }])
    expect(line.heard()).toEqual([{ type: "closing", reason: "too slow", delivered: [] }])
  })

  test("is not one whose queue just holds something new whenever it is looked at", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.asks({ type: "subscribe", id: "a" })
    for (let seq = 0; seq < 8; seq += 1) {
      line.says({ type: "pong" })
      house.hub.publish(row(seq, seq))
      house.clock.advance(10_000)
      house.endTurn()
    }
    expect(line.closes).toEqual([])
  })
})

describe("the end", () => {
  test("of the service says how far each subscription was served", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.says({ type: "subscribe", id: "a" }, { type: "subscribe", id: "b", filter: { session: "s2" } })
    house.publish([...row(0, 4), messageOf({ session: "s2", epoch: 3, seq: 0 })])
    line.heard()
    line.peer.end("stopping")
    line.peer.end("stopping")
    expect(line.heard()).toEqual([
      {
        type: "closing",
        reason: "stopping",
        delivered: [
          { sub: "a", session: "s1", epoch: 0, seq: 4 },
          { sub: "a", session: "s2", epoch: 3, seq: 0 },
          { sub: "b", session: "s2", epoch: 3, seq: 0 },
        ],
      },
    ])
    expect(line.closes).toEqual([{ code: 1001, reason: "stopping" }])
  })

  test("gives what is queued first", () => {
    const house = new PeerHouse()
    const line = house.greeted()
    line.asks({ type: "subscribe", id: "a" })
    house.hub.publish(row(7, 7))
    line.peer.end("stopping")
    expect(line.heard()).toMatchObject([{ seq: 7 }, { type: "closing", delivered: [{ seq: 7 }] }])
  })

  test("leaves no timer, claim or subscription, whoever began it and however often it is told", () => {
    const house = new PeerHouse()
    const [gone, ended, refused, early] = [
      house.greeted(BOTH),
      house.greeted(BOTH),
      house.open(),
      house.open(),
    ]
    for (const line of [gone, ended]) line.says({ type: "subscribe", id: "a" }, eventOf())
    expect(house.roster.size).toBe(2)
    refused.says("{}")
    ended.peer.end("stopping")
    for (const { peer } of [gone, gone, ended, refused, early]) peer.closed()
    expect(house.clock.waiting).toBe(0)
    expect(house.roster.size).toBe(0)
    expect(house.hub.counts.subscriptions).toBe(0)
  })

  test("comes once, when the socket turns out to be gone while something is told, an error included", () => {
    const house = new PeerHouse()
    const [told, refused] = [house.greeted(BOTH), house.greeted(BOTH)]
    for (const line of [told, refused]) line.says(eventOf())
    told.isGone = true
    told.says({ type: "ping", t: 1 })
    refused.isGone = true
    refused.peer.message('{"type":"ping","t":1}')
    refused.says(new Uint8Array(2))
    expect([told.closes.length, refused.closes.length]).toEqual([1, 1])
    expect(house.roster.size).toBe(0)
    expect(house.clock.waiting).toBe(0)
  })

  test("is final: nothing is taken or sent behind it", () => {
    const house = new PeerHouse()
    const line = house.greeted(BOTH)
    line.asks({ type: "subscribe", id: "a" })
    line.peer.closed()
    line.says(eventOf(), { type: "ping", t: 1 })
    house.publish(row(0, 3))
    line.peer.drained()
    expect(line.heard()).toEqual([])
    expect(house.published).toEqual([])
    expect(line.closes).toEqual([])
  })
})
