/** Where a session goes on after any kind of stop: log and database in every combination of present, old and gone. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import type { Ledger } from "../../service/emit/ledger.ts"
import { seedPosition } from "../../service/emit/recovery.ts"
import { A, B, Home, type Ids, NOON, positionsOf } from "./ledger-home.ts"

const FILE = "opencode/ses_a.jsonl"
const DB = "opencode-aep.db"

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.remove())

/** Three events in one session, then a clean stop. */
function threeEvents(): void {
  const { ledger } = home.open()
  home.emit(ledger, ledger.session(A, { fresh: true }), 3, 0)
  ledger.close()
}

/** Stops as a killed process does: nothing is saved, marked or cut. */
function abandon(ledger: Ledger<Ids>): void {
  for (const file of [DB, `${DB}-wal`]) {
    if (existsSync(`${home.path}/${file}`)) copyFileSync(`${home.path}/${file}`, `${home.path}/kept-${file}`)
  }
  const log = existsSync(home.log(FILE)) ? readFileSync(home.log(FILE)) : undefined
  ledger.close()
  home.dropDatabase()
  for (const file of [DB, `${DB}-wal`]) {
    if (!existsSync(`${home.path}/kept-${file}`)) continue
    copyFileSync(`${home.path}/kept-${file}`, `${home.path}/${file}`)
    rmSync(`${home.path}/kept-${file}`)
  }
  if (log !== undefined) writeFileSync(home.log(FILE), log)
}

describe("nothing lost", () => {
  test("after a clean stop nothing is read, and seq goes on in the same epoch", () => {
    threeEvents()
    const { ledger, report } = home.open()
    expect(report).toMatchObject({ files: 1, filesRead: 0, linesFolded: 0, clean: true, created: false })
    const entry = ledger.session(A, { fresh: false })
    expect(entry.state.ids).toEqual(["e1", "e2", "e3"])
    expect(entry.source).toBe("aep://host/agent/opencode")
    expect(ledger.position(entry)).toEqual({ epoch: 0, seq: 3 })
    ledger.close()
  })

  test("after a kill before any save the log alone gives state and position back", () => {
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 3, 0)
    abandon(ledger)
    const again = home.open()
    expect(again.report).toMatchObject({ filesRead: 1, linesFolded: 3, clean: false, distrust: false })
    const entry = again.ledger.session(A, { fresh: false })
    expect(entry.state.ids).toEqual(["e1", "e2", "e3"])
    expect(again.ledger.position(entry)).toEqual({ epoch: 0, seq: 3 })
    again.ledger.close()
  })

  test("after a kill between two saves only the lines behind the first are folded", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry, 2)
    home.elapse()
    home.emit(ledger, entry, 3)
    abandon(ledger)
    const again = home.open()
    expect(again.report.linesFolded).toBe(3)
    const found = again.ledger.session(A, { fresh: false })
    expect(found.state.ids).toEqual(["e1", "e2", "e3", "e4", "e5"])
    expect(again.ledger.position(found)).toEqual({ epoch: 0, seq: 5 })
    again.ledger.close()
  })

  test("with the database deleted the log is folded whole, in the same epoch", () => {
    threeEvents()
    home.dropDatabase()
    const { ledger, report } = home.open()
    expect(report).toMatchObject({ created: true, linesFolded: 3, distrust: false })
    const entry = ledger.session(A, { fresh: false })
    expect(entry.state.ids).toEqual(["e1", "e2", "e3"])
    expect(ledger.position(entry)).toEqual({ epoch: 0, seq: 3 })
    ledger.close()
  })

  test("with the database restored from an old copy the newer lines are folded on top", () => {
    threeEvents()
    copyFileSync(`${home.path}/${DB}`, `${home.path}/old`)
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: false })
    entry.bump = true
    home.emit(ledger, entry, 4)
    ledger.close()
    copyFileSync(`${home.path}/old`, `${home.path}/${DB}`)
    const again = home.open()
    const found = again.ledger.session(A, { fresh: false })
    expect(found.state.ids.length).toBe(7)
    expect(again.ledger.position(found)).toEqual({ epoch: 1, seq: 4 })
    again.ledger.close()
  })

  test("a snapshot that cannot be read is made anew from the log, with the row's position", () => {
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 3)
    ledger.close()
    const { ledger: other } = home.open({
      folding: { ...home.options().folding, isState: (value): value is Ids => value === undefined },
    })
    const entry = other.session(A, { fresh: false })
    expect(entry.state.ids).toEqual(["e1", "e2", "e3"])
    expect(entry.seq).toBe(3)
    other.close()
  })
})

describe("something lost", () => {
  test("a tail cut after a clean stop is told with its count, and the epoch moves on once", () => {
    const { ledger: before } = home.open()
    for (let n = 0; n < 3; n += 1) home.emit(before, before.session(A, { fresh: true }), 1, n)
    before.close()
    const [first] = readFileSync(home.log(FILE), "utf8").split("\n")
    truncateSync(home.log(FILE), Buffer.byteLength(`${first}\n`))
    const { ledger, report } = home.open()
    expect(report.lostTails).toBe(1)
    const entry = ledger.session(A, { fresh: false })
    expect(entry.gap).toEqual({ reason: "lost-tail", missed: 2 })
    const gaps: unknown[] = []
    const mended = ledger.mend(entry, (position, gap) => {
      gaps.push({ position, gap })
      return JSON.stringify({ ...A, id: "gap", agent: "opencode", ...position })
    })
    expect(mended.kind).toBe("mended")
    expect(gaps).toEqual([{ position: { epoch: 1, seq: 0 }, gap: { reason: "lost-tail", missed: 2 } }])
    expect(entry.gap).toBeUndefined()
    expect(ledger.position(entry)).toEqual({ epoch: 1, seq: 1 })
    ledger.close()
  })

  test("a lost tail that nobody told of yet is still there after two more starts", () => {
    threeEvents()
    rmSync(home.log(FILE))
    for (let start = 0; start < 3; start += 1) {
      const { ledger } = home.open()
      const entry = ledger.session(A, { fresh: false })
      expect(entry.gap).toEqual({ reason: "lost-tail", missed: 3 })
      expect([entry.epoch, entry.bump]).toEqual([0, true])
      ledger.close()
    }
  })

  test("a deleted log whose row remains keeps its state and moves to the next epoch", () => {
    threeEvents()
    rmSync(home.log(FILE))
    const { ledger, report } = home.open()
    expect(report.lostTails).toBe(1)
    const entry = ledger.session(A, { fresh: true })
    expect(entry.state.ids.length).toBe(3)
    expect(ledger.position(entry)).toEqual({ epoch: 1, seq: 0 })
    ledger.close()
  })

  test("losing the log over and over spends one epoch each time and repeats no position", () => {
    const used: string[] = []
    for (let start = 0; start < 5; start += 1) {
      const { ledger } = home.open()
      const entry = ledger.session(A, { fresh: start === 0 })
      home.emit(ledger, entry, 3)
      used.push(...positionsOf(home.lines(FILE)))
      ledger.close()
      rmSync(home.log(FILE))
    }
    expect(new Set(used).size).toBe(used.length)
    expect(used.at(-1)).toBe("4,2")
  })

  test("with log and database gone a session the caller saw begin starts at zero", () => {
    const { ledger } = home.open()
    expect(ledger.position(ledger.session(A, { fresh: true }))).toEqual({ epoch: 0, seq: 0 })
    ledger.close()
  })

  test("with log and database gone a session met in its middle starts at a seed that never comes back", () => {
    const used: string[] = []
    for (let start = 0; start < 3; start += 1) {
      const { ledger } = home.open()
      const entry = ledger.session(A, { fresh: false })
      home.emit(ledger, entry, 50)
      used.push(...positionsOf(home.lines(FILE)))
      ledger.close()
      home.dropDatabase()
      rmSync(home.log(FILE))
      home.nowMs += 1000
    }
    expect(used[0]).toBe(`60,${14 * 3600 * 1000}`)
    expect(new Set(used).size).toBe(150)
  })

  test.each([
    [Date.UTC(2026, 0, 1), { epoch: 0, seq: 0 }],
    [Date.UTC(2026, 0, 1) - 1, { epoch: 0, seq: 0 }],
    [Date.UTC(2026, 0, 2) - 1, { epoch: 0, seq: 86_399_999 }],
    [NOON, { epoch: 60, seq: 50_400_000 }],
    [Date.UTC(2048, 0, 1), { epoch: 8035, seq: 0 }],
  ])("the seed at %p is %p, below 8192 for decades", (nowMs, seed) => {
    expect(seedPosition(nowMs)).toEqual(seed)
  })
})

describe("the machine went down", () => {
  test("without a clean stop: every session takes a new epoch, with and without a row", () => {
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 2)
    ledger.flush()
    home.emit(ledger, ledger.session(B, { fresh: true }), 2)
    abandon(ledger)
    home.boot = "boot-2"
    const again = home.open()
    expect(again.report).toMatchObject({ distrust: true, clean: false })
    for (const key of [A, B]) {
      const entry = again.ledger.session(key, { fresh: false })
      expect(again.ledger.position(entry)).toEqual({ epoch: 1, seq: 0 })
      expect(again.ledger.position(entry)).toEqual({ epoch: 1, seq: 1 })
    }
    again.ledger.close()
  })

  test("without a clean stop: a session that says nothing for several starts still takes its new epoch", () => {
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 2)
    abandon(ledger)
    for (const boot of ["boot-2", "boot-3", "boot-3"]) {
      home.boot = boot
      const { ledger: idle } = home.open()
      idle.close()
    }
    const again = home.open()
    expect(again.report).toMatchObject({ distrust: false, clean: true })
    expect(again.ledger.position(again.ledger.session(A, { fresh: false }))).toEqual({ epoch: 1, seq: 0 })
    again.ledger.close()
  })

  test("after a clean stop no epoch is spent", () => {
    threeEvents()
    home.boot = "boot-2"
    const { ledger, report } = home.open()
    expect(report).toMatchObject({ distrust: false, clean: true })
    expect(ledger.position(ledger.session(A, { fresh: false }))).toEqual({ epoch: 0, seq: 3 })
    ledger.close()
  })

  test("a kill of the service alone, on the same boot, spends no epoch", () => {
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 2)
    abandon(ledger)
    const again = home.open()
    expect(again.report).toMatchObject({ distrust: false, clean: false })
    expect(again.ledger.position(again.ledger.session(A, { fresh: false }))).toEqual({ epoch: 0, seq: 2 })
    again.ledger.close()
  })
})

describe("a damaged database", () => {
  const damage: Record<string, (path: string) => void> = {
    "filled with text": (path) => writeFileSync(path, "no database at all\n".repeat(500)),
    "with pages overwritten": (path) => {
      const bytes = readFileSync(path)
      bytes.fill(0xff, 4096)
      writeFileSync(path, bytes)
    },
    "of another layout": (path) => {
      const bytes = readFileSync(path)
      bytes.writeUInt32BE(99, 60)
      writeFileSync(path, bytes)
    },
  }

  test.each(Object.keys(damage))("%s is moved aside and rebuilt from the logs in a new epoch", (kind) => {
    const { ledger } = home.open()
    home.emit(ledger, ledger.session(A, { fresh: true }), 3)
    ledger.close()
    damage[kind]?.(`${home.path}/${DB}`)
    const again = home.open()
    expect(again.report).toMatchObject({ movedAside: `${home.path}/${DB}.corrupt-1`, linesFolded: 3 })
    expect(existsSync(`${home.path}/${DB}.corrupt-1`)).toBe(true)
    const entry = again.ledger.session(A, { fresh: false })
    expect(entry.state.ids).toEqual(["e1", "e2", "e3"])
    // Whether the machine went down is not known any more, so no position is trusted.
    expect(again.ledger.position(entry)).toEqual({ epoch: 1, seq: 0 })
    again.ledger.close()
    expect(home.open().report.clean).toBe(true)
  })

  test("a truncated one is rebuilt as well, and a second one gets the next name", () => {
    for (const n of [1, 2]) {
      const { ledger } = home.open()
      home.emit(ledger, ledger.session(A, { fresh: true }), 3)
      ledger.close()
      writeFileSync(`${home.path}/${DB}`, "junk".repeat(2000))
      const { ledger: again, report } = home.open()
      expect(report.movedAside).toBe(`${home.path}/${DB}.corrupt-${n}`)
      again.close()
    }
  })
})
