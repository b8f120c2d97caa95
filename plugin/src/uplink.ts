/**
 * The road up: one batch in flight, the next leaves when it is answered, what is not acknowledged is sent again.
 * Owns the retry and heartbeat timers. Knows nothing of hooks and tables; the core hands it written moments.
 */
import type { Instance } from "../../shared/moments.ts"
import { createBreaker } from "./breaker.ts"
import type { Counts, Drops } from "./drops.ts"
import { flush } from "./flush.ts"
import type { Link } from "./link.ts"
import type { Pace } from "./pace.ts"
import { createQueue, type Item } from "./queue.ts"
import { after } from "./timer.ts"

/** The uplink as the core uses it. */
export interface Uplink {
  /** True while nothing needs to be written: the service was never there. */
  readonly refusing: boolean
  /** Queues a moment and sends at once when nothing is in flight. */
  push(item: Item): void
  /** Introduces the instance to a service that does not know it, with an empty batch when nothing waits. */
  greet(): void
  /** Sends what is left within the bounds of the pace, then stops for good. Never rejects. */
  close(): Promise<void>
}

/** What the uplink is given. */
export interface UplinkParts {
  link: Pick<Link, "send" | "forget" | "abandon">
  drops: Drops
  pace: Pace
  /** Who speaks, and the index the next moment will have. */
  header(): { instance: Instance; next: number }
  /** Told of every batch that was accepted: the service is there, `again` when it was away or did not know us. */
  onAccepted?(again: boolean): void
  /** Milliseconds. */
  now(): number
  /** 0 to 1. */
  random(): number
}

/** Refused single moments in a row after which the service is given a rest. */
const MOST_STRIKES = 3

/** An uplink that has sent nothing and owns no timer yet. */
export function createUplink(parts: UplinkParts): Uplink {
  const { link, drops, pace, header, now, random } = parts
  const queue = createQueue({ items: pace.queueItems, bytes: pace.queueBytes })
  const breaker = createBreaker(pace.backoffFirstMs, pace.backoffMostMs, random)
  let running: Promise<void> | undefined
  let retry: (() => void) | undefined
  let heartbeat: (() => void) | undefined
  let owed = false
  let wasAway = false
  // Told again unchanged until acknowledged, so that the service can tell a repetition from more drops.
  let told: Counts | undefined
  let closing = false
  let batchItems = pace.batchItems
  let strikes = 0
  let sentAt: number | undefined
  let roundTripMs = 0
  let onProgress: (() => void) | undefined

  const fault = () => drops.count("fault")

  const kick = () => {
    if (running === undefined && retry === undefined) running = Promise.resolve().then(pump)
  }

  const beat = () => {
    owed = true
    kick()
  }

  async function pump(): Promise<void> {
    try {
      while (queue.size > 0 || owed) {
        if (!(await deliver())) break
      }
    } catch {
      // A fault of ours must look like a service that is away.
      fault()
      rest(false)
    } finally {
      running = undefined
    }
  }

  /** Sends one batch; true when the next may follow at once. */
  async function deliver(): Promise<boolean> {
    const items = queue.take(batchItems, pace.batchBytes)
    told ??= drops.snapshot()
    const body = writeBatch(header(), items, told)
    sentAt = now()
    let outcome = await link.send(body)
    if (outcome.kind === "unauthorized") {
      link.forget()
      outcome = await link.send(body)
    }
    roundTripMs = now() - sentAt
    sentAt = undefined
    queue.release()
    switch (outcome.kind) {
      case "accepted":
        return accept(outcome.next, items)
      case "refused":
        return split(items)
      case "absent":
        return rest(true)
      case "unauthorized":
      case "failed":
        return rest(false)
    }
  }

  function accept(next: number, items: Item[]): boolean {
    const first = items[0]
    const last = items.at(-1)
    // An answer that acknowledges nothing would be asked for without end.
    if (first !== undefined && next <= first.n) return rest(false)
    if (last !== undefined) queue.acknowledge(Math.min(next, last.n + 1))
    drops.acknowledge(told)
    told = undefined
    const again = wasAway || breaker.failures > 0
    wasAway = false
    breaker.succeed()
    batchItems = Math.min(pace.batchItems, batchItems * 2)
    strikes = 0
    owed = false
    heartbeat?.()
    if (!closing) heartbeat = after(pace.heartbeatMs, beat, fault)
    onProgress?.()
    if (!closing) parts.onAccepted?.(again)
    return true
  }

  function split(items: Item[]): boolean {
    if (items.length === 0) return rest(false)
    batchItems = Math.ceil(items.length / 2)
    if (items.length > 1) return true
    const lost = queue.dropFirst()
    if (lost !== undefined) drops.count(lost.kind)
    strikes += 1
    return strikes < MOST_STRIKES ? true : rest(false)
  }

  function rest(hopeless: boolean): false {
    const delayMs = breaker.fail(hopeless)
    link.forget()
    strikes = 0
    const again = () => {
      retry = undefined
      beat()
    }
    if (!closing) retry = after(delayMs, again, fault)
    return false
  }

  return {
    get refusing() {
      return breaker.refusing
    },
    push(item) {
      for (const lost of queue.push(item)) drops.count(lost.kind)
      kick()
    },
    greet() {
      wasAway = true
      beat()
    },
    async close() {
      closing = true
      heartbeat?.()
      retry?.()
      retry = undefined
      const hanging = sentAt !== undefined && now() - sentAt >= pace.flushSilenceMs
      // A service that was never slow to answer is given its time, also where it had no time to answer yet.
      const healthy = breaker.failures === 0 && !hanging
      let over = false
      const drain = async () => {
        await running
        // What was on its way when the end came may have failed: what is left is tried once more.
        if (queue.size === 0 || over) return
        kick()
        await running
      }
      await flush({
        done: drain(),
        mostMs: healthy ? pace.flushMostMs : pace.flushFailingMs,
        silenceMs: Math.max(pace.flushSilenceMs, Math.min(pace.flushMostMs, roundTripMs * 4)),
        onProgress: (note) => {
          onProgress = note
        },
      })
      over = true
      link.abandon()
    },
  }
}

function writeBatch(
  header: { instance: Instance; next: number },
  items: Item[],
  told: Counts | undefined,
): string {
  const first = items[0]?.n ?? header.next
  const dropped = told === undefined ? "" : `"dropped":${JSON.stringify(told)},`
  const moments = items.map((item) => item.text).join(",")
  return `{"instance":${JSON.stringify(header.instance)},"first":${first},${dropped}"moments":[${moments}]}`
}
