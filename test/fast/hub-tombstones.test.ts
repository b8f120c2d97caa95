/** What is remembered of sessions that are wholly gone (AEP-0003 §5): which, and how much at most. */
import { describe, expect, test } from "bun:test"
import { Tombstones } from "../../service/hub/tombstones.ts"

describe("tombstones", () => {
  test("are of the sessions that went last", () => {
    const gone = new Tombstones(2)
    for (const session of ["a", "b", "a", "c"]) gone.put(session, { epoch: 0, seq: session.charCodeAt(0) })
    expect([gone.take("b"), gone.take("a"), gone.take("c")]).toEqual([
      undefined,
      { epoch: 0, seq: 97 },
      { epoch: 0, seq: 99 },
    ])
    expect(gone.take("c")).toBeUndefined()
  })

  test("of sessions with names without end are few: a name is kept as it came", () => {
    const gone = new Tombstones(100)
    for (let index = 0; index < 100; index += 1) {
      gone.put(`${index}${"n".repeat(10_000)}`, { epoch: 0, seq: 0 })
    }
    expect(gone.size).toBe(2)
    gone.put("n".repeat(1_000_000), { epoch: 0, seq: 0 })
    expect(gone.size).toBe(0)
    for (let index = 0; index < 200; index += 1) gone.put(`ses_${index}`, { epoch: 0, seq: 0 })
    expect(gone.size).toBe(100)
  })
})
