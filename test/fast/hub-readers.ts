/** A hub and its readers for the tests of the hub: turns end, and queues are drawn, when the test says so. */
import { readFilter } from "../../service/hub/filter.ts"
import { Hub, type Subscription } from "../../service/hub/hub.ts"
import { positionOf } from "../../service/hub/message.ts"
import { type Item, Queue } from "../../service/hub/queue.ts"
import { type From, readFrom } from "../../service/hub/resume.ts"
import type { Capture } from "../../shared/aep.ts"

/** A hub whose turns end when the test says so. */
export class Bench {
  readonly faults: unknown[] = []
  private due: (() => void)[] = []
  readonly hub: Hub

  constructor(depth = 1000, sessions = 100) {
    this.hub = new Hub({
      bounds: { depth, sessions, bytes: 10_000_000 },
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
export class Reader {
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
