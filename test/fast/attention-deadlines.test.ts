/** One timer a session, for whichever of its requests lapses next. */
import { beforeEach, expect, test } from "bun:test"
import { Deadlines } from "../../service/attention/deadlines.ts"
import { Clock } from "../clock.ts"

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

test("closed, nothing wakes any more", () => {
  deadlines.arm("opencode", "s", clock.now() + 5)
  deadlines.close()
  clock.advance(100)
  expect([due, clock.waiting]).toEqual([[], 0])
})
