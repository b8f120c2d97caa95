/** The hub (AEP-0003 §5, §6.4, §8.4): who gets what, replay before live, bytes as received, one wake a turn. */
import { describe, expect, test } from "bun:test"
import { readFilter } from "../../service/hub/filter.ts"
import { Hub, type Subscription } from "../../service/hub/hub.ts"
import { type Message, positionOf } from "../../service/hub/message.ts"
import { type Item, Queue } from "../../service/hub/queue.ts"
import { type From, readFrom } from "../../service/hub/resume.ts"
import { type AepEvent, CAPTURES, type Capture } from "../../shared/aep.ts"
import { messageOf, row } from "./hub-events.ts"

/** A hub whose turns end when the test says so. */
class Bench {
  readonly faults: unknown[] = []
  private due: (() => void)[] = []
  readonly hub: Hub

  constructor(depth = 1000) {
    this.hub = new Hub({
      bounds: { depth, sessions: 100, bytes: 10_000_000 },
      defer: (run) => this.due.push(run),
      onFault: (error) => this.faults.push(error),
    })
  }

  endTurn(): void {
    const due = this.due
    this.due = []
    for (const run of due) run()
  }

  reader(
    filter: unknown = {},
    how: { id?: string; ceiling?: Capture; from?: unknown; live?: boolean } = {},
  ): Reader {
    const reader = new Reader(filter, how)
    this.hub.subscribe(reader.subscription, fromOf(how.from), how.live ?? true)
    return reader
  }
}

function fromOf(value: unknown): From {
  const read = readFrom(value, 100)
  if ("fault" in read) throw new Error(read.fault)
  return read.from
}

/** A subscription that counts how often it is woken and is drawn by hand. */
class Reader {
  woken = 0
  readonly subscription: Subscription

  constructor(filter: unknown, { id = "a", ceiling }: { id?: string; ceiling?: Capture }) {
    const read = readFilter(filter)
    if ("fault" in read) throw new Error(read.fault)
    const queue = new Queue({
      softBytes: 1_000_000,
      hardBytes: 2_000_000,
      wake: () => this.wake(),
      overflow: () => undefined,
    })
    this.subscription = { id, filter: read.filter, ceiling, queue }
  }

  wake(): void {
    this.woken += 1
  }

  items(): Item[] {
    const drawn: Item[] = []
    for (
      let item = this.subscription.queue.pull();
      item !== undefined;
      item = this.subscription.queue.pull()
    ) {
      drawn.push(item)
    }
    return drawn
  }

  texts(): string[] {
    return this.items().flatMap((item) => (item.kind === "event" ? [item.text] : []))
  }

  /** Positions and marks, in order. */
  told(): string[] {
    return this.items().map((item) => {
      if (item.kind === "exhausted")
        return `exhausted ${item.session} ${item.earliest.epoch}:${item.earliest.seq}`
      if (item.kind !== "event") return item.kind
      const position = positionOf(item.message.event)
      return position === undefined ? item.message.event.id : `${item.message.event.session} ${position.seq}`
    })
  }
}

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
    bench.hub.publish([prompt("full")])
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
