/**
 * Moments that wait for their acknowledgement, as texts, in order of their index. Bounded by count and bytes;
 * above a bound moments of the stream plane go first, then the oldest, never one that is on its way.
 */
import type { Plane } from "./table.ts"

/** A written moment. `kind` is the bus type or the moment's kind, for the count of drops. */
export interface Item {
  n: number
  text: string
  bytes: number
  kind: string
  plane: Plane
}

/** Bounds of the queue. */
export interface QueueBounds {
  items: number
  bytes: number
}

/** The queue as the uplink uses it. */
export interface Queue {
  readonly size: number
  /** Adds a moment; returns what had to go for it, possibly the moment itself. */
  push(item: Item): Item[]
  /** The next batch: at least one moment, at most so many and so large. They stay queued and cannot be dropped. */
  take(items: number, bytes: number): Item[]
  /** Removes everything below `next`. */
  acknowledge(next: number): void
  /** Removes and returns the first moment. */
  dropFirst(): Item | undefined
  /** What was taken is no longer on its way. */
  release(): void
}

/** An empty queue. */
export function createQueue(bounds: QueueBounds): Queue {
  const items: Item[] = []
  let bytes = 0
  let streamed = 0
  let pinned = 0

  const removeAt = (index: number): Item | undefined => {
    const [item] = items.splice(index, 1)
    if (item === undefined) return undefined
    bytes -= item.bytes
    if (item.plane === "stream") streamed -= 1
    if (index < pinned) pinned -= 1
    return item
  }

  const victim = (): number => {
    if (streamed > 0) {
      const index = items.findIndex((item, at) => at >= pinned && item.plane === "stream")
      if (index >= 0) return index
    }
    // All of the queue may be on its way; then the newest is the only one that can go.
    return Math.min(pinned, items.length - 1)
  }

  return {
    get size() {
      return items.length
    },
    push(item) {
      items.push(item)
      bytes += item.bytes
      if (item.plane === "stream") streamed += 1
      const gone: Item[] = []
      while (items.length > bounds.items || bytes > bounds.bytes) {
        const dropped = removeAt(victim())
        if (dropped === undefined) break
        gone.push(dropped)
      }
      return gone
    },
    take(most, mostBytes) {
      let size = 0
      let count = 0
      for (const item of items) {
        if (count > 0 && (count >= most || size + item.bytes > mostBytes)) break
        size += item.bytes
        count += 1
      }
      pinned = count
      return items.slice(0, count)
    },
    acknowledge(next) {
      while (items[0] !== undefined && items[0].n < next) removeAt(0)
    },
    dropFirst: () => removeAt(0),
    release() {
      pinned = 0
    },
  }
}
