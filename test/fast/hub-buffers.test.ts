/** Replay buffers (AEP-0003 §5, §7): order, what is too old, and what goes first. */
import { describe, expect, test } from "bun:test"
import { type BufferBounds, ReplayBuffers } from "../../service/hub/buffers.ts"
import { type Message, type Position, positionOf } from "../../service/hub/message.ts"
import type { AepEvent } from "../../shared/aep.ts"
import { messageOf, row } from "./hub-events.ts"

const WIDE: BufferBounds = { depth: 1000, sessions: 100, bytes: 10_000_000 }

function filled(bounds: Partial<BufferBounds>, messages: readonly Message[]): ReplayBuffers {
  const buffers = new ReplayBuffers({ ...WIDE, ...bounds })
  for (const message of messages) buffers.admit(message)
  return buffers
}

/** What a reader gets behind a position of a session: the marker if any, and what follows. */
function after(buffers: ReplayBuffers, position: Position, session = "s1") {
  const [replay] = buffers.replay({ kind: "positions", positions: new Map([[session, position]]) })
  return { exhausted: replay?.exhausted, told: replay?.texts.map(placeOf) ?? [] }
}

/** Every held event of every session. */
const all = (buffers: ReplayBuffers): string[][] =>
  buffers.replay({ kind: "all" }).map(({ texts }) => texts.map(placeOf))

function placeOf(text: string): string {
  const event: AepEvent = JSON.parse(text)
  const position = positionOf(event)
  return position === undefined ? event.id : `${position.epoch}:${position.seq}`
}

const started = (session: string, seq = 0): Message => messageOf({ type: "session.started", session, seq })

describe("a position", () => {
  test("is followed by exactly what comes after it", () => {
    const buffers = filled({}, row(0, 3))
    expect(after(buffers, { epoch: 0, seq: 1 })).toEqual({ exhausted: undefined, told: ["0:2", "0:3"] })
    expect(after(buffers, { epoch: 0, seq: 3 }).told).toEqual([])
    expect(after(buffers, { epoch: 7, seq: 0 }).told).toEqual([])
  })

  test("of an earlier epoch is followed by the rest of it and the next one", () => {
    const buffers = filled({}, [...row(0, 2), ...row(0, 1, { epoch: 1 })])
    expect(after(buffers, { epoch: 0, seq: 1 }).told).toEqual(["0:2", "1:0", "1:1"])
  })

  test("of a session that nobody knows gives nothing and no mark", () => {
    expect(
      filled({}, row(0, 2)).replay({
        kind: "positions",
        positions: new Map([["else", { epoch: 0, seq: 0 }]]),
      }),
    ).toEqual([])
  })

  test("before a gap in the count is not too old: gaps are legal", () => {
    const buffers = filled({}, [started("s1"), ...row(5, 6)])
    expect(after(buffers, { epoch: 0, seq: 0 })).toEqual({ exhausted: undefined, told: ["0:5", "0:6"] })
    expect(after(buffers, { epoch: 0, seq: 3 }).exhausted).toBeUndefined()
  })
})

describe("what was let go", () => {
  test("makes older positions too old, and names the earliest that is held", () => {
    const buffers = filled({ depth: 8 }, row(0, 15, { epoch: 1 }))
    expect(after(buffers, { epoch: 1, seq: 0 })).toEqual({
      exhausted: { epoch: 1, seq: 8 },
      told: ["1:8", "1:9", "1:10", "1:11", "1:12", "1:13", "1:14", "1:15"],
    })
  })

  test("does not make the last position that was let go too old", () => {
    const buffers = filled({ depth: 8 }, row(0, 15))
    expect(after(buffers, { epoch: 0, seq: 7 }).exhausted).toBeUndefined()
    expect(after(buffers, { epoch: 0, seq: 6 }).exhausted).toEqual({ epoch: 0, seq: 8 })
  })

  test("is never marked for a reader that takes all that is held", () => {
    const [replay] = filled({ depth: 2 }, row(0, 9)).replay({ kind: "all" })
    expect(replay).toEqual({ session: "s1", texts: expect.any(Array) })
    expect(replay?.texts).toHaveLength(2)
  })

  test("is as much as the depth says, and no more", () => {
    const buffers = filled({ depth: 8 }, row(0, 7))
    expect(buffers.counts.evicted).toBe(0)
    buffers.admit(messageOf({ seq: 8 }))
    expect(buffers.counts).toMatchObject({ events: 8, evicted: 1 })
  })

  test("counts for a session that was first met in the middle", () => {
    const buffers = filled({}, row(10, 12))
    expect(after(buffers, { epoch: 0, seq: 3 }).exhausted).toEqual({ epoch: 0, seq: 10 })
    expect(after(buffers, { epoch: 0, seq: 9 }).exhausted).toBeUndefined()
  })

  test("does not count for a session that was met at its beginning, wherever its count begins", () => {
    expect(
      after(filled({}, [started("s1", 5), ...row(6, 7)]), { epoch: 0, seq: 0 }).exhausted,
    ).toBeUndefined()
    expect(after(filled({}, row(0, 2, { epoch: 4 })), { epoch: 4, seq: 0 }).exhausted).toBeUndefined()
  })

  test("is remembered of a session that is wholly gone and speaks again", () => {
    const buffers = filled({ sessions: 2 }, [
      ...row(0, 4),
      ...row(0, 0, { session: "s2" }),
      ...row(0, 0, { session: "s3" }),
    ])
    expect(after(buffers, { epoch: 0, seq: 1 })).toEqual({ exhausted: undefined, told: [] })
    buffers.admit(messageOf({ seq: 5 }))
    expect(after(buffers, { epoch: 0, seq: 1 })).toEqual({ exhausted: { epoch: 0, seq: 5 }, told: ["0:5"] })
    expect(after(buffers, { epoch: 0, seq: 4 }).exhausted).toBeUndefined()
  })

  test("is not forgotten over a late event of a session that is wholly gone", () => {
    const others = ["s2", "s3"].map((session) => messageOf({ session }))
    const buffers = filled({ sessions: 2 }, [...row(0, 4), ...others, messageOf({ seq: 1, id: "late" })])
    for (const message of others) buffers.admit({ ...message, event: { ...message.event, id: "again" } })
    buffers.admit(messageOf({ seq: 6 }))
    expect(after(buffers, { epoch: 0, seq: 3 })).toEqual({ exhausted: { epoch: 0, seq: 6 }, told: ["0:6"] })
  })

  test("counts for a session that is first met in a later epoch, for readers of the earlier ones", () => {
    const buffers = filled({}, row(0, 2, { epoch: 3 }))
    expect(after(buffers, { epoch: 1, seq: 57 }).exhausted).toEqual({ epoch: 3, seq: 0 })
    expect(after(buffers, { epoch: 3, seq: 0 })).toEqual({ exhausted: undefined, told: ["3:1", "3:2"] })
  })
})

describe("order", () => {
  test("of two sources that share a session is by position, and so is what a reader of both resumes", () => {
    const theirs = "aep://other/agent/test"
    const buffers = filled({}, [started("s1"), ...row(1, 2), ...row(0, 3, { source: theirs })])
    expect(all(buffers)).toEqual([["0:0", "0:0", "0:1", "0:1", "0:2", "0:2", "0:3"]])
    expect(after(buffers, { epoch: 0, seq: 1 }).told).toEqual(["0:2", "0:2", "0:3"])
  })

  test("costs the same for the hundred-thousandth event as for the first, whichever way they come", () => {
    const [event, text] = [messageOf().event, "{}"]
    const at = (seq: number): Message => ({ event: { ...event, id: `${seq}`, seq }, text })
    const ascending = filled({ depth: 50_000 }, [])
    for (let seq = 0; seq < 300_000; seq += 1) ascending.admit(at(seq))
    expect(ascending.counts).toMatchObject({ events: 50_000, evicted: 250_000 })
    const descending = filled({ depth: 50_000 }, [])
    for (let seq = 50_000; seq > 0; seq -= 1) descending.admit(at(seq))
    expect(descending.counts).toMatchObject({ events: 50_000, evicted: 0 })
  })

  test("is by position, whenever an event comes", () => {
    const buffers = filled(
      {},
      [0, 3, 1, 5, 2].map((seq) => messageOf({ seq })),
    )
    expect(after(buffers, { epoch: 0, seq: 0 }).told).toEqual(["0:1", "0:2", "0:3", "0:5"])
  })

  test("of two events on one place, an emitter's fault, is that of their coming; both are held", () => {
    const [first, second] = [messageOf({ seq: 1, id: "A" }), messageOf({ seq: 1, id: "B" })]
    const buffers = filled({}, [messageOf({ seq: 0 }), first, messageOf({ seq: 2 }), second])
    const [replay] = buffers.replay({ kind: "all" })
    expect(replay?.texts.slice(1, 3)).toEqual([first.text, second.text])
  })

  test("survives eviction and backfill together", () => {
    const buffers = filled({ depth: 4 }, row(10, 15))
    buffers.admit(messageOf({ seq: 13, id: "late" }))
    expect(all(buffers)).toEqual([["0:13", "0:13", "0:14", "0:15"]])
    buffers.admit(messageOf({ seq: 16 }))
    expect(all(buffers)).toEqual([["0:13", "0:14", "0:15", "0:16"]])
  })
})

describe("an event without a position", () => {
  const command = (id: string): Message => messageOf({ id, type: "control.cancel", seq: undefined })

  test("stands behind the highest position that was known when it came", () => {
    const buffers = filled({}, [...row(0, 1), command("C1"), ...row(2, 2), command("C2")])
    expect(after(buffers, { epoch: 0, seq: 0 }).told).toEqual(["0:1", "C1", "0:2", "C2"])
  })

  test("is given again to a reader that stopped at its anchor: it may have come later", () => {
    const buffers = filled({}, [...row(0, 1), command("C1"), ...row(2, 2)])
    expect(after(buffers, { epoch: 0, seq: 1 }).told).toEqual(["C1", "0:2"])
    expect(after(buffers, { epoch: 0, seq: 2 }).told).toEqual([])
  })

  test("that came before any position was known is given to whoever asks: it may be news to each", () => {
    const buffers = filled({}, [command("C1"), ...row(11, 12)])
    expect(after(buffers, { epoch: 0, seq: 10 }).told).toEqual(["C1", "0:11", "0:12"])
    expect(after(buffers, { epoch: 0, seq: 12 }).told).toEqual(["C1"])
    expect(all(buffers)).toEqual([["C1", "0:11", "0:12"]])
  })

  test("of a session that is wholly gone stands behind what went", () => {
    const gone = [...row(0, 5), messageOf({ session: "s2" }), messageOf({ session: "s3" })]
    const buffers = filled({ sessions: 2 }, [...gone, command("C1")])
    expect(after(buffers, { epoch: 0, seq: 5 }).told).toEqual(["C1"])
    buffers.admit(messageOf({ seq: 6 }))
    expect(after(buffers, { epoch: 0, seq: 5 })).toEqual({ exhausted: undefined, told: ["C1", "0:6"] })
    expect(after(buffers, { epoch: 0, seq: 6 }).told).toEqual([])
  })

  test("comes first where it came first, and is never too old to miss", () => {
    const buffers = filled({ depth: 3 }, [command("C1"), ...row(0, 2)])
    expect(all(buffers)).toEqual([["0:0", "0:1", "0:2"]])
    expect(after(buffers, { epoch: 0, seq: 0 }).exhausted).toBeUndefined()
  })

  test("alone makes no earliest position", () => {
    const buffers = filled({ depth: 1 }, [messageOf({ seq: 0 }), command("C1")])
    expect(after(buffers, { epoch: 0, seq: 0 })).toEqual({ exhausted: undefined, told: ["C1"] })
  })

  test("of no session is not held at all", () => {
    const buffers = filled({}, [])
    expect(buffers.admit(messageOf({ type: "agent.idle", session: undefined, seq: undefined }))).toBe(true)
    expect(buffers.counts.events).toBe(0)
  })
})

describe("a repetition", () => {
  test("of a source's id is not held again", () => {
    const message = messageOf({ seq: 0 })
    const buffers = filled({}, [message])
    expect(buffers.admit(message)).toBe(false)
    expect(buffers.counts.events).toBe(1)
  })

  test("of an id by another source is another event, for both of them", () => {
    const ours = messageOf({ seq: 0, id: "same", source: "aep://a/agent/x" })
    const theirs = messageOf({ seq: 1, id: "same", source: "aep://b/agent/x" })
    const buffers = filled({ depth: 2 }, [ours, theirs])
    expect([buffers.admit(ours), buffers.admit(theirs)]).toEqual([false, false])
    buffers.admit(messageOf({ seq: 2 }))
    // What was let go counts as new.
    expect([buffers.admit(theirs), buffers.admit(ours)]).toEqual([false, true])
  })
})

describe("bounds", () => {
  test("of sessions: the one written to longest ago goes", () => {
    const buffers = filled({ sessions: 2 }, [
      messageOf({ session: "a" }),
      messageOf({ session: "b" }),
      messageOf({ session: "a", seq: 1 }),
      messageOf({ session: "c" }),
    ])
    expect(buffers.replay({ kind: "all" }).map(({ session }) => session)).toEqual(["a", "c"])
  })

  test("of sessions: one that is kept stays while others can go", () => {
    const buffers = filled({ sessions: 2, isKept: (session) => session === "a" }, [
      messageOf({ session: "a" }),
      messageOf({ session: "b" }),
      messageOf({ session: "c" }),
    ])
    expect(buffers.replay({ kind: "all" }).map(({ session }) => session)).toEqual(["a", "c"])
  })

  test("of all: events go first where nobody wrote for longest, and the last event never", () => {
    const big = (session: string, seq: number) =>
      messageOf({ session, seq, data: { text: "x".repeat(1000) } })
    const buffers = filled({ bytes: 4000 }, [big("a", 0), big("a", 1), big("b", 0), big("b", 1)])
    expect(buffers.counts.bytes).toBeLessThanOrEqual(4000)
    expect(buffers.replay({ kind: "all" }).map(({ session }) => session)).toEqual(["a", "b"])
    expect(after(buffers, { epoch: 0, seq: 0 }, "b").told).toEqual(["0:1"])
    const huge = messageOf({ session: "c", data: { text: "x".repeat(10_000) } })
    buffers.admit(huge)
    expect(buffers.replay({ kind: "all" }).map(({ texts }) => texts)).toEqual([[huge.text]])
  })

  test("hold over many events: what is counted is what is there", () => {
    const buffers = filled({ depth: 50, sessions: 20, bytes: 200_000 }, [])
    for (let index = 0; index < 20_000; index += 1) {
      buffers.admit(
        messageOf({ session: `s${(index * 7919) % 61}`, seq: index, data: { n: "x".repeat(index % 300) } }),
      )
    }
    const held = buffers.replay({ kind: "all" }).flatMap(({ texts }) => texts)
    expect(buffers.size).toBeLessThanOrEqual(20)
    expect(buffers.counts.events).toBe(held.length)
    expect(buffers.counts.bytes).toBe(held.reduce((sum, text) => sum + text.length, 0))
    expect(buffers.counts.events + buffers.counts.evicted).toBe(20_000)
  })
})
