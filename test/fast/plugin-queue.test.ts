/** What waits for its acknowledgement, and what goes first when there is no room. */
import { describe, expect, test } from "bun:test"
import { createBreaker } from "../../plugin/src/breaker.ts"
import { createDrops } from "../../plugin/src/drops.ts"
import { createQueue, type Item } from "../../plugin/src/queue.ts"
import type { Plane } from "../../plugin/src/table.ts"

const item = (n: number, plane: Plane = "state", bytes = 10): Item => ({
  n,
  text: `${n}`,
  bytes,
  kind: `kind-${n}`,
  plane,
})
const numbers = (items: Item[]) => items.map(({ n }) => n)

describe("a full queue", () => {
  test("drops the oldest of the stream plane first", () => {
    const queue = createQueue({ items: 3, bytes: 1000 })
    const gone = [item(0), item(1, "stream"), item(2, "stream"), item(3), item(4), item(5)].map((each) =>
      numbers(queue.push(each)),
    )
    expect(gone).toEqual([[], [], [], [1], [2], [0]])
    expect(numbers(queue.take(10, 1000))).toEqual([3, 4, 5])
  })

  test("never drops what is on its way", () => {
    const queue = createQueue({ items: 2, bytes: 1000 })
    queue.push(item(0, "stream"))
    queue.push(item(1))
    queue.take(1, 1000)
    expect(numbers(queue.push(item(2)))).toEqual([1])
    queue.take(2, 1000)
    expect(numbers(queue.push(item(3)))).toEqual([3])
    queue.release()
    expect(numbers(queue.push(item(4)))).toEqual([0])
  })

  test("is bounded by bytes too, and several may go for one", () => {
    const queue = createQueue({ items: 100, bytes: 100 })
    for (let n = 0; n < 10; n += 1) queue.push(item(n))
    expect(numbers(queue.push(item(10, "state", 25)))).toEqual([0, 1, 2])
    expect(queue.size).toBe(8)
  })
})

describe("a batch", () => {
  test("is bounded by count and bytes and has at least one moment", () => {
    const queue = createQueue({ items: 100, bytes: 10_000 })
    queue.push(item(0, "state", 500))
    for (let n = 1; n < 6; n += 1) queue.push(item(n))
    expect(numbers(queue.take(10, 100))).toEqual([0])
    queue.acknowledge(1)
    expect(numbers(queue.take(3, 100))).toEqual([1, 2, 3])
    expect(numbers(queue.take(10, 25))).toEqual([1, 2])
  })

  test("is acknowledged below an index only", () => {
    const queue = createQueue({ items: 100, bytes: 10_000 })
    for (const n of [0, 1, 5, 6]) queue.push(item(n))
    queue.acknowledge(5)
    expect(numbers(queue.take(10, 100))).toEqual([5, 6])
    expect(queue.dropFirst()?.n).toBe(5)
    expect(queue.size).toBe(1)
  })
})

describe("the count of drops", () => {
  test("keeps what was counted after it was told", () => {
    const drops = createDrops()
    expect(drops.snapshot()).toBeUndefined()
    drops.count("a")
    drops.count("b")
    const told = drops.snapshot()
    drops.count("a")
    drops.acknowledge(told)
    expect(drops.snapshot()).toEqual({ a: 1 })
  })

  test("counts kinds beyond a hundred together", () => {
    const drops = createDrops()
    for (let kind = 0; kind < 150; kind += 1) drops.count(`kind-${kind}`)
    expect(drops.snapshot()).toMatchObject({ "kind-99": 1, other: 50 })
  })
})

describe("the breaker", () => {
  test("waits longer after every failure, to a bound, never more than doubled by chance", () => {
    const breaker = createBreaker(250, 30_000, () => 0)
    const delays = Array.from({ length: 9 }, () => breaker.fail(false))
    expect(delays).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
    expect(createBreaker(250, 30_000, () => 1).fail(false)).toBe(187.5)
  })

  test("refuses only while no service was ever seen", () => {
    const breaker = createBreaker(1, 1, () => 0)
    breaker.fail(false)
    expect(breaker.refusing).toBe(false)
    breaker.fail(false)
    expect(breaker.refusing).toBe(true)
    breaker.succeed()
    for (let failure = 0; failure < 5; failure += 1) breaker.fail(true)
    expect(breaker.refusing).toBe(false)
  })

  test("refuses at once where there is no address", () => {
    const breaker = createBreaker(1, 1, () => 0)
    breaker.fail(true)
    expect(breaker.refusing).toBe(true)
  })
})
