/** A log that takes no lines: events are counted, told of first when it takes them again, and no position repeats. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs"
import type { SessionEntry } from "../../service/emit/entry.ts"
import type { Ledger } from "../../service/emit/ledger.ts"
import { A, B, Home, type Ids, makeEvent, positionsOf } from "./ledger-home.ts"

const FILE = "opencode/ses_a.jsonl"

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.remove())

/** Puts the real, always full device of the system in the place of the session's log. */
function fillDisk(): void {
  mkdirSync(home.log("opencode"), { recursive: true })
  if (existsSync(home.log(FILE))) renameSync(home.log(FILE), home.log("aside"))
  symlinkSync("/dev/full", home.log(FILE))
}

function freeDisk(): void {
  rmSync(home.log(FILE))
  if (existsSync(home.log("aside"))) renameSync(home.log("aside"), home.log(FILE))
}

function mend(ledger: Ledger<Ids>, entry: SessionEntry<Ids>) {
  return ledger.mend(entry, (position, gap) => {
    const event = makeEvent(entry.key, "gap", "x.test.log.gap", position)
    return JSON.stringify({ ...event, data: gap })
  })
}

describe("a full disk", () => {
  test("from the first event on: every event is counted, and the gap event is the first line", () => {
    fillDisk()
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    expect(home.emit(ledger, entry, 2).result).toEqual({ kind: "failed", code: "ENOSPC", missed: 2 })
    expect(home.emit(ledger, entry, 3).result).toEqual({ kind: "failed", code: "ENOSPC", missed: 5 })
    expect(ledger.health()).toEqual({ degraded: true, log: { code: "ENOSPC", sessions: 1 } })
    expect(ledger.holes()).toEqual([entry])
    freeDisk()
    home.nowMs += 1000
    expect(mend(ledger, entry)).toMatchObject({ kind: "mended", file: FILE, start: 0 })
    expect(ledger.health()).toEqual({ degraded: false })
    expect(home.emit(ledger, entry).result.kind).toBe("written")
    const lines = home.lines(FILE)
    expect(lines[0]?.data).toEqual({ reason: "degraded", missed: 5 })
    expect(positionsOf(lines)).toEqual(["1,0", "1,1"])
    ledger.close()
  })

  test("is tried again at most once a second, and a try in vain uses up no position", () => {
    fillDisk()
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry)
    const tries: number[] = []
    for (let ms = 0; ms < 3500; ms += 100) {
      const result = ledger.mend(entry, (position) => {
        tries.push(ms)
        expect(position).toEqual({ epoch: 1, seq: 0 })
        return "{}"
      })
      expect(result).toEqual({ kind: "waiting", code: "ENOSPC" })
      home.nowMs += 100
    }
    expect(tries).toEqual([1000, 2000, 3000])
    expect([entry.epoch, entry.seq]).toEqual([0, 1])
    ledger.close()
  })

  test("that stays for an hour costs one epoch, and live positions go on in the old one meanwhile", () => {
    fillDisk()
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    for (let second = 0; second < 3600; second += 1) {
      mend(ledger, entry)
      home.emit(ledger, entry)
      home.nowMs += 1000
      if (second % 60 === 0) home.elapse()
    }
    expect([entry.epoch, entry.seq]).toEqual([0, 3600])
    freeDisk()
    expect(mend(ledger, entry).kind).toBe("mended")
    expect(home.lines(FILE)).toMatchObject([{ epoch: 1, seq: 0, data: { reason: "degraded", missed: 3600 } }])
    ledger.close()
  })

  test("hits one session only: the others go on", () => {
    fillDisk()
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }))
    expect(home.emit(ledger, ledger.session(B, { fresh: true })).result.kind).toBe("written")
    ledger.close()
  })

  test("in the agent's own log, which has no gap event: the count comes with the first write", () => {
    mkdirSync(home.log("opencode"), { recursive: true })
    symlinkSync("/dev/full", home.log("opencode/_agent.jsonl"))
    const { ledger } = home.open()
    const entry = ledger.session({ agent: "opencode" }, { fresh: true })
    home.emit(ledger, entry, 2)
    rmSync(home.log("opencode/_agent.jsonl"))
    expect(home.emit(ledger, entry).result).toMatchObject({ kind: "failed", missed: 3 })
    home.nowMs += 1000
    expect(mend(ledger, entry)).toEqual({ kind: "whole" })
    expect(home.emit(ledger, entry).result).toMatchObject({ kind: "written", missed: 3 })
    expect(home.emit(ledger, entry).result).not.toHaveProperty("missed")
    expect(ledger.degraded).toBe(false)
    ledger.close()
  })

  test("and a clean stop: the hole is told of after the next start", () => {
    fillDisk()
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 4)
    ledger.close()
    freeDisk()
    const again = home.open().ledger
    const entry = again.session(A, { fresh: false })
    expect(entry.gap).toEqual({ reason: "degraded", missed: 4 })
    expect(mend(again, entry).kind).toBe("mended")
    expect(positionsOf(home.lines(FILE))).toEqual(["1,0"])
    again.close()
  })

  test("and a kill before the next save: the database was told at once, so the epoch moves on", () => {
    fillDisk()
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry, 4)
    cpSync(home.path, `${home.path}-kept`, { recursive: true })
    ledger.close()
    rmSync(home.path, { recursive: true })
    renameSync(`${home.path}-kept`, home.path)
    freeDisk()
    const again = home.open().ledger
    expect(again.position(again.session(A, { fresh: false }))).toEqual({ epoch: 1, seq: 0 })
    again.close()
  })
})

describe("logs that somebody touched", () => {
  test("a log removed while its descriptor is closed is noticed by the write, which loses nothing more", () => {
    const { ledger } = home.open({ maxHandles: 1 })
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry, 3)
    home.emit(ledger, ledger.session(B, { fresh: true }))
    rmSync(home.log(FILE))
    expect(home.emit(ledger, entry).result).toMatchObject({ kind: "written", start: 0 })
    expect(mend(ledger, entry).kind).toBe("mended")
    expect(home.lines(FILE)).toMatchObject([
      { epoch: 0, seq: 3 },
      { epoch: 1, seq: 0, data: { reason: "lost-tail", missed: 1 } },
    ])
    expect(ledger.degraded).toBe(false)
    ledger.close()
  })

  test("a log that is back after it was away, say on a disk mounted again, is neither cut nor counted twice", () => {
    const { ledger } = home.open({ maxHandles: 1 })
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry, 3)
    home.emit(ledger, ledger.session(B, { fresh: true }))
    renameSync(home.log(FILE), home.log("aside"))
    ledger.flush()
    home.emit(ledger, entry)
    home.emit(ledger, ledger.session(B, { fresh: true }))
    renameSync(home.log("aside"), home.log(FILE))
    home.emit(ledger, entry)
    ledger.close()
    const again = home.open().ledger
    expect(again.session(A, { fresh: false }).state.ids).toEqual(["e1", "e2", "e3", "e5", "e7"])
    const lines = home.lines(FILE)
    expect(lines.map((line) => line.id)).toEqual(["e1", "e2", "e3", "e7"])
    expect(new Set(positionsOf(lines)).size).toBe(4)
    again.close()
  })

  test("a log that cannot be read neither stops the service nor is overwritten, and is read when it can be", () => {
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 3)
    ledger.close()
    home.dropDatabase()
    renameSync(home.log(FILE), home.log("aside"))
    symlinkSync(home.log(FILE), home.log(FILE))
    const again = home.open()
    const entry = again.ledger.session(A, { fresh: false })
    expect(entry.failing?.code).toBe("ELOOP")
    expect(home.emit(again.ledger, entry).result).toMatchObject({ kind: "failed", code: "ELOOP", missed: 1 })
    home.nowMs += 1000
    expect(mend(again.ledger, entry)).toEqual({ kind: "waiting", code: "ELOOP" })
    freeDisk()
    home.nowMs += 1000
    expect(mend(again.ledger, entry).kind).toBe("mended")
    expect(home.lines(FILE).map((line) => line.id)).toEqual(["e1", "e2", "e3", "gap"])
    expect(entry.state.ids).toEqual(["e1", "e2", "e3"])
    expect(again.ledger.degraded).toBe(false)
    again.ledger.close()
  })

  test("a log of which a folder stands in the way is failing, and heals when it is gone", () => {
    mkdirSync(home.log(FILE), { recursive: true })
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    expect(home.emit(ledger, entry, 2).result).toMatchObject({ kind: "failed", code: "EISDIR", missed: 2 })
    rmSync(home.log(FILE), { recursive: true })
    home.nowMs += 1000
    expect(mend(ledger, entry).kind).toBe("mended")
    expect(home.emit(ledger, entry).result.kind).toBe("written")
    const positions = positionsOf(home.lines(FILE))
    expect(new Set(positions).size).toBe(2)
    expect(readFileSync(home.log(FILE), "utf8")).toContain('"missed":2')
    ledger.close()
  })
})
