/** One timer a session, for whichever of its requests lapses next. */
import { beforeEach, expect, test } from "bun:test"
import { Deadlines } from "../../service/attention/deadlines.ts"
import { Clock } from "../clock.ts"
import { createRandom } from "../crash/random.ts"
import { bus, House, instanceOf } from "../house.ts"

let clock: Clock
let deadlines: Deadlines
let due: string[]
beforeEach(() => {
  clock = new Clock()
  due = []
  const began = clock.now()
  deadlines = new Deadlines({
    now: clock.now,
    timers: clock.timers,
    due: (agent, session) => due.push(`${agent} ${session} ${clock.now() - began}`),
  })
})

test("a session is woken at its time, once", () => {
  deadlines.arm("opencode", "s", clock.now() + 500)
  clock.advance(499)
  expect(due).toEqual([])
  clock.advance(1_000)
  expect(due).toEqual(["opencode s 500"])
})

test("an earlier time, a later one, and none take the place of what was set", () => {
  const began = clock.now()
  deadlines.arm("opencode", "s", began + 500)
  deadlines.arm("opencode", "s", began + 200)
  clock.advance(300)
  expect(due).toEqual(["opencode s 200"])
  deadlines.arm("opencode", "s", began + 500)
  deadlines.arm("opencode", "s", began + 900)
  clock.advance(300)
  expect(due).toHaveLength(1)
  deadlines.arm("opencode", "s", undefined)
  clock.advance(10_000)
  expect(due).toHaveLength(1)
  expect(clock.waiting).toBe(0)
})

test("the same time again sets nothing anew", () => {
  const at = clock.now() + 500
  deadlines.arm("opencode", "s", at)
  const before = clock.waiting
  for (let nth = 0; nth < 100; nth += 1) deadlines.arm("opencode", "s", at)
  expect(clock.waiting).toBe(before)
})

test("sessions and agents are apart, and what is past is due at once", () => {
  deadlines.arm("opencode", "s", clock.now() - 5)
  deadlines.arm("kilocode", "s", clock.now() + 10)
  deadlines.arm("opencode", "t", clock.now() + 20)
  clock.advance(0)
  clock.advance(15)
  clock.advance(15)
  expect(due.map((text) => text.split(" ").slice(0, 2).join(" "))).toEqual([
    "opencode s",
    "kilocode s",
    "opencode t",
  ])
})

test("a time beyond what a timer can wait is looked at again on the way", () => {
  const far = clock.now() + 2 ** 31 + 10_000
  deadlines.arm("opencode", "s", far)
  clock.advance(2 ** 31 - 1)
  // Not yet: the session says when it is really due.
  expect(due).toHaveLength(1)
  deadlines.arm("opencode", "s", far)
  clock.advance(10_000)
  expect(due).toHaveLength(1)
  clock.advance(10_000)
  expect(due).toHaveLength(2)
})

test("who is woken may name the next time, in the same breath", () => {
  const began = clock.now()
  const woken: number[] = []
  const chain = new Deadlines({
    now: clock.now,
    timers: clock.timers,
    due: (agent, session) => {
      woken.push(clock.now() - began)
      chain.arm(agent, session, woken.length < 3 ? clock.now() + 100 : undefined)
    },
  })
  chain.arm("opencode", "s", began + 100)
  clock.advance(1_000)
  expect([woken, clock.waiting]).toEqual([[100, 200, 300], 0])
})

test("by chance: each session is woken at the last time that was named, once, and never holds two timers", () => {
  const random = createRandom(20261202)
  const sessions = ["s", "t", "u"]
  const named = new Map<string, number>()
  const expected: string[] = []
  const began = clock.now()
  for (let nth = 0; nth < 5_000; nth += 1) {
    if (random.fraction() < 0.7) {
      const session = random.pick(sessions)
      const at = random.fraction() < 0.2 ? undefined : clock.now() + random.whole(1, 500)
      deadlines.arm("opencode", session, at)
      if (at === undefined) named.delete(session)
      else named.set(session, at)
    } else {
      const until = clock.now() + random.whole(0, 300)
      const over = [...named].filter(([, at]) => at <= until)
      for (const [session, at] of over) {
        named.delete(session)
        expected.push(`opencode ${session} ${at - began}`)
      }
      clock.advance(until - clock.now())
    }
    expect(clock.waiting).toBe(named.size)
  }
  expect([...due].sort()).toEqual(expected.sort())
  expect(due.length).toBeGreaterThan(500)
})

test("closed, nothing wakes any more", () => {
  deadlines.arm("opencode", "s", clock.now() + 5)
  deadlines.close()
  clock.advance(100)
  expect([due, clock.waiting]).toEqual([[], 0])
})

test("a timer that goes off too early lapses nothing, and is set again", () => {
  const { set, clear } = clock.timers
  const hasty = Object.assign(clock, {
    timers: { clear, set: (run: () => void, ms: number) => set(run, ms > 1 ? ms - 1 : ms) },
  })
  const house = new House(hasty, undefined, undefined, { hookMs: 500, askMs: 1_000 })
  try {
    house.tell(
      instanceOf("i-1", { answers: true }),
      bus("permission.asked", { id: "per_1", sessionID: "ses_1", permission: "bash", patterns: ["x"] }),
    )
    const ends = () => house.events("ses_1").filter(({ type }) => type === "attention.timeout")
    clock.advance(999)
    expect(ends()).toEqual([])
    clock.advance(1)
    expect(ends().map(({ data }) => data)).toEqual([{ after_ms: 1_000 }])
    clock.advance(10_000)
    expect(ends()).toHaveLength(1)
  } finally {
    house.remove()
  }
})
