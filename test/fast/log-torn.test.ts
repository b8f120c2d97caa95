/** A log cut at any byte: whole groups stay, a partial one goes, and the order goes on where the log ends. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import type { Ledger } from "../../service/emit/ledger.ts"
import type { SessionKey } from "../../service/session/store.ts"
import { A, Home, type Ids, makeEvent, positionsOf } from "./ledger-home.ts"

const FILE = "opencode/ses_a.jsonl"

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.remove())

/** Groups of 1, 3, 1 (no moment), 2 lines. */
type Group = readonly [count: number, moment: number | undefined]
const GROUPS: readonly Group[] = [
  [1, 0],
  [3, 1],
  [1, undefined],
  [2, 2],
]
const LINES = 7

/** Appends the groups to a session; returns the ends of the groups. */
function writeGroups(ledger: Ledger<Ids>, key: SessionKey, groups: readonly Group[]) {
  const entry = ledger.session(key, { fresh: true })
  const ends = [entry.size]
  for (const [count, moment] of groups) {
    home.emit(ledger, entry, count, moment)
    ends.push(entry.size)
  }
  return ends
}

function smallLog(): { bytes: Buffer } {
  const { ledger } = home.open()
  writeGroups(ledger, A, GROUPS)
  ledger.close()
  return { bytes: readFileSync(home.log(FILE)) }
}

interface Cut {
  key: SessionKey
  file: string
  /** Where the log is cut. */
  size: number
  /** End of the last whole group before that. */
  kept: number
  bytes: Buffer
}

/** One session for each byte of a small log; `meanwhile` runs after its first groups, then come the rest. */
function sessionsForEveryByte(first = GROUPS.length, meanwhile?: (ledger: Ledger<Ids>) => void): Cut[] {
  const { ledger } = home.open({ maxSessions: 5000 })
  const ends = new Map<string, number[]>()
  // Ids of one length make logs of one length.
  home.startIdsAt(100_000)
  for (let size = 0; size <= 1300; size += 1) {
    const session = `s${String(size).padStart(4, "0")}`
    ends.set(session, writeGroups(ledger, { agent: "opencode", session }, GROUPS.slice(0, first)))
  }
  meanwhile?.(ledger)
  for (const [session, known] of ends) {
    known.push(...writeGroups(ledger, { agent: "opencode", session }, GROUPS.slice(first)))
  }
  ledger.close()
  const cuts: Cut[] = []
  for (const [session, known] of ends) {
    const file = `opencode/${session}.jsonl`
    const size = Number(session.slice(1))
    const bytes = readFileSync(home.log(file))
    if (size > bytes.length) continue
    truncateSync(home.log(file), size)
    cuts.push({
      key: { agent: "opencode", session },
      file,
      size,
      kept: Math.max(...known.filter((end) => end <= size)),
      bytes,
    })
  }
  expect(cuts.length).toBe((cuts[0]?.bytes.length ?? 0) + 1)
  return cuts
}

const linesIn = (bytes: Buffer): number => bytes.toString().split("\n").length - 1

describe("a log cut at every byte", () => {
  test("without a database: exactly the whole groups before the cut are kept, and seq goes on behind them", () => {
    const cuts = sessionsForEveryByte()
    home.dropDatabase()
    const { ledger } = home.open()
    for (const { key, file, kept, bytes } of cuts) {
      const entry = ledger.session(key, { fresh: true })
      expect(readFileSync(home.log(file)).equals(bytes.subarray(0, kept))).toBe(true)
      const lines = home.lines(file)
      expect(entry.state.ids).toEqual(lines.map((line) => String(line.id)))
      expect([entry.epoch, entry.seq, entry.size]).toEqual([0, lines.length, kept])
      home.emit(ledger, entry)
      const positions = positionsOf(home.lines(file))
      expect(new Set(positions).size).toBe(positions.length)
    }
    ledger.close()
  })

  test("with the row of the whole log: the tail is lost and counted, and the order goes on in a new epoch", () => {
    const cuts = sessionsForEveryByte()
    const { ledger, report } = home.open()
    expect(report.lostTails).toBe(cuts.length - 1)
    for (const { key, file, size, kept, bytes } of cuts) {
      const entry = ledger.session(key, { fresh: false })
      const left = linesIn(bytes.subarray(0, kept))
      const isWhole = size === bytes.length
      expect(entry.gap).toEqual(isWhole ? undefined : { reason: "lost-tail", missed: LINES - left })
      expect(entry.state.ids.length).toBe(LINES)
      home.emit(ledger, entry)
      expect(home.lines(file).at(-1)).toMatchObject(isWhole ? { epoch: 0, seq: 7 } : { epoch: 1, seq: 0 })
      expect(home.lines(file).length).toBe(left + 1)
    }
    ledger.close()
  })

  test("with the row of its first half: only what follows is read, and no epoch is spent", () => {
    let database: Buffer[] = []
    const files = ["opencode-aep.db", "opencode-aep.db-wal"].map((name) => `${home.path}/${name}`)
    const cuts = sessionsForEveryByte(2, (ledger) => {
      ledger.flush()
      database = files.map((file) => readFileSync(file))
    }).filter((cut) => linesIn(cut.bytes.subarray(0, cut.kept)) >= 4)
    home.dropDatabase()
    for (const [index, file] of files.entries()) writeFileSync(file, database[index] ?? "")
    const { ledger } = home.open()
    for (const { key, file, kept } of cuts) {
      const entry = ledger.session(key, { fresh: false })
      const lines = home.lines(file)
      expect(entry.state.ids).toEqual(lines.map((line) => String(line.id)))
      expect([entry.epoch, entry.seq, entry.size, entry.gap]).toEqual([0, lines.length, kept, undefined])
    }
    expect(cuts.length).toBeGreaterThan(300)
    ledger.close()
  })
})

describe("damage of other kinds", () => {
  test("zeros behind the last line, as a power cut leaves them, are cut off", () => {
    const { bytes } = smallLog()
    home.dropDatabase()
    appendFileSync(home.log(FILE), Buffer.alloc(300_000))
    const { ledger, report } = home.open()
    expect(report).toMatchObject({ filesCut: 1, bytesCut: 300_000 })
    expect(readFileSync(home.log(FILE)).equals(bytes)).toBe(true)
    ledger.close()
  })

  test("a whole last line that is no JSON object is cut off", () => {
    const { bytes } = smallLog()
    for (const tail of ["{\n", "17\n", "[]\n", "null\n", "\n", "}{\n\n"]) {
      home.dropDatabase()
      writeFileSync(home.log(FILE), Buffer.concat([bytes, Buffer.from(tail)]))
      const { ledger } = home.open()
      ledger.close()
      expect(readFileSync(home.log(FILE)).equals(bytes)).toBe(true)
    }
  })

  test("a broken line with whole ones behind it stays where it is and is counted", () => {
    smallLog()
    home.dropDatabase()
    appendFileSync(home.log(FILE), "half a li\n")
    appendFileSync(
      home.log(FILE),
      `${JSON.stringify(makeEvent(A, "late", "x.t.e", { epoch: 0, seq: 40 }))}\n`,
    )
    const { ledger, report } = home.open()
    expect(report).toMatchObject({ linesSkipped: 1, filesCut: 0 })
    const entry = ledger.session(A, { fresh: false })
    expect(entry.state.ids.at(-1)).toBe("late")
    expect(entry.seq).toBe(41)
    ledger.close()
  })

  test("an unfinished group with later events behind it is history and counts", () => {
    smallLog()
    home.dropDatabase()
    const event = (id: string, seq: number, moment: number, more: number) =>
      `${JSON.stringify(makeEvent(A, id, "x.t.e", { epoch: 0, seq }, moment, more))}\n`
    appendFileSync(home.log(FILE), event("half", 7, 5, 1) + event("next", 8, 6, 0) + event("open", 9, 7, 1))
    const { ledger, report } = home.open()
    expect(report.filesCut).toBe(1)
    const entry = ledger.session(A, { fresh: false })
    expect(entry.state.ids.slice(-2)).toEqual(["half", "next"])
    expect(entry.seq).toBe(9)
    ledger.close()
  })

  test("lines longer than a reading chunk, with characters across its border, are read whole", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    const long = (id: string) => ({
      ...makeEvent(A, id, "x.t.e", ledger.position(entry)),
      data: { text: "äöü💥".repeat(60_000) },
    })
    for (const id of ["l1", "l2", "l3"]) ledger.append(entry, [JSON.stringify(long(id))])
    ledger.close()
    home.dropDatabase()
    const again = home.open()
    expect(again.report).toMatchObject({ linesFolded: 3, filesCut: 0, linesSkipped: 0 })
    expect(again.ledger.session(A, { fresh: false }).state.ids).toEqual(["l1", "l2", "l3"])
    again.ledger.close()
  })

  test("a row that points into the middle of a line is not taken for a witness of this file", () => {
    const { bytes } = smallLog()
    const longer = makeEvent(A, "other", "x.t.e", { epoch: 0, seq: 0 })
    writeFileSync(
      home.log(FILE),
      `${JSON.stringify({ ...longer, data: { text: "x".repeat(bytes.length) } })}\n`,
    )
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: false })
    expect(entry.gap?.reason).toBe("lost-tail")
    expect(ledger.position(entry)).toEqual({ epoch: 1, seq: 0 })
    ledger.close()
  })

  test("a line feed inside a line is refused before it reaches the file", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry)
    expect(() => ledger.append(entry, ["{}\n{}"])).toThrow("line feed")
    expect(home.lines(FILE).length).toBe(1)
    ledger.close()
  })

  test("a log cut while the service runs is noticed with the next save, and the order moves on", () => {
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry, 3)
    truncateSync(home.log(FILE), 0)
    ledger.flush()
    expect(entry.gap).toEqual({ reason: "lost-tail", missed: 1 })
    home.emit(ledger, entry)
    expect(home.lines(FILE).map((line) => line.epoch)).toEqual([1])
    ledger.close()
  })
})
