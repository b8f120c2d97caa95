/** What the ledger keeps in memory and when it saves: rarely, all together, and nothing that still waits is let go. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { openLedger } from "../../service/emit/open.ts"
import { A, B, Home } from "./ledger-home.ts"

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.remove())

const session = (n: number) => ({ agent: "opencode", session: `s${n}` })

describe("saving", () => {
  test("is planned once for any number of events, and not at all when nothing changed", () => {
    const { ledger } = home.open()
    expect(home.waiting).toBe(0)
    const entry = ledger.session(A, { fresh: true })
    for (let n = 0; n < 100; n += 1) home.emit(ledger, entry, 1, n)
    ledger.acknowledge("i1", 100)
    expect(home.waiting).toBe(1)
    home.elapse()
    expect(home.waiting).toBe(0)
    ledger.close()
  })

  test("takes a changed state along that has no event", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry)
    home.elapse()
    entry.state.open = true
    ledger.touch(entry)
    home.elapse()
    ledger.close()
    const again = home.open().ledger
    expect(again.session(A, { fresh: false }).state.open).toBe(true)
    again.close()
  })

  test("keeps the source of a session that the caller set", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    entry.source = "aep://elsewhere/agent/opencode/session/ses_a"
    home.emit(ledger, entry)
    ledger.close()
    const again = home.open().ledger
    expect(again.session(A, { fresh: false }).source).toBe("aep://elsewhere/agent/opencode/session/ses_a")
    again.close()
  })

  test("that fails is tried again, is said, and ends with the trouble", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry)
    const ids = entry.state.ids
    // A getter that throws is the one state superjson can never write.
    Object.defineProperty(entry.state, "ids", {
      enumerable: true,
      configurable: true,
      get: () => {
        throw new Error("not now")
      },
    })
    expect(ledger.flush()).toBe(false)
    expect(ledger.health()).toEqual({ degraded: true, store: "STATE" })
    expect(home.waiting).toBe(1)
    Object.defineProperty(entry.state, "ids", {
      enumerable: true,
      configurable: true,
      writable: true,
      value: ids,
    })
    home.elapse()
    expect(ledger.health()).toEqual({ degraded: false })
    ledger.close()
  })

  test("ends with close, which may be called twice; later appends are refused and counted", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry)
    ledger.close()
    ledger.close()
    expect(home.waiting).toBe(0)
    expect(home.emit(ledger, entry).result).toMatchObject({ kind: "failed", code: "ECLOSED", missed: 1 })
    expect(home.lines("opencode/ses_a.jsonl").length).toBe(1)
  })
})

describe("sessions in memory", () => {
  test("beyond the bound are let go with the next save and come back whole", () => {
    const { ledger } = home.open({ maxSessions: 10 })
    for (let n = 0; n < 50; n += 1) home.emit(ledger, ledger.session(session(n), { fresh: true }), 2)
    const eldest = ledger.session(session(49), { fresh: false })
    home.elapse()
    const back = ledger.session(session(0), { fresh: false })
    expect(back.state.ids).toEqual(["e1", "e2"])
    expect(back.seq).toBe(2)
    expect(ledger.session(session(49), { fresh: false })).toBe(eldest)
    ledger.close()
  })

  test("with an open run stay, however many there are", () => {
    const { ledger } = home.open({ maxSessions: 3 })
    const open = [0, 1, 2, 3, 4].map((n) => {
      const entry = ledger.session(session(n), { fresh: true })
      home.emit(ledger, entry, 1, undefined, "open")
      return entry
    })
    for (let n = 10; n < 30; n += 1) home.emit(ledger, ledger.session(session(n), { fresh: true }))
    home.elapse()
    for (const entry of open) expect(ledger.session(entry.key, { fresh: false })).toBe(entry)
    ledger.close()
  })

  test("only looked at are let go too", () => {
    const { ledger } = home.open()
    for (let n = 0; n < 20; n += 1) home.emit(ledger, ledger.session(session(n), { fresh: true }))
    ledger.close()
    const again = home.open({ maxSessions: 5 }).ledger
    const first = again.session(session(0), { fresh: false })
    for (let n = 1; n < 20; n += 1) again.session(session(n), { fresh: false })
    expect(home.waiting).toBe(1)
    home.elapse()
    expect(again.session(session(0), { fresh: false })).not.toBe(first)
    again.close()
  })
})

describe("open sessions", () => {
  test("are known after a clean stop, in the order they were met", () => {
    const { ledger } = home.open()
    for (const [key, type] of [
      [B, "open"],
      [A, "open"],
      [session(1), "open"],
      [session(2), "other"],
    ] as const) {
      home.emit(ledger, ledger.session(key, { fresh: true }), 1, undefined, type)
    }
    home.emit(ledger, ledger.session(session(1), { fresh: false }), 1, undefined, "shut")
    ledger.close()
    const again = home.open().ledger
    expect(again.openSessions().map((entry) => entry.key)).toEqual([B, A])
    again.close()
  })

  test("are known without the database as well", () => {
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 1, undefined, "open")
    home.emit(ledger, ledger.session(B, { fresh: true }), 1, undefined, "other")
    ledger.close()
    home.dropDatabase()
    const again = home.open().ledger
    expect(again.openSessions().map((entry) => entry.key)).toEqual([A])
    again.close()
  })
})

describe("the agent's own events", () => {
  test("have a log beside the sessions, and go on there without positions", () => {
    const { ledger } = home.open()
    for (let n = 0; n < 2; n += 1) home.emit(ledger, ledger.session({ agent: "opencode" }, { fresh: true }))
    ledger.close()
    home.dropDatabase()
    const again = home.open().ledger
    home.emit(again, again.session({ agent: "opencode" }, { fresh: true }))
    expect(home.lines("opencode/_agent.jsonl").map((line) => [line.id, line.session, line.seq])).toEqual([
      ["e1", undefined, undefined],
      ["e2", undefined, undefined],
      ["e3", undefined, undefined],
    ])
    again.close()
  })
})

describe("a home that cannot be used", () => {
  test("is refused with a reason that names it", () => {
    const refused = openLedger(home.options({ home: "/dev/null/home" }))
    expect(refused).toMatchObject({ kind: "unwritable", detail: expect.stringContaining("ENOTDIR") })
    expect(existsSync("/dev/null/home")).toBe(false)
  })
})
