/**
 * The embedded endpoint's engine: events come in once, are held for a while, and go to every subscription that wants them,
 * in order, whatever its binding is. Knows no socket: a subscription is a filter, a ceiling and a queue. Everything of a
 * turn is queued first; then each queue is woken once.
 */
import type { AepEvent, Capture } from "../../shared/aep.ts"
import { downlevel } from "../capture/downlevel.ts"
import { type BufferBounds, ReplayBuffers, type SessionReplay } from "./buffers.ts"
import type { Filter } from "./filter.ts"
import type { Message } from "./message.ts"
import type { Drawn, Item, Queue } from "./queue.ts"
import type { From } from "./resume.ts"
import { Unmet } from "./unmet.ts"

/** What one reader wants, and where it goes. `ceiling` absent: as received (AEP-0003 §6.4). */
export interface Subscription {
  readonly id: string
  readonly filter: Filter
  readonly ceiling: Capture | undefined
  readonly queue: Queue
}

/** What the hub is made of. */
export interface HubOptions {
  bounds: BufferBounds
  /** Runs something at the end of this turn; never at once. */
  defer: (run: () => void) => void
  /** Told of a fault in a subscriber's binding; gets no content. */
  onFault?: (error: unknown) => void
}

/** What came in since the start and what became of it, and what is there now. */
export interface HubCounts {
  published: number
  repeated: number
  faults: number
  dropped: number
  evicted: number
  subscriptions: number
  sessions: number
  events: number
  bytes: number
}

/** See the head of the file. */
export class Hub {
  private readonly buffers: ReplayBuffers
  private readonly live = new Set<Subscription>()
  private readonly unmet = new Unmet()
  private due: Queue[] = []
  private published = 0
  private repeated = 0
  private faults = 0
  private dropped = 0

  constructor(private readonly options: HubOptions) {
    this.buffers = new ReplayBuffers(options.bounds)
  }

  /** Takes events that are true and final: holds them and gives them to whoever listens. An event that is held already
   *  goes out all the same, since a repeated acknowledgement must be able to cross (AEP-0003 §5). */
  publish(messages: readonly Message[]): void {
    for (const message of messages) {
      this.published += 1
      if (!this.buffers.admit(message)) this.repeated += 1
      this.fanOut(message)
    }
  }

  /** Holds events that happened before this process, without telling anybody. */
  hold(messages: readonly Message[]): void {
    for (const message of messages) this.buffers.admit(message)
  }

  /** Gives a subscription what `from` asks for, and then what happens, or, without `live`, the word that this was all. */
  subscribe(subscription: Subscription, from: From, live: boolean): void {
    const { queue } = subscription
    if (from.kind !== "live") {
      const rest = (): void => this.touch(queue)
      queue.pushReplay(drawReplay(subscription, this.buffers.replay(from), rest))
    }
    if (live) this.unmet.note(subscription, from, (session) => this.buffers.holds(session))
    if (live) this.live.add(subscription)
    else queue.push({ kind: "replayed", sub: subscription.id })
    this.touch(queue)
  }

  /** Ends a subscription; what is queued for it already is its queue's matter. May be called twice. */
  unsubscribe(subscription: Subscription): void {
    this.live.delete(subscription)
    this.unmet.forget(subscription)
  }

  /** Has a queue woken at the end of this turn. */
  touch(queue: Queue): void {
    // A mark and not a set: this is asked once an event and reader.
    if (queue.isDue) return
    queue.isDue = true
    if (this.due.push(queue) === 1) this.options.defer(() => this.wakeAll())
  }

  /** Counts since start (`published`, `repeated`, `faults`, `dropped` by slow readers, `evicted`), and what is there now. */
  get counts(): HubCounts {
    return {
      published: this.published,
      repeated: this.repeated,
      faults: this.faults,
      dropped: this.dropped,
      subscriptions: this.live.size,
      sessions: this.buffers.size,
      ...this.buffers.counts,
    }
  }

  private fanOut(message: Message): void {
    const { event } = message
    const texts: Texts = {}
    let item: Item | undefined
    for (const subscription of this.live) {
      if (!subscription.filter(event)) continue
      if (!this.unmet.isEmpty) this.tellLacked(subscription, event)
      const text = textFor(message, subscription.ceiling, texts)
      // Subscriptions of one name and text share the item: with a hundred readers that is most of the cost.
      if (item?.kind !== "event" || item.sub !== subscription.id || item.text !== text) {
        item = { kind: "event", sub: subscription.id, message, text }
      }
      this.offer(subscription.queue, item)
    }
  }

  /** Before the first event of a session that a reader resumed in and of which nothing was held. */
  private tellLacked(subscription: Subscription, { session, seq }: AepEvent): void {
    if (session === undefined || seq === undefined) return
    const asked = this.unmet.take(subscription, session)
    const earliest = asked === undefined ? undefined : this.buffers.lackedBefore(session, asked)
    if (earliest === undefined) return
    this.offer(subscription.queue, { kind: "exhausted", sub: subscription.id, session, earliest })
  }

  private offer(queue: Queue, item: Item): void {
    try {
      if (!queue.push(item)) this.dropped += 1
    } catch (error) {
      // One reader's broken binding must not cost the others their events.
      this.faulted(error)
      return
    }
    this.touch(queue)
  }

  private faulted(error: unknown): void {
    this.faults += 1
    this.options.onFault?.(error)
  }

  private wakeAll(): void {
    const queues = this.due
    this.due = []
    for (const queue of queues) {
      queue.isDue = false
      try {
        queue.wake()
      } catch (error) {
        // As in `offer`.
        this.faulted(error)
      }
    }
  }
}

type Texts = Partial<Record<Capture, string>>

/** What a reader under this ceiling is sent: the text as it came, where nothing has to go. */
function textFor(message: Message, ceiling: Capture | undefined, texts: Texts): string {
  if (ceiling === undefined) return message.text
  const known = texts[ceiling]
  if (known !== undefined) return known
  const told = downlevel(message.event, ceiling)
  const text = told === message.event ? message.text : JSON.stringify(told)
  texts[ceiling] = text
  return text
}

/** Characters that a filter passes over in one turn: all that is held would take it a quarter of a second. */
const TURN = 256 * 1024

/** Makes the items of a replay one by one, as they are drawn. `rest` is called where the replay has to be drawn on later. */
function drawReplay(
  { id, filter, ceiling }: Subscription,
  replays: SessionReplay[],
  rest: () => void,
): () => Drawn {
  let session = 0
  let index = -1
  let passed = 0
  return () => {
    for (;;) {
      const replay = replays[session]
      if (replay === undefined) return undefined
      if (index === -1) {
        index = 0
        if (replay.exhausted !== undefined) {
          return { kind: "exhausted", sub: id, session: replay.session, earliest: replay.exhausted }
        }
      }
      const text = replay.texts[index]
      if (text === undefined) {
        session += 1
        index = -1
        continue
      }
      index += 1
      // Judged when it came in.
      const message: Message = { event: JSON.parse(text), text }
      if (filter(message.event))
        return { kind: "event", sub: id, message, text: textFor(message, ceiling, {}) }
      passed += text.length
      if (passed < TURN) continue
      passed = 0
      rest()
      return "later"
    }
  }
}
