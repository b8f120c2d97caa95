/** Names of log files for hostile ids: one file each, never outside the folder, legal on every file system. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { candidateFiles, hashedName, isPlainName, safeName } from "../../service/emit/filename.ts"
import { A, Home } from "./ledger-home.ts"

const HOSTILE = [
  "",
  " ",
  ".",
  "..",
  "...",
  "../x",
  "..\\x",
  "/etc/passwd",
  "a/b",
  "a\\b",
  "a\0b",
  "a\nb",
  "C:",
  "C:x",
  "CON",
  "con",
  "CON.txt",
  "nul",
  "COM1",
  "lpt9.log",
  "ends.",
  "ends..",
  " lead",
  "trail ",
  "-rf",
  "_agent",
  ".hidden",
  "~",
  "x~0123456789abcdef",
  "💥",
  "💥💥",
  "é",
  "e\u0301",
  "\ud800",
  "\ud801",
  "a*b?c",
  'q"<>|',
  "x".repeat(121),
  "x".repeat(300),
  `${"x".repeat(299)}y`,
  "ф".repeat(300),
]

const PLAIN = [
  "ses_7f3aBcD",
  "a",
  "0",
  "A.b-c_d",
  "x".repeat(120),
  "console",
  "com10",
  "nulls.txt",
  "x.jsonl",
]

describe("safe names", () => {
  test.each(PLAIN)("%p rides verbatim", (id) => {
    expect(safeName(id)).toBe(id)
  })

  test.each(HOSTILE)("%j becomes a hashed name inside the portable alphabet", (id) => {
    expect(isPlainName(id)).toBe(false)
    expect(safeName(id)).toMatch(/^(?:[A-Za-z0-9][A-Za-z0-9_-]{0,39})?~[0-9a-f]{16}$/)
  })

  test("no two of all these ids share a name, whatever the case", () => {
    const ids = [...HOSTILE, ...PLAIN].filter((id) => id !== "con")
    const names = new Set(ids.map((id) => safeName(id).toLowerCase()))
    expect(names.size).toBe(ids.length)
  })

  test("the hash is the SHA-256 of the id, so that a person can find the file", () => {
    expect(hashedName("../x")).toBe(
      `x~${new Bun.CryptoHasher("sha256").update("../x").digest("hex").slice(0, 16)}`,
    )
  })

  test("a session cannot take the file of the agent's own events", () => {
    expect(candidateFiles({ agent: "opencode" })).toEqual(["opencode/_agent.jsonl"])
    expect(candidateFiles({ agent: "opencode", session: "_agent" })).not.toContain("opencode/_agent.jsonl")
  })
})

describe("files on the disk", () => {
  let home: Home
  beforeEach(() => {
    home = new Home()
  })
  afterEach(() => home.remove())

  test("each hostile id gets its own file, all of them inside the agent's folder, and finds it again", () => {
    const { ledger } = home.open()
    const ids = [...HOSTILE, ...PLAIN]
    for (const session of ids) {
      const entry = ledger.session({ agent: "opencode", session }, { fresh: true })
      expect(home.emit(ledger, entry).result.kind).toBe("written")
    }
    ledger.close()
    expect(readdirSync(home.path).sort()).toEqual(["logs", "opencode-aep.db", "sound"])
    expect(readdirSync(home.log(""))).toEqual(["opencode"])
    expect(readdirSync(home.log("opencode")).length).toBe(ids.length)

    const again = home.open()
    for (const [index, session] of ids.entries()) {
      expect(again.ledger.find({ agent: "opencode", session })?.state.ids).toEqual([`e${index + 1}`])
    }
    again.ledger.close()
  })

  test("without the database the first lines alone give every hostile id its own state back", () => {
    const { ledger } = home.open()
    const ids = [...HOSTILE, ...PLAIN]
    for (const session of ids)
      home.emit(ledger, ledger.session({ agent: "opencode", session }, { fresh: true }))
    ledger.close()
    home.dropDatabase()
    const again = home.open()
    expect(again.report).toMatchObject({ files: ids.length, filesRead: ids.length, foreign: 0 })
    for (const [index, session] of ids.entries()) {
      expect(again.ledger.find({ agent: "opencode", session })?.state.ids).toEqual([`e${index + 1}`])
    }
    again.ledger.close()
  })

  test("hostile agents get folders of their own below the log root", () => {
    const { ledger } = home.open()
    for (const agent of HOSTILE) home.emit(ledger, ledger.session({ agent, session: "s" }, { fresh: true }))
    ledger.close()
    expect(readdirSync(home.log("")).length).toBe(HOSTILE.length)
  })

  test("files are 0600 and folders 0700, also a file that was laxer before", () => {
    mkdirSync(home.log("opencode"), { recursive: true, mode: 0o700 })
    writeFileSync(home.log("opencode/ses_a.jsonl"), "", { mode: 0o644 })
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: true })
    home.emit(ledger, entry)
    home.emit(ledger, ledger.session({ agent: "kilocode", session: "s" }, { fresh: true }))
    const mode = (path: string) => statSync(path).mode & 0o777
    expect(mode(home.log(entry.file))).toBe(0o600)
    expect(mode(home.log("kilocode"))).toBe(0o700)
    expect(mode(home.log("kilocode/s.jsonl"))).toBe(0o600)
    expect(mode(`${home.path}/opencode-aep.db`)).toBe(0o600)
    expect(mode(`${home.path}/opencode-aep.db-wal`)).toBe(0o600)
    ledger.close()
  })

  test("a file whose first line is another session's is left alone and the hashed name is taken", () => {
    mkdirSync(home.log("opencode"), { recursive: true })
    const other = `${JSON.stringify({ agent: "opencode", session: "ses_A", seq: 0 })}\n`
    writeFileSync(home.log("opencode/ses_a.jsonl"), other)
    const { ledger, report } = home.open()
    expect(report.foreign).toBe(1)
    const entry = ledger.session(A, { fresh: true })
    expect(entry.file).toBe(`opencode/${hashedName("ses_a")}.jsonl`)
    home.emit(ledger, entry)
    ledger.close()
    expect(home.lines("opencode/ses_a.jsonl")).toEqual([{ agent: "opencode", session: "ses_A", seq: 0 }])
  })

  test("a name taken in another case by a session in memory or in the database is not shared", () => {
    const { ledger } = home.open()
    const upper = { agent: "opencode", session: "SES_A" }
    const first = ledger.session(A, { fresh: true })
    expect(ledger.session(upper, { fresh: true }).file).not.toBe("opencode/SES_A.jsonl")
    home.emit(ledger, first)
    ledger.close()
    const again = home.open()
    expect(again.ledger.session({ agent: "opencode", session: "Ses_A" }, { fresh: true }).file).toContain("~")
    expect(again.ledger.session(A, { fresh: true }).file).toBe("opencode/ses_a.jsonl")
    again.ledger.close()
  })

  test("a session that was only asked about makes no file and no row", () => {
    const { ledger } = home.open()
    expect(ledger.find(A)).toBeUndefined()
    ledger.close()
    expect(existsSync(home.log("opencode"))).toBe(false)
    const again = home.open()
    expect(again.ledger.find(A)).toBeUndefined()
    again.ledger.close()
  })
})
