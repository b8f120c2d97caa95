/** The hub (AEP-0003 §5, §6.4, §8.4): who gets what, replay before live, bytes as received, one wake a turn. */
import { describe, expect, test } from "bun:test"
import type { Subscription } from "../../service/hub/hub.ts"
import type { Message } from "../../service/hub/message.ts"
import { Queue } from "../../service/hub/queue.ts"
import { type AepEvent, CAPTURES, type Capture } from "../../shared/aep.ts"
import { messageOf, row } from "./hub-events.ts"
import { Bench } from "./hub-readers.ts"

describe("what is published", () => {
  test("goes to every subscription whose filter it matches, and to no other, byte for byte", () => {
    const bench = new Bench()
    const [all, tools, none] = [
      bench.reader(),
      bench.reader({ type: "tool.*" }),
      bench.reader({ session: "else" }),
    ]
    const messages = [messageOf({ type: "tool.completed" }), messageOf({ type: "run.started", seq: 1 })]
    bench.hub.publish(messages)
    expect(all.texts()).toEqual(messages.map(({ text }) => text))
    expect(tools.texts()).toEqual([messages[0]?.text ?? ""])
    expect(none.texts()).toEqual([])
  })

  test("wakes each queue once a turn, however much it is, and only queues that got something", () => {
    const bench = new Bench()
    const [one, other, idle] = [bench.reader(), bench.reader(), bench.reader({ session: "else" })]
    bench.endTurn()
    const before = [one.woken, other.woken, idle.woken]
    bench.hub.publish(row(0, 9))
    bench.hub.publish(row(10, 19))
    expect([one.woken, other.woken]).toEqual([before[0] ?? 0, before[1] ?? 0])
    bench.endTurn()
    expect([one.woken, other.woken, idle.woken]).toEqual([
      (before[0] ?? 0) + 1,
      (before[1] ?? 0) + 1,
      before[2] ?? 0,
    ])
  })

  test("by a reader that is being woken reaches everybody in the next turn", () => {
    const bench = new Bench()
    const echo = messageOf({ seq: 1 })
    const one = bench.reader()
    let isFirst = true
    one.wake = () => {
      one.woken += 1
      if (isFirst) bench.hub.publish([echo])
      isFirst = false
    }
    const other = bench.reader()
    bench.hub.publish([messageOf({ seq: 0 })])
    bench.endTurn()
    bench.endTurn()
    expect(one.told()).toEqual(["s1 0", "s1 1"])
    expect(other.told()).toEqual(["s1 0", "s1 1"])
    expect(one.woken).toBe(2)
  })

  test("twice goes out twice and is held once: a repeated acknowledgement must be able to cross", () => {
    const bench = new Bench()
    const reader = bench.reader()
    const ack = messageOf({ type: "control.accepted" })
    bench.hub.publish([ack])
    bench.hub.publish([ack])
    expect(reader.texts()).toEqual([ack.text, ack.text])
    expect(bench.reader({}, { from: "all" }).texts()).toEqual([ack.text])
    expect(bench.hub.counts).toMatchObject({ published: 2, repeated: 1, events: 1 })
  })

  test("after the end of a subscription does not reach it; ending twice is ending once", () => {
    const bench = new Bench()
    const reader = bench.reader()
    bench.hub.unsubscribe(reader.subscription)
    bench.hub.unsubscribe(reader.subscription)
    bench.hub.publish(row(0, 0))
    expect(reader.texts()).toEqual([])
    expect(bench.hub.counts.subscriptions).toBe(0)
  })

  test("reaches the others when a reader that fell behind leaves in the midst of it", () => {
    const bench = new Bench()
    const ends = [0, 0]
    const slow = [0, 1].map((index): Subscription => {
      const queue = new Queue({
        softBytes: 1,
        hardBytes: 1,
        wake: () => undefined,
        overflow: () => {
          ends[index] = (ends[index] ?? 0) + 1
          for (const subscription of slow) bench.hub.unsubscribe(subscription)
        },
      })
      return { id: "slow", filter: () => true, ceiling: undefined, queue }
    })
    const [first, second] = slow
    const before = bench.reader()
    if (first !== undefined) bench.hub.subscribe(first, { kind: "live" }, true)
    const between = bench.reader()
    if (second !== undefined) bench.hub.subscribe(second, { kind: "live" }, true)
    const behind = bench.reader()
    bench.hub.publish(row(0, 2, { severity: "error" }))
    for (const reader of [before, between, behind]) expect(reader.told()).toEqual(["s1 0", "s1 1", "s1 2"])
    expect(ends).toEqual([1, 0])
    expect(bench.hub.counts.subscriptions).toBe(3)
  })

  test("reaches the others when one reader's binding breaks, and the break is told of", () => {
    const bench = new Bench()
    const broken = bench.reader()
    broken.subscription.queue.push = () => {
      throw new Error("broken while queueing")
    }
    const deaf = bench.reader()
    deaf.wake = () => {
      throw new Error("broken while waking")
    }
    const whole = bench.reader()
    bench.hub.publish(row(0, 0))
    bench.endTurn()
    expect(whole.texts()).toHaveLength(1)
    expect(whole.woken).toBeGreaterThan(0)
    expect(bench.faults.length).toBeGreaterThanOrEqual(2)
    expect(bench.hub.counts.faults).toBe(bench.faults.length)
  })
})

describe("a reader that resumes in a session of which nothing is held", () => {
  const resumed = (seq: number) => {
    const bench = new Bench()
    return { bench, reader: bench.reader({}, { from: [{ session: "s1", seq }] }) }
  }

  test("is told what it lacks once the session speaks, before that event, and once", () => {
    const { bench, reader } = resumed(2)
    bench.hub.publish(row(0, 0, { session: "s2" }))
    bench.hub.publish(row(5, 6))
    expect(reader.told()).toEqual(["s2 0", "exhausted s1 0:5", "s1 5", "s1 6"])
  })

  test("is told nothing where it lacks nothing", () => {
    const { bench, reader } = resumed(4)
    bench.hub.publish(row(5, 5))
    expect(reader.told()).toEqual(["s1 5"])
    const begun = resumed(0)
    begun.bench.hub.publish([...row(3, 3, { type: "session.started" })])
    expect(begun.reader.told()).toEqual(["s1 3"])
  })

  test("is told of a session that was wholly let go and speaks again", () => {
    const bench = new Bench(1000, 1)
    bench.hub.publish([...row(0, 4), ...row(0, 0, { session: "s2" })])
    const reader = bench.reader({}, { from: [{ session: "s1", seq: 1 }] })
    bench.hub.publish(row(5, 5))
    expect(reader.told()).toEqual(["exhausted s1 0:5", "s1 5"])
  })

  test("is not told after its end, nor is what it asked for kept", () => {
    const { bench, reader } = resumed(2)
    bench.hub.unsubscribe(reader.subscription)
    bench.hub.publish(row(5, 5))
    expect(reader.told()).toEqual([])
  })

  test("is given a command without a mark, since it has no place", () => {
    const { bench, reader } = resumed(2)
    bench.hub.publish([messageOf({ id: "C1", type: "control.cancel", seq: undefined })])
    bench.hub.publish(row(5, 5))
    expect(reader.told()).toEqual(["C1", "exhausted s1 0:5", "s1 5"])
  })
})

describe("a replay", () => {
  test("comes before what happens, whenever it is drawn; nothing is lost and nothing doubled", () => {
    const bench = new Bench()
    bench.hub.publish(row(0, 4))
    const reader = bench.reader({}, { from: [{ session: "s1", seq: 1 }] })
    bench.hub.publish(row(5, 6))
    const first = reader.subscription.queue.pull()
    bench.hub.publish(row(7, 7))
    expect(first?.kind === "event" ? first.message.event.seq : undefined).toBe(2)
    expect(reader.told()).toEqual(["s1 3", "s1 4", "s1 5", "s1 6", "s1 7"])
  })

  test("marks what is too old before the events of that session", () => {
    const bench = new Bench(3)
    bench.hub.publish([...row(0, 9), ...row(0, 1, { session: "s2" })])
    const from = [
      { session: "s2", seq: 0 },
      { session: "s1", seq: 2 },
    ]
    expect(bench.reader({}, { from }).told()).toEqual(["s2 1", "exhausted s1 0:7", "s1 7", "s1 8", "s1 9"])
  })

  test("goes through the filter, and is of the named sessions only; what happens is not", () => {
    const bench = new Bench()
    bench.hub.publish([...row(0, 1), ...row(2, 2, { type: "run.started" }), ...row(0, 1, { session: "s2" })])
    const reader = bench.reader({ type: "tool.*" }, { from: [{ session: "s1", seq: 0 }] })
    bench.hub.publish(row(2, 2, { session: "s2" }))
    expect(reader.told()).toEqual(["s1 1", "s2 2"])
  })

  test("without what happens after it ends with the word that it is complete", () => {
    const bench = new Bench()
    bench.hub.publish(row(0, 1))
    const reader = bench.reader({}, { from: "all", live: false })
    bench.hub.publish(row(2, 2))
    expect(reader.told()).toEqual(["s1 0", "s1 1", "replayed"])
    expect(bench.reader({}, { live: false }).told()).toEqual(["replayed"])
  })

  test("of all gives what was held before this process, too, and nobody was told of that", () => {
    const bench = new Bench()
    const early = bench.reader()
    bench.hub.hold(row(0, 1))
    expect(early.told()).toEqual([])
    expect(bench.reader({}, { from: "all" }).told()).toEqual(["s1 0", "s1 1"])
  })

  test("that passes over much gives the turn back, is woken to go on, and loses no place", () => {
    const bench = new Bench()
    const much = { data: { text: "x".repeat(10_000) } }
    bench.hub.publish([...row(0, 99, much), ...row(100, 101, { ...much, type: "run.started" })])
    const reader = bench.reader({ type: "run.*" }, { from: "all" })
    bench.hub.publish(row(102, 102, { type: "run.finished" }))
    expect(reader.told()).toEqual([])
    expect(reader.subscription.queue.isEmpty).toBe(false)
    const told: string[] = []
    reader.wake = () => {
      reader.woken += 1
      told.push(...reader.told())
    }
    // A million characters in pieces of a quarter of that, of which the first draw had one.
    for (let turn = 0; turn < 10; turn += 1) bench.endTurn()
    expect(told).toEqual(["s1 100", "s1 101", "s1 102"])
    expect(reader.woken).toBe(3)
    expect(reader.subscription.queue.isEmpty).toBe(true)
  })

  test("of nothing asked for is nothing, even with much held", () => {
    const bench = new Bench()
    bench.hub.publish(row(0, 99))
    expect(bench.reader().told()).toEqual([])
  })
})

describe("a ceiling", () => {
  const prompt = (capture: Capture): Message =>
    messageOf({
      type: "run.started",
      capture,
      ...(capture === "none" ? {} : { data: { prompt: "s3cret", trigger: "user" } }),
    })

  test.each(CAPTURES)(
    "of %s tells no more than that, live and from the buffer, and never claims redaction",
    (ceiling) => {
      for (const capture of CAPTURES) {
        const bench = new Bench()
        const live = bench.reader({}, { ceiling })
        const message = prompt(capture)
        bench.hub.publish([message])
        const [text = ""] = live.texts()
        expect(bench.reader({}, { ceiling, from: "all" }).texts()).toEqual([text])
        const told = JSON.parse(text) as AepEvent
        const rank = (level: Capture) => CAPTURES.indexOf(level)
        if (rank(capture) <= rank(ceiling)) {
          expect(text).toBe(message.text)
          continue
        }
        expect(told.capture).toBe(ceiling === "redacted" ? "metadata" : ceiling)
        expect(text).not.toContain("s3cret")
      }
    },
  )

  test("absent tells everything as received", () => {
    const bench = new Bench()
    const reader = bench.reader()
    const message = prompt("full")
    bench.hub.publish([message])
    expect(reader.texts()).toEqual([message.text])
  })

  test("is no matter of the filter, which sees the event as it is stored", () => {
    const bench = new Bench()
    const reader = bench.reader({ capture: "full" }, { ceiling: "none" })
    bench.hub.publish([prompt("full"), prompt("metadata")])
    expect(reader.items()).toHaveLength(1)
  })

  test("of many readers is worked out once an event", () => {
    const bench = new Bench()
    const readers = Array.from({ length: 5 }, (_, index) =>
      bench.reader({}, { ceiling: "metadata", id: `r${index % 2}` }),
    )
    let made = 0
    const { event, text } = prompt("full")
    Object.defineProperty(event, "acmecount", {
      enumerable: true,
      get: () => {
        made += 1
        return made
      },
    })
    bench.hub.publish([{ event, text }])
    expect(made).toBe(1)
    const items = readers.flatMap((reader) => reader.items())
    expect(new Set(items.map((item) => (item.kind === "event" ? item.text : ""))).size).toBe(1)
    expect(items.map((item) => (item.kind === "event" ? item.sub : ""))).toEqual([
      "r0",
      "r1",
      "r0",
      "r1",
      "r0",
    ])
  })
})
