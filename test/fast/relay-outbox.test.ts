/** What the relay does not have yet: sent in turns and in order, within a window, again from the confirmed
 *  after a loss. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { line, RelayHome } from "./relay-peer.ts"

let home: RelayHome
beforeEach(() => {
  home = new RelayHome()
})
afterEach(() => home.remove())

const A = "opencode/a.jsonl"
const B = "opencode/b.jsonl"
const names = (prefix: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `${prefix}${from + n}`)
const lines = (ids: readonly string[], extra: Record<string, unknown> = {}) =>
  ids.map((id) => line(id, extra))
/** Lets everything that leaves at the end of a turn leave. */
const turn = () => home.clock.advance(0)
const reconnect = () => {
  home.peer.last.handlers.closed()
  home.clock.advance(30_000)
  return home.peer.last.open()
}

describe("events that were said", () => {
  test("leave together at the end of the turn, as they stand in the log, with one ping behind them", () => {
    const binding = home.connected()
    const texts = [line("a", { x: "é\u2028" }), line("b")]
    for (const text of texts) binding.said(...home.append(A, text))
    const before = home.peer.last.sent.length
    turn()
    const sent = home.peer.last.sent.slice(before)
    expect(sent.slice(0, 2)).toEqual(texts)
    expect(sent.slice(2)).toEqual([expect.stringMatching(/^\{"type":"ping","t":\d+\}$/)])
    expect(binding.status()).toMatchObject({ sent: 2, confirmed: 0, behindLogs: 1 })
    home.peer.last.pong()
    expect(binding.status()).toMatchObject({ confirmed: 2, behindLogs: 0, behindBytes: 0, isReady: true })
  })

  test("of many sessions leave in turns, each session in its order", () => {
    const binding = home.connected({ limits: { visitBytes: 200 } })
    binding.said(...home.append(A, ...lines(names("a", 100))))
    binding.said(...home.append(B, ...lines(names("b", 10))))
    turn()
    const { ids } = home.peer.last
    expect(ids.filter((id) => id.startsWith("a"))).toEqual(names("a", 100))
    expect(ids.filter((id) => id.startsWith("b"))).toEqual(names("b", 10))
    // The short one does not wait for the long one's end.
    expect(ids.indexOf("b9")).toBeLessThan(60)
  })

  test("while nobody listens wait in the log, and nothing is kept of a log that is confirmed", () => {
    const binding = home.binding()
    binding.start()
    for (let n = 0; n < 50; n += 1) binding.said(...home.append(A, line(`a${n}`)))
    expect(binding.status()).toMatchObject({ behindLogs: 1, sent: 0 })
    home.peer.last.open().pong()
    expect(home.peer.last.ids).toEqual(names("a", 50))
    expect(binding.status()).toMatchObject({ behindLogs: 0, confirmed: 50 })
  })

  test("of two agents go over two connections, the second made when it has something to say", () => {
    const binding = home.connected()
    expect(home.peer.sockets).toHaveLength(1)
    expect(binding.status().isReady).toBe(true)
    binding.said(...home.append("kilocode/k.jsonl", line("k")))
    expect(home.peer.sockets).toHaveLength(2)
    expect(binding.status().isReady).toBe(false)
    home.peer.last.open()
    expect(JSON.parse(home.peer.last.sent[0] ?? "").identity).toEqual({ agent: "kilocode", instance: "here" })
    expect(home.peer.last.ids).toEqual(["k"])
    expect(home.peer.sockets[0]?.ids).toEqual([])
    expect(binding.status().isReady).toBe(true)
  })
})

describe("the window", () => {
  test("holds so many events, and its oldest pong makes room", () => {
    const binding = home.connected({ limits: { windowEvents: 30, batchEvents: 10 } })
    binding.said(...home.append(A, ...lines(names("a", 100))))
    turn()
    expect(home.peer.last.ids).toEqual(names("a", 30))
    home.clock.advance(10_000)
    expect(home.peer.last.ids).toHaveLength(30)
    home.peer.last.pong(1)
    expect(home.peer.last.ids).toEqual(names("a", 40))
    expect(binding.status()).toMatchObject({ sent: 40, confirmed: 10 })
    for (let n = 0; n < 10; n += 1) home.peer.last.pong()
    expect(home.peer.last.ids).toEqual(names("a", 100))
    expect(binding.status()).toMatchObject({ sent: 100, confirmed: 100, behindBytes: 0 })
  })

  test("holds so many bytes, one line aside", () => {
    const binding = home.connected({ limits: { windowBytes: 10_000, batchBytes: 2_000, visitBytes: 1_000 } })
    binding.said(...home.append(A, ...lines(names("a", 100), { x: "x".repeat(400) })))
    turn()
    const sent = home.peer.last.ids.length
    expect(sent).toBeGreaterThan(18)
    expect(sent).toBeLessThan(24)
  })

  test("lets a single line through that is larger than all of it", () => {
    const binding = home.connected({ limits: { windowBytes: 1000, batchBytes: 1000 } })
    binding.said(...home.append(A, line("big", { x: "x".repeat(50_000) }), line("next")))
    turn()
    expect(home.peer.last.ids).toEqual(["big"])
    home.peer.last.pong()
    expect(home.peer.last.ids).toEqual(["big", "next"])
  })

  test("stays shut while the socket has not given its bytes to the system", () => {
    const binding = home.connected()
    home.peer.last.bufferedAmount = 600 * 1024
    binding.said(...home.append(A, line("a")))
    turn()
    expect(home.peer.last.ids).toEqual([])
    home.peer.last.bufferedAmount = 0
    home.peer.last.pong()
    home.clock.advance(30_000)
    home.peer.last.pong()
    expect(home.peer.last.ids).toEqual(["a"])
  })
})

describe("after a loss", () => {
  test("everything from the last confirmed byte of each log is sent again, in order", () => {
    const binding = home.connected({ limits: { batchEvents: 10, windowEvents: 40 } })
    binding.said(...home.append(A, ...lines(names("a", 25))))
    binding.said(...home.append(B, ...lines(names("b", 25))))
    turn()
    const first = home.peer.last
    expect(first.ids).toHaveLength(40)
    first.pong(1)
    const confirmed = first.ids.slice(0, 10)
    const second = reconnect()
    for (let n = 0; n < 10; n += 1) second.pong()
    expect(second.ids.filter((id) => id.startsWith("a"))).toEqual(
      names("a", 25).filter((id) => !confirmed.includes(id)),
    )
    expect(second.ids.filter((id) => id.startsWith("b"))).toEqual(
      names("b", 25).filter((id) => !confirmed.includes(id)),
    )
    expect(binding.status()).toMatchObject({ confirmed: 50, resent: 40, behindBytes: 0 })
  })

  test("the window is whole again", () => {
    const binding = home.connected({ limits: { windowBytes: 1000 } })
    binding.said(...home.append(A, ...lines(names("a", 50))))
    turn()
    const { ids } = home.peer.last
    expect(ids.length).toBeLessThan(50)
    expect(reconnect().ids).toEqual(ids)
  })

  test("a pong of the connection before confirms nothing", () => {
    const binding = home.connected()
    binding.said(...home.append(A, line("a")))
    turn()
    const first = home.peer.last
    const second = reconnect()
    first.pong()
    expect(binding.status().confirmed).toBe(0)
    second.pong()
    expect(binding.status().confirmed).toBe(1)
  })
})

describe("claims", () => {
  test("a living session with nothing to send is claimed by its last line after each connect", () => {
    home.live = [A, B, "opencode/gone.jsonl", "kilocode/k.jsonl"]
    home.append(A, line("a0"), line("a1"))
    home.append(B, line("b0"))
    const binding = home.connected()
    expect(home.peer.last.ids.sort()).toEqual(["a1", "b0"])
    expect(binding.status()).toMatchObject({ claimed: 2, isReady: true, behindLogs: 0 })
    binding.said(...home.append(B, line("b1")))
    const second = reconnect()
    // The one that has something to send is claimed by that.
    expect(second.ids.sort()).toEqual(["a1", "b1"])
    expect(binding.status()).toMatchObject({ claimed: 3 })
  })

  test("of a session that came alive while connected go out at once, unless it speaks for itself", () => {
    home.append(A, line("a0"))
    const binding = home.connected()
    const before = home.peer.last.ids
    binding.claim(A)
    binding.claim(B)
    binding.said(...home.append(B, line("b0")))
    turn()
    expect(home.peer.last.ids.slice(before.length)).toEqual(["a0", "b0"])
    expect(binding.status()).toMatchObject({ claimed: 1 })
    // Where nobody listens the next connect claims what is alive then.
    home.peer.last.handlers.closed()
    binding.claim(A)
    home.live = []
    home.clock.advance(30_000)
    expect(home.peer.last.open().ids).not.toContain("a0")
  })

  test("stay within the window", () => {
    const files = names("opencode/s", 100).map((name) => `${name}.jsonl`)
    for (const file of files) home.append(file, line(file))
    home.live = files
    home.binding({ limits: { windowEvents: 30, batchEvents: 10 } }).start()
    const socket = home.peer.last.open()
    expect(socket.ids).toHaveLength(30)
    for (let n = 0; n < 10; n += 1) socket.pong()
    expect(socket.ids.sort()).toEqual(files.sort())
  })
})

describe("a log that is not what it was", () => {
  const cutTold = () => home.told.filter((text) => text.includes("cut or deleted")).length

  test("that was cut goes on with what it still holds, counted, told once", () => {
    const binding = home.binding()
    binding.start()
    const [, , whole] = home.append(A, ...lines(names("a", 10)))
    binding.said(A, 0, whole)
    binding.said(...home.append(B, ...lines(names("b", 10))))
    truncateSync(join(home.root, A), whole / 2)
    truncateSync(join(home.root, B), 0)
    home.peer.last.open().pong()
    expect(home.peer.last.ids).toEqual(names("a", 5))
    expect(binding.status()).toMatchObject({ cut: 2, behindLogs: 0, behindBytes: 0 })
    expect(cutTold()).toBe(1)
    binding.said(...home.append(A, line("next")))
    turn()
    expect(home.peer.last.ids.at(-1)).toBe("next")
  })

  test("that vanished is let go, and begins anew when it speaks again", () => {
    const binding = home.binding()
    binding.start()
    binding.said(...home.append(A, line("a")))
    rmSync(join(home.root, A))
    home.peer.last.open().pong()
    expect(binding.status()).toMatchObject({ cut: 1, behindLogs: 0 })
    binding.said(...home.append(A, line("anew")))
    turn()
    home.peer.last.pong()
    expect(home.peer.last.ids).toEqual(["anew"])
    expect(binding.status()).toMatchObject({ confirmed: 1, behindBytes: 0 })
  })

  test("that began anew under bytes in flight is not confirmed by the old pong", () => {
    const binding = home.connected()
    binding.said(...home.append(A, ...lines(names("a", 10))))
    turn()
    rmSync(join(home.root, A))
    const [, , end] = home.append(A, line("n0"), line("n1"))
    binding.said(A, 0, end)
    home.peer.last.pong()
    expect(binding.status().behindBytes).toBe(end)
    turn()
    home.peer.last.pong()
    expect(home.peer.last.ids.slice(-2)).toEqual(["n0", "n1"])
    expect(binding.status()).toMatchObject({ behindBytes: 0, cut: 1 })
  })

  test("that somebody else wrote to is sent whole lines of, and broken ones are skipped and counted", () => {
    const binding = home.binding()
    binding.start()
    binding.said(...home.append(A, line("a")))
    home.append(A, "not an event")
    binding.said(...home.append(A, line("b")))
    home.peer.last.open().pong()
    expect(home.peer.last.ids).toEqual(["a", "b"])
    expect(binding.status()).toMatchObject({ skipped: 1, behindBytes: 0 })
  })

  test("that cannot be read is tried again every second, and the others are not kept waiting", () => {
    const binding = home.connected()
    // A folder in its place is unreadable for any user.
    rmSync(join(home.root, A), { force: true })
    home.append(`${A}/x`, "")
    binding.said(A, 0, 10)
    binding.said(...home.append(B, line("b")))
    turn()
    expect(home.peer.last.ids).toEqual(["b"])
    rmSync(join(home.root, A), { recursive: true })
    const text = line("a")
    writeFileSync(join(home.root, A), `${text}\n`)
    binding.said(A, 10, text.length + 1)
    turn()
    home.peer.last.pong()
    home.clock.advance(1000)
    home.peer.last.pong()
    expect(home.peer.last.ids).toEqual(["b", "a"])
    expect(binding.status().behindLogs).toBe(0)
  })
})

describe("events that no log takes", () => {
  const key = { agent: "opencode", session: "a" }

  test.each([
    ["in one batch", {}],
    ["in many", { visitBytes: 100, batchEvents: 3 }],
  ])("go out behind what the session said before and before what it says after, %s", (_name, limits) => {
    const binding = home.connected({ limits })
    binding.said(...home.append(A, ...lines(names("a", 5))))
    binding.missed(key, line("m0"))
    binding.missed(key, line("m1"))
    binding.said(...home.append(A, ...lines(names("a", 5, 5))))
    binding.missed(key, line("m2"))
    turn()
    const order = [...names("a", 5), "m0", "m1", ...names("a", 5, 5), "m2"]
    expect(home.peer.last.ids).toEqual(order)
    const second = reconnect()
    expect(second.ids).toEqual(order)
    for (let n = 0; n < 10; n += 1) second.pong()
    expect(binding.status()).toMatchObject({ behindBytes: 0, behindLogs: 0, confirmed: 13, dropped: 0 })
  })

  test("of a session that has nothing to send go at once, and its next line finds its place", () => {
    const binding = home.connected()
    const [, start] = home.append(A, line("old"))
    binding.missed(key, line("m0"))
    turn()
    home.peer.last.pong()
    binding.missed(key, line("m1"))
    binding.said(...home.append(A, line("a")))
    turn()
    home.peer.last.pong()
    expect(start).toBe(0)
    expect(home.peer.last.ids).toEqual(["m0", "m1", "a"])
    expect(binding.status()).toMatchObject({ behindLogs: 0, behindBytes: 0 })
  })

  test("go out though the log was cut before the place where they stood", () => {
    const binding = home.binding()
    binding.start()
    const [, , end] = home.append(A, ...lines(names("a", 4)))
    binding.said(A, 0, end)
    binding.missed(key, line("m0"))
    truncateSync(join(home.root, A), end / 2)
    home.peer.last.open().pong()
    home.peer.last.pong()
    expect(home.peer.last.ids).toEqual(["a0", "a1", "m0"])
    expect(binding.status()).toMatchObject({ behindLogs: 0, cut: 1 })
  })

  test("of the agent itself too", () => {
    const binding = home.connected()
    binding.missed({ agent: "opencode" }, line("presence"))
    turn()
    expect(home.peer.last.ids).toEqual(["presence"])
  })

  test("are bounded: debug and info go first, then what comes last; each is counted, all told once", () => {
    const binding = home.binding({ limits: { unloggedEvents: 4 } })
    binding.start()
    binding.missed(key, line("d0", { severity: "debug" }))
    binding.missed(key, line("i1"))
    binding.missed(key, line("n2", { severity: "notice" }))
    binding.missed(key, line("e3", { severity: "error" }))
    binding.missed(key, line("d4", { severity: "debug" }))
    binding.missed(key, line("w5", { severity: "warning" }))
    binding.missed(key, line("w6", { severity: "warning" }))
    binding.missed(key, line("w7", { severity: "warning" }))
    expect(binding.status().dropped).toBe(4)
    home.peer.last.open().pong()
    expect(home.peer.last.ids).toEqual(["n2", "e3", "w5", "w6"])
    expect(home.told.filter((text) => text.includes("memory"))).toHaveLength(1)
    // What was confirmed makes room.
    binding.missed(key, line("i8"))
    turn()
    expect(home.peer.last.ids.at(-1)).toBe("i8")
  })

  test("are bounded in bytes as well", () => {
    const binding = home.binding({ limits: { unloggedBytes: 1000 } })
    binding.start()
    for (let n = 0; n < 10; n += 1) binding.missed(key, line(`m${n}`, { x: "x".repeat(300) }))
    expect(binding.status().dropped).toBe(8)
    expect(binding.status().behindBytes).toBeLessThanOrEqual(1000)
  })
})

test("the end waits for the pong of what is under way, and for no more than its bound", async () => {
  const binding = home.connected()
  binding.said(...home.append(A, line("a")))
  const closed = binding.close(2000)
  expect(home.peer.last.ids).toEqual(["a"])
  expect(home.peer.last.end).toBeUndefined()
  home.peer.last.pong()
  await closed
  expect(home.peer.last.end).toBe("closed")
  expect(binding.status()).toMatchObject({ confirmed: 1, isReady: false })
})

test("a relay that answers nothing any more does not keep us from stopping", async () => {
  const binding = home.connected()
  binding.said(...home.append(A, line("a")))
  const closed = binding.close(2000)
  home.clock.advance(2000)
  await closed
  expect(home.peer.last.end).toBe("closed")
  // Whatever is still said stands in the log and goes out after the next start.
  binding.said(...home.append(A, line("late")))
  expect(home.clock.waiting).toBe(0)
})
