/** Moments sent again after a kill: skipped where their lines are, applied where they are not. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { cpSync, rmSync } from "node:fs"
import { AppliedMoments } from "../../service/emit/applied.ts"
import type { Ledger } from "../../service/emit/ledger.ts"
import { A, B, Home, type Ids, INSTANCE } from "./ledger-home.ts"

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.remove())

/** The home as it is on the disk at this moment, as a kill would leave it. */
function snapshot(): () => void {
  const kept = `${home.path}-kept`
  rmSync(kept, { recursive: true, force: true })
  cpSync(home.path, kept, { recursive: true })
  return () => {
    rmSync(home.path, { recursive: true })
    cpSync(kept, home.path, { recursive: true })
    rmSync(kept, { recursive: true })
  }
}

function killed(ledger: Ledger<Ids>): void {
  const restore = snapshot()
  ledger.close()
  restore()
}

/** Applies a moment to some sessions as the service does. */
function apply(ledger: Ledger<Ids>, n: number, keys = [A], lines = 1): string[] {
  const said: string[] = []
  for (const key of keys) {
    if (ledger.applied(INSTANCE, n, key)) continue
    said.push(...home.emit(ledger, ledger.session(key, { fresh: true }), lines, n).ids)
  }
  return said
}

describe("cursors", () => {
  test("an instance nobody knows has none; a known one keeps its own over a clean stop", () => {
    const { ledger } = home.open()
    expect(ledger.next(INSTANCE)).toBeUndefined()
    apply(ledger, 7)
    ledger.acknowledge(INSTANCE, 8)
    expect(ledger.next(INSTANCE)).toBe(8)
    ledger.close()
    const again = home.open()
    expect(again.ledger.next(INSTANCE)).toBe(8)
    expect(again.ledger.applied(INSTANCE, 7, A)).toBe(false)
    again.ledger.close()
  })

  test("never go down", () => {
    const { ledger } = home.open()
    ledger.acknowledge(INSTANCE, 8)
    ledger.acknowledge(INSTANCE, 3)
    expect(ledger.next(INSTANCE)).toBe(8)
    ledger.close()
  })

  test("of an instance not heard of for a month are forgotten", () => {
    const { ledger } = home.open()
    ledger.acknowledge(INSTANCE, 8)
    ledger.close()
    home.nowMs += 31 * 24 * 3600 * 1000
    const again = home.open()
    expect(again.ledger.next(INSTANCE)).toBeUndefined()
    again.ledger.close()
  })
})

describe("after a kill", () => {
  test("between append and save: the cursor is the stored one, and each resent moment is known in its log", () => {
    const { ledger } = home.open()
    apply(ledger, 0)
    ledger.acknowledge(INSTANCE, 1)
    ledger.flush()
    apply(ledger, 1)
    apply(ledger, 2, [A, B], 3)
    ledger.acknowledge(INSTANCE, 3)
    killed(ledger)

    const again = home.open().ledger
    expect(again.next(INSTANCE)).toBe(1)
    expect(again.highestFound(INSTANCE)).toBe(2)
    expect([0, 1, 2, 3].map((n) => again.applied(INSTANCE, n, A))).toEqual([false, true, true, false])
    expect([0, 1, 2, 3].map((n) => again.applied(INSTANCE, n, B))).toEqual([false, false, true, false])
    expect([apply(again, 1), apply(again, 2, [A, B])]).toEqual([[], []])
    again.acknowledge(INSTANCE, 3)
    expect(apply(again, 3).length).toBe(1)
    expect(home.lines("opencode/ses_a.jsonl").map((line) => line.tmoment)).toEqual([0, 1, 2, 2, 2, 3])
    again.close()
  })

  test("between the writes of two sessions: the moment is applied in the second one only", () => {
    const { ledger } = home.open()
    apply(ledger, 0, [A], 2)
    killed(ledger)
    const again = home.open().ledger
    expect(again.next(INSTANCE)).toBe(0)
    expect(apply(again, 0, [A, B]).length).toBe(1)
    expect(home.lines("opencode/ses_a.jsonl").length).toBe(2)
    expect(home.lines("opencode/ses_b.jsonl").length).toBe(1)
    again.close()
  })

  test("a second kill, after the scan saved the rows but before anything was resent, loses none of it", () => {
    const { ledger } = home.open()
    apply(ledger, 0, [A, B])
    killed(ledger)
    killed(home.open().ledger)
    const third = home.open()
    // The rows are up to date by now, so the logs are not read again.
    expect(third.report.filesRead).toBe(0)
    expect(third.ledger.next(INSTANCE)).toBe(0)
    expect(apply(third.ledger, 0, [A, B])).toEqual([])
    third.ledger.acknowledge(INSTANCE, 1)
    third.ledger.close()
    const fourth = home.open().ledger
    expect([fourth.next(INSTANCE), fourth.highestFound(INSTANCE)]).toEqual([1, undefined])
    fourth.close()
  })

  test("an unfinished group was never said: its moment is applied whole", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    const position = ledger.position(entry)
    const half = { ...A, id: "half", type: "x.t.e", ...position, tinstance: INSTANCE, tmoment: 0, tmore: 1 }
    ledger.append(entry, [JSON.stringify(half)])
    killed(ledger)
    const again = home.open().ledger
    expect(apply(again, 0, [A], 2).length).toBe(2)
    expect(home.lines("opencode/ses_a.jsonl").map((line) => line.seq)).toEqual([0, 1])
    again.close()
  })

  test("what was found is forgotten once the cursor has passed all of it", () => {
    const { ledger } = home.open()
    for (let n = 0; n < 3; n += 1) apply(ledger, n)
    killed(ledger)
    const again = home.open().ledger
    again.acknowledge(INSTANCE, 2)
    expect(again.applied(INSTANCE, 2, A)).toBe(true)
    again.acknowledge(INSTANCE, 3)
    expect(again.applied(INSTANCE, 2, A)).toBe(false)
    again.close()
  })

  test("with the database deleted as well: everything in the logs counts as found", () => {
    const { ledger } = home.open()
    for (let n = 0; n < 3; n += 1) apply(ledger, n)
    ledger.acknowledge(INSTANCE, 3)
    ledger.close()
    home.dropDatabase()
    const again = home.open().ledger
    expect([again.next(INSTANCE), again.highestFound(INSTANCE)]).toEqual([0, 2])
    expect([0, 1, 2].every((n) => again.applied(INSTANCE, n, A))).toBe(true)
    again.close()
  })

  test("at every point of a run of batches: no moment is lost and none is written twice", () => {
    // Kills after each step of the work; a step is one append, one acknowledgement or one save.
    for (let deadAt = 0; deadAt < 30; deadAt += 1) {
      home.remove()
      home = new Home()
      let steps = 0
      const work = (ledger: Ledger<Ids>, from: number): boolean => {
        for (let n = from; n < 8; n += 1) {
          for (const key of n % 2 === 0 ? [A, B] : [A]) {
            apply(ledger, n, [key], 1 + (n % 3))
            if (++steps === deadAt) return false
          }
          ledger.acknowledge(INSTANCE, n + 1)
          if (n % 3 === 2) ledger.flush()
          if (++steps === deadAt) return false
        }
        return true
      }
      const { ledger } = home.open()
      work(ledger, 0)
      killed(ledger)
      const again = home.open().ledger
      steps = 100
      work(again, again.next(INSTANCE) ?? 0)
      again.close()
      for (const [file, moments] of [
        ["ses_a", [0, 1, 1, 2, 2, 2, 3, 4, 4, 5, 5, 5, 6, 7, 7]],
        ["ses_b", [0, 2, 2, 2, 4, 4, 6]],
      ] as const) {
        const lines = home.lines(`opencode/${file}.jsonl`)
        expect(lines.map((line) => line.tmoment)).toEqual([...moments])
        expect(lines.map((line) => line.seq)).toEqual(moments.map((_, index) => index))
      }
    }
  })
})

describe("memory of what was found", () => {
  const marks = (moment: number, instance = INSTANCE) => ({ instance, moment, more: 0 })

  test("reaches fifty thousand moments back from the highest", () => {
    const found = new AppliedMoments()
    for (let n = 0; n <= 250_000; n += 1) found.note(marks(n), "s", undefined)
    expect(found.has(INSTANCE, 250_000, "s")).toBe(true)
    expect(found.has(INSTANCE, 200_001, "s")).toBe(true)
    expect(found.has(INSTANCE, 140_000, "s")).toBe(false)
    found.note(marks(1000), "s", undefined)
    expect(found.has(INSTANCE, 1000, "s")).toBe(false)
  })

  test("over all instances is bounded, and the ones read last stay", () => {
    const found = new AppliedMoments()
    for (let i = 0; i < 60; i += 1) {
      for (let n = 0; n < 20_000; n += 1) found.note(marks(n, `i${i}`), "s", undefined)
    }
    const ids = found.ids()
    expect(ids.length).toBeLessThanOrEqual(26)
    expect(ids.at(-1)).toBe("i59")
  })

  test("leaves out what lies below a stored cursor", () => {
    const found = new AppliedMoments()
    found.note(marks(4), "s", 5)
    found.note(marks(5), "s", 5)
    expect([found.has(INSTANCE, 4, "s"), found.has(INSTANCE, 5, "s")]).toEqual([false, true])
  })
})
