/** How far the relay has each log, over restarts: nothing lost, little repeated, and a bounded start. */
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { rmSync, truncateSync } from "node:fs"
import { join } from "node:path"
import { RelayTable } from "../../service/emit/relay/table.ts"
import { TABLES } from "../../service/session/store.ts"
import { line, RelayHome } from "./relay-peer.ts"

let home: RelayHome
beforeEach(() => {
  home = new RelayHome()
})
afterEach(() => home.remove())

const A = "opencode/a.jsonl"
const B = "opencode/b.jsonl"
/** What a process that starts now sends to a relay that answers. */
function sentByNext(extra: Parameters<RelayHome["binding"]>[0] = {}): string[] {
  const binding = home.binding(extra)
  binding.start()
  const socket = home.peer.last.open()
  for (let n = 0; n < 20; n += 1) socket.pong()
  home.clock.advance(1000)
  return socket.ids
}

describe("the first start with a relay", () => {
  beforeEach(() => {
    home.append(A, line("a0"), line("a1"))
    home.append(B, line("b0"))
    home.row(A, { open: true })
    home.row(B)
  })

  test("sends sessions in which something is open from their start, and others from now on", () => {
    expect(sentByNext()).toEqual(["a0", "a1"])
    home.append(B, line("b1"))
    home.row(B)
    expect(sentByNext()).toEqual(["b1"])
  })

  test("sends everything when nobody knows any more what the relay has", () => {
    expect(sentByNext({ memoryLost: true }).sort()).toEqual(["a0", "a1", "b0"])
    expect(sentByNext()).toEqual([])
  })

  test("with another relay is a first start again, and the first relay is not forgotten", () => {
    sentByNext()
    home.append(A, line("a2"))
    home.row(A, { open: true })
    expect(sentByNext({ url: "ws://other/socket" })).toEqual(["a0", "a1", "a2"])
    expect(sentByNext()).toEqual(["a2"])
  })

  test("after months forgets relays that are gone, and not the one it is started for", () => {
    sentByNext()
    sentByNext({ url: "ws://other/socket" })
    home.clock.advance(91 * 24 * 3600 * 1000)
    expect(sentByNext()).toEqual([])
    expect(sentByNext({ url: "ws://other/socket" })).toEqual(["a0", "a1"])
  })
})

describe("a restart", () => {
  test("goes on behind what was confirmed and saved", () => {
    const binding = home.connected({ limits: { batchEvents: 2, windowEvents: 2 } })
    binding.said(...home.append(A, line("a0"), line("a1"), line("a2")))
    home.clock.advance(0)
    home.peer.last.pong()
    home.clock.advance(1000)
    home.row(A)
    // Killed here: a2 was sent and never confirmed.
    expect(sentByNext()).toEqual(["a2"])
    expect(sentByNext()).toEqual([])
  })

  test("repeats what was confirmed within the last second before a kill", () => {
    const binding = home.connected()
    binding.said(...home.append(A, line("a0")))
    home.clock.advance(0)
    home.peer.last.pong()
    home.row(A)
    expect(sentByNext()).toEqual(["a0"])
  })

  test("after an orderly stop repeats nothing", async () => {
    const binding = home.connected()
    binding.said(...home.append(A, line("a0")))
    const closed = binding.close(1000)
    home.peer.last.pong()
    await closed
    home.row(A)
    expect(sentByNext()).toEqual([])
  })

  test("knows sessions that began while no relay was there", () => {
    home.connected()
    home.append(B, line("b0"))
    home.row(B)
    expect(sentByNext()).toEqual(["b0"])
  })

  test("sends a log that holds less than the relay had from its start, and counts it", () => {
    const binding = home.connected()
    const [, , end] = home.append(A, line("a0"), line("a1"))
    binding.said(A, 0, end)
    home.clock.advance(0)
    home.peer.last.pong()
    home.clock.advance(1000)
    truncateSync(join(home.root, A), end / 2)
    home.row(A)
    const next = home.binding()
    next.start()
    expect(next.status()).toMatchObject({ cut: 1, behindLogs: 1 })
    expect(sentByNext()).toEqual(["a0"])
    expect(sentByNext()).toEqual([])
  })

  test("does not take the cursor of a deleted log for that of its successor", () => {
    const binding = home.connected()
    binding.said(...home.append(A, line("a0"), line("a1")))
    home.clock.advance(0)
    home.peer.last.pong()
    home.clock.advance(1000)
    rmSync(join(home.root, A))
    // Longer than the old one, and the process dies before any pong.
    binding.said(...home.append(A, line("n0"), line("n1"), line("n2")))
    home.clock.advance(1000)
    home.row(A)
    expect(sentByNext()).toEqual(["n0", "n1", "n2"])
  })

  test("with many logs reads those only that the relay is behind on", () => {
    for (let n = 0; n < 500; n += 1) {
      home.append(`opencode/s${n}.jsonl`, line(`s${n}`))
      home.row(`opencode/s${n}.jsonl`)
    }
    home.connected()
    home.append("opencode/s7.jsonl", line("more"))
    home.row("opencode/s7.jsonl")
    const binding = home.binding()
    binding.start()
    expect(binding.status()).toMatchObject({ behindLogs: 1 })
  })
})

test("a database that cannot be written costs repetitions, and is tried again", () => {
  const saves: number[] = []
  let isFull = true
  const table = {
    open: () => ({ behind: [], saved: { kind: "failed", code: "SQLITE_FULL" } as const }),
    save: (_url: string, confirmed: ReadonlyMap<string, number>) => {
      saves.push(confirmed.size)
      return isFull ? ({ kind: "failed", code: "SQLITE_FULL" } as const) : ({ kind: "saved" } as const)
    },
  }
  const binding = home.connected({ table })
  binding.said(...home.append(A, line("a0")))
  home.clock.advance(0)
  home.peer.last.pong()
  home.clock.advance(2500)
  isFull = false
  home.clock.advance(10_000)
  expect(saves).toEqual([1, 1, 1])
  // What is saved is not saved again.
  binding.said(...home.append(B, line("b0")))
  home.clock.advance(0)
  home.peer.last.pong()
  home.clock.advance(1000)
  expect(saves).toEqual([1, 1, 1, 1])
})

test("a database that took no write at the start makes everything be sent, and remembers once it can", () => {
  const db = new Database(":memory:", { strict: true })
  db.run(TABLES)
  db.run(
    "INSERT INTO sessions VALUES ('opencode', 'a', 'opencode/a.jsonl', NULL, 0, 1, 9, 0, NULL, 0, 0, '{}')",
  )
  db.run("PRAGMA query_only = ON")
  const table = new RelayTable(db)
  const url = "ws://relay/socket"
  expect(table.open(url, 0, false)).toEqual({
    behind: [{ file: A, size: 9, confirmed: 0, wasCut: false }],
    saved: { kind: "failed", code: "SQLITE_READONLY" },
  })
  db.run("PRAGMA query_only = OFF")
  expect(table.save(url, new Map([[A, 9]]))).toEqual({ kind: "saved" })
  expect(table.open(url, 0, false)).toEqual({ behind: [], saved: { kind: "saved" } })
  db.close()
})

test("writes to a database that is closed already fail without a throw", () => {
  home.store.close(true)
  expect(home.table.save("ws://relay/socket", new Map([[A, 1]])).kind).toBe("failed")
})
