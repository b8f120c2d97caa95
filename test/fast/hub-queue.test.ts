/** A subscriber's queue (AEP-0003 §8.4): order, what a slow reader loses, and what it must never lose. */
import { describe, expect, test } from "bun:test"
import { type Item, Queue } from "../../service/hub/queue.ts"
import { messageOf } from "./hub-events.ts"

interface Bounds {
  soft?: number
  hard?: number
}

function open({ soft = 1_000_000, hard = 2_000_000 }: Bounds = {}) {
  const told = { woken: 0, overflown: 0 }
  const queue = new Queue({
    softBytes: soft,
    hardBytes: hard,
    wake: () => {
      told.woken += 1
    },
    overflow: () => {
      told.overflown += 1
    },
  })
  return { queue, told }
}

function event(members: Record<string, unknown> = {}, sub = "a"): Item {
  const message = messageOf(members)
  return { kind: "event", sub, message, text: message.text }
}

const frame = (text: string): Item => ({ kind: "frame", text })

function drain(queue: Queue): string[] {
  const drawn: string[] = []
  for (let item = queue.pull(); item !== undefined; item = queue.pull()) drawn.push(nameOf(item))
  return drawn
}

function nameOf(item: Item): string {
  switch (item.kind) {
    case "event":
      return item.message.event.id
    case "frame":
      return item.text
    default:
      return item.kind
  }
}

/** A replay of frames. */
function replayOf(...texts: string[]): () => Item | undefined {
  let at = 0
  return () => {
    const text = texts[at++]
    return text === undefined ? undefined : frame(text)
  }
}

describe("order", () => {
  test("is that of pushing, whatever kind of item it is", () => {
    const { queue } = open()
    queue.push(frame("subscribed"))
    queue.pushReplay(replayOf("old 1", "old 2"))
    queue.push(event({ id: "live" }))
    queue.push({ kind: "replayed", sub: "a" })
    expect(drain(queue)).toEqual(["subscribed", "old 1", "old 2", "live", "replayed"])
    expect(queue.isEmpty).toBe(true)
  })

  test("keeps what is pushed while a replay is drawn behind it, and before the next replay", () => {
    const { queue } = open()
    queue.pushReplay(replayOf("old 1", "old 2"))
    expect(queue.pull()).toEqual(frame("old 1"))
    queue.push(frame("live"))
    queue.pushReplay(replayOf())
    queue.pushReplay(replayOf("second"))
    expect(drain(queue)).toEqual(["old 2", "live", "second"])
  })

  test("holds over many more items than are kept at once", () => {
    const { queue } = open()
    let [pushed, drawn] = [0, 0]
    for (let step = 0; step < 20_000; step += 1) {
      queue.push(frame(`${pushed++}`))
      if (step % 3 !== 0) expect(nameOf(queue.pull() ?? frame("nothing"))).toBe(`${drawn++}`)
    }
    expect(drain(queue)).toEqual(Array.from({ length: pushed - drawn }, (_, index) => `${drawn + index}`))
    expect(queue.backlogBytes).toBe(0)
  })

  test("a replay is made as it is drawn, not before", () => {
    const { queue } = open()
    let made = 0
    queue.pushReplay(() => {
      made += 1
      return made > 3 ? undefined : frame(`${made}`)
    })
    expect(made).toBe(0)
    queue.pull()
    expect(made).toBe(1)
    expect(queue.backlogBytes).toBe(0)
  })
})

test("a replay that needs a rest keeps its place: nothing comes before it, and nothing is empty", () => {
  const { queue } = open()
  const drawn = [frame("old 1"), "later", "later", frame("old 2"), undefined] as const
  let at = 0
  queue.pushReplay(() => drawn[at++])
  queue.push(frame("live"))
  expect(drain(queue)).toEqual(["old 1"])
  expect(queue.isEmpty).toBe(false)
  expect(drain(queue)).toEqual([])
  expect(drain(queue)).toEqual(["old 2", "live"])
  expect(queue.isEmpty).toBe(true)
})

describe("a reader that does not keep up", () => {
  const minor = [{ severity: "debug" }, { severity: "info" }, {}]
  const major = [
    { severity: "notice" },
    { severity: "warning" },
    { severity: "error" },
    { severity: "critical" },
  ]

  test.each(minor)("loses %j from the soft bound on, counted", (severity) => {
    const { queue, told } = open({ soft: 1 })
    queue.push(frame("fills it"))
    queue.push(event(severity))
    queue.push(event(severity))
    expect([queue.dropped, queue.takeDropped(), queue.takeDropped()]).toEqual([2, 2, 0])
    expect(drain(queue)).toEqual(["fills it"])
    expect(told.overflown).toBe(0)
  })

  test.each(major)("is given %j beyond the soft bound", (severity) => {
    const { queue } = open({ soft: 1 })
    queue.push(frame("fills it"))
    queue.push(event({ ...severity, id: "kept" }))
    expect(drain(queue)).toEqual(["fills it", "kept"])
    expect(queue.dropped).toBe(0)
  })

  test("is told once that it has to go at the hard bound, and given nothing after it", () => {
    const { queue, told } = open({ soft: 10, hard: 20 })
    queue.push(frame("x".repeat(30)))
    for (let times = 0; times < 5; times += 1) queue.push(event({ severity: "error" }))
    expect(told.overflown).toBe(1)
    expect(queue.pull()).toBeUndefined()
    expect(queue.backlogBytes).toBe(0)
  })

  test("has to go over frames too, which are never dropped", () => {
    const { queue, told } = open({ soft: 10, hard: 20 })
    for (let times = 0; times < 5; times += 1) queue.push(frame("x".repeat(10)))
    expect(told.overflown).toBe(1)
  })

  test("may be given one event that is larger than all bounds", () => {
    const { queue, told } = open({ soft: 10, hard: 20 })
    queue.push(event({ id: "large", severity: "notice", data: { text: "x".repeat(1000) } }))
    expect(drain(queue)).toEqual(["large"])
    expect(told.overflown).toBe(0)
  })

  test("that catches up is given everything again", () => {
    const { queue } = open({ soft: 100 })
    queue.push(frame("x".repeat(100)))
    queue.push(event())
    drain(queue)
    queue.push(event({ id: "again" }))
    expect(drain(queue)).toEqual(["again"])
    expect(queue.dropped).toBe(1)
  })
})

describe("what was delivered", () => {
  test("is the last position drawn, for each subscription and session, 0 included", () => {
    const { queue } = open()
    queue.push(event({ seq: 0 }, "a"))
    queue.push(event({ seq: 3, epoch: 2, session: "s2" }, "a"))
    queue.push(event({ seq: 0 }, "b"))
    queue.push(event({ seq: 1 }, "a"))
    drain(queue)
    queue.push(event({ seq: 0, epoch: 1, session: "s3" }, "b"))
    queue.push(event({ seq: 0, epoch: 2, session: "s3" }, "b"))
    drain(queue)
    queue.push(event({ seq: 2 }, "a"))
    expect(queue.delivered()).toEqual([
      { sub: "a", session: "s1", epoch: 0, seq: 1 },
      { sub: "a", session: "s2", epoch: 2, seq: 3 },
      { sub: "b", session: "s1", epoch: 0, seq: 0 },
      { sub: "b", session: "s3", epoch: 2, seq: 0 },
    ])
  })

  test("leaves out events without a position, and subscriptions that ended", () => {
    const { queue } = open()
    queue.push(event({ type: "control.cancel", seq: undefined }, "a"))
    queue.push(event({ seq: 1 }, "b"))
    drain(queue)
    queue.forget("b")
    expect(queue.delivered()).toEqual([])
  })

  test("is the last position drawn also where a repeated event stood before the ones already given", () => {
    const { queue } = open()
    for (const seq of [5, 6, 2]) queue.push(event({ seq }))
    drain(queue)
    expect(queue.delivered()).toEqual([{ sub: "a", session: "s1", epoch: 0, seq: 2 }])
  })

  test("is remembered of the thousand sessions met last", () => {
    const { queue } = open()
    for (let index = 0; index < 1500; index += 1) queue.push(event({ session: `s${index}` }))
    drain(queue)
    const delivered = queue.delivered()
    expect(delivered).toHaveLength(1000)
    expect(delivered.at(-1)?.session).toBe("s1499")
  })
})

test("a closed queue takes nothing, gives nothing and wakes nobody; closing twice is closing once", () => {
  const { queue, told } = open()
  queue.push(frame("lost"))
  queue.pushReplay(replayOf("lost too"))
  queue.close()
  queue.close()
  queue.push(frame("late"))
  queue.pushReplay(replayOf("later"))
  queue.wake()
  expect(queue.pull()).toBeUndefined()
  expect(queue.isEmpty).toBe(true)
  expect(told).toEqual({ woken: 0, overflown: 0 })
})
