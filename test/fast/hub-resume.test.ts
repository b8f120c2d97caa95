/** Where a subscription begins (AEP-0003 §3.3, §5, §7), and the SSE ids that name positions. */
import { describe, expect, test } from "bun:test"
import { eventId, readFrom, readLastEventId } from "../../service/hub/resume.ts"
import { eventOf } from "./hub-events.ts"

/** The positions read, as entries. */
function positions(value: unknown, most = 10): unknown {
  const read = readFrom(value, most)
  if (!("from" in read) || read.from.kind !== "positions") throw new Error(JSON.stringify(read))
  return [...read.from.positions]
}

describe("from", () => {
  test("absent begins with what happens next", () => {
    expect(readFrom(undefined, 10)).toEqual({ from: { kind: "live" } })
  })

  test("`all` begins with everything held", () => {
    expect(readFrom("all", 10)).toEqual({ from: { kind: "all" } })
  })

  test("an empty list names no session, and is a list all the same", () => {
    expect(positions([])).toEqual([])
  })

  test("positions keep epoch 0 and seq 0, and epoch may be left out", () => {
    expect(
      positions([
        { session: "a", epoch: 0, seq: 0 },
        { session: "b", seq: 7 },
      ]),
    ).toEqual([
      ["a", { epoch: 0, seq: 0 }],
      ["b", { epoch: 0, seq: 7 }],
    ])
  })

  test("of two positions of one session the lower counts", () => {
    const twice = [
      { session: "a", epoch: 1, seq: 2 },
      { session: "a", epoch: 0, seq: 9 },
      { session: "a", epoch: 1, seq: 0 },
    ]
    expect(positions(twice)).toEqual([["a", { epoch: 0, seq: 9 }]])
  })

  test("more positions than are taken is a limit, named", () => {
    const three = ["a", "b", "c"].map((session) => ({ session, seq: 0 }))
    expect(readFrom(three, 2)).toEqual({
      code: "limit-exceeded",
      fault: "from: at most 2 positions are taken",
    })
    expect(positions(three, 3)).toHaveLength(3)
  })

  const broken: [string, unknown][] = [
    ["an object", {}],
    ["another word", "everything"],
    ["null", null],
    ["a number", 0],
    ["a position without session", [{ epoch: 0, seq: 0 }]],
    ["an empty session", [{ session: "", seq: 0 }]],
    ["a position without seq", [{ session: "a" }]],
    ["a negative seq", [{ session: "a", seq: -1 }]],
    ["a fraction", [{ session: "a", seq: 0.5 }]],
    ["a seq as text", [{ session: "a", seq: "0" }]],
    ["a null epoch", [{ session: "a", epoch: null, seq: 0 }]],
    ["a bad position among good ones", [{ session: "a", seq: 0 }, "b"]],
  ]
  test.each(broken)("%s is refused", (_, value) => {
    expect(readFrom(value, 10)).toEqual({ code: "invalid-filter", fault: expect.stringMatching(/^from/) })
  })
})

describe("Last-Event-ID", () => {
  const ids: [string, unknown][] = [
    ["s1:0:0", { session: "s1", position: { epoch: 0, seq: 0 } }],
    ["a:b:c:2:17", { session: "a:b:c", position: { epoch: 2, seq: 17 } }],
    [":::1:2", { session: "::", position: { epoch: 1, seq: 2 } }],
    ["s1:0", undefined],
    ["s1", undefined],
    ["", undefined],
    [":0:0", undefined],
    ["s1:0:x", undefined],
    ["s1:-1:0", undefined],
    ["s1:0:99999999999999999", undefined],
  ]
  test.each(ids)("`%s` is read from its right end", (text, expected) => {
    expect(readLastEventId(text)).toEqual(expected as never)
  })

  test.each(["s1", "a:b", "ä💡", "x y"])("what we write for session `%s` is read back", (session) => {
    const id = eventId(eventOf({ session, epoch: 3, seq: 0 }))
    expect(readLastEventId(id ?? "")).toEqual({ session, position: { epoch: 3, seq: 0 } })
  })

  test("an event without a position has no id", () => {
    expect(eventId(eventOf({ type: "control.cancel", seq: undefined }))).toBeUndefined()
    expect(eventId(eventOf({ type: "agent.idle", session: undefined, seq: undefined }))).toBeUndefined()
  })

  test.each(["a\nb", "a\rb", "a\0b", "a\u0085b"])(
    "a session that would forge a line has no id (%j)",
    (session) => {
      expect(eventId(eventOf({ session }))).toBeUndefined()
    },
  )
})
