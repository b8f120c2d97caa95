/** The database by itself: rows come back as they were saved, all of a change or nothing, and damage is no surprise. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openStore } from "../../service/emit/database.ts"
import { readBootId } from "../../service/session/boot.ts"
import type { SessionKey, SessionRow, Store } from "../../service/session/store.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "aep-store-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const WITNESS = { boot: "boot-1", suspect: false, nowMs: 1_000_000 }

function open(witness = WITNESS) {
  const opened = openStore(join(folder, "x.db"), witness)
  if (opened.kind !== "opened") throw new Error(opened.detail)
  return opened
}

function row(key: SessionKey, extra: Partial<SessionRow> = {}): SessionRow {
  return {
    key,
    file: "a/b.jsonl",
    epoch: 1,
    seq: 2,
    size: 3,
    bump: false,
    open: false,
    state: { n: 1 },
    ...extra,
  }
}

function save(store: Store, sessions: SessionRow[]) {
  return store.save({ sessions, instances: [], nowMs: WITNESS.nowMs })
}

describe("session rows", () => {
  test("come back as they were saved, with sets, maps and dates in their state", () => {
    const { store } = open()
    const full = row(
      { agent: "opencode", session: "s" },
      {
        source: "aep://host/agent/opencode/session/s",
        bump: true,
        gap: { reason: "lost-tail", missed: 0 },
        open: true,
        state: { set: new Set([1]), map: new Map([["k", { deep: [undefined, null] }]]), at: new Date(5) },
      },
    )
    expect(save(store, [full])).toEqual({ kind: "saved" })
    expect(store.session(full.key)).toEqual(full)
    store.close(true)
    const again = open().store
    expect(again.session(full.key)).toEqual(full)
    again.close(true)
  })

  test("of hostile ids are told apart", () => {
    const { store } = open()
    const sessions = [
      "",
      '""',
      '"',
      "a\0b",
      "a\0c",
      "a",
      "\ud800",
      "\ud801",
      "é",
      "e\u0301",
      "💥",
      "'; DROP TABLE meta",
    ]
    const keys: SessionKey[] = [{ agent: "o" }, ...sessions.map((session) => ({ agent: "o", session }))]
    save(
      store,
      keys.map((key, seq) => row(key, { seq, file: `o/${seq}` })),
    )
    for (const [seq, key] of keys.entries()) expect(store.session(key)).toMatchObject({ key, seq })
    for (const [seq, key] of keys.entries()) expect(store.ownerOf(`O/${seq}`)).toEqual(key)
    store.close(true)
  })

  test("with a state of undefined or a text that is no JSON read as having none", () => {
    const { store } = open()
    save(store, [row({ agent: "o", session: "s" }, { state: undefined })])
    expect(store.session({ agent: "o", session: "s" })?.state).toBeUndefined()
    store.close(true)
  })

  test("are saved all or not at all", () => {
    const { store } = open()
    const state = {
      get bad() {
        throw new Error("unreadable")
      },
    }
    const saved = save(store, [
      row({ agent: "o", session: "1" }),
      row({ agent: "o", session: "2" }, { state }),
    ])
    expect(saved).toEqual({ kind: "failed", code: "STATE" })
    expect(store.session({ agent: "o", session: "1" })).toBeUndefined()
    store.close(true)
  })

  test("told to distrust keep the rest as it was", () => {
    const { store } = open()
    const known = row({ agent: "o", session: "1" })
    save(store, [known])
    store.distrust(row(known.key, { size: 0, state: undefined, seq: 99 }))
    expect(store.session(known.key)).toEqual({ ...known, bump: true })
    const unknown = row({ agent: "o", session: "2" }, { bump: true })
    store.distrust(unknown)
    expect(store.session(unknown.key)).toEqual(unknown)
    store.close(true)
  })
})

describe("instances", () => {
  test("keep what was found for them until it is taken back", () => {
    const { store } = open()
    const put = (instance: { id: string; next?: number; applied?: unknown }) =>
      store.save({ sessions: [], instances: [instance], nowMs: WITNESS.nowMs })
    put({ id: "i", applied: new Map([["k", new Set([4])]]) })
    expect(store.instances()).toEqual([{ id: "i", applied: new Map([["k", new Set([4])]]) }])
    put({ id: "i", next: 0 })
    expect(store.instances()).toEqual([{ id: "i", next: 0, applied: new Map([["k", new Set([4])]]) }])
    put({ id: "i", next: 5, applied: undefined })
    expect(store.instances()).toEqual([{ id: "i", next: 5 }])
    store.close(true)
  })
})

describe("the witness", () => {
  const stop = (clean: boolean, boot = "boot-1") => open({ ...WITNESS, boot }).store.close(clean)

  test.each([
    [true, "boot-1", false, false],
    [true, "boot-2", false, false],
    [false, "boot-1", false, false],
    [false, "boot-2", false, true],
    [false, "boot-1", true, true],
    [true, "boot-1", true, false],
  ])("clean %p, then %s, marker missing %p: distrust %p", (clean, boot, suspect, distrust) => {
    stop(clean)
    const opened = open({ ...WITNESS, boot, suspect })
    expect(opened).toMatchObject({ clean, distrust, created: false })
    opened.store.close(true)
  })

  test("distrusts until every log was looked at, over any number of kills", () => {
    stop(false)
    stop(false, "boot-2")
    const opened = open({ ...WITNESS, boot: "boot-2" })
    expect(opened.distrust).toBe(true)
    opened.store.save({ sessions: [], instances: [], trusted: true, nowMs: 0 })
    opened.store.close(false)
    expect(open({ ...WITNESS, boot: "boot-2" }).distrust).toBe(false)
  })

  test("a new database knows of no stop and distrusts nothing", () => {
    const opened = open()
    expect(opened).toMatchObject({ created: true, clean: false, distrust: false })
    opened.store.close(true)
  })
})

describe("the file", () => {
  test("is the owner's alone", () => {
    const { store } = open()
    expect(statSync(join(folder, "x.db")).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, "x.db-wal")).mode & 0o777).toBe(0o600)
    store.close(true)
  })

  test("of zero bytes, as a full disk leaves it, is filled with tables", () => {
    writeFileSync(join(folder, "x.db"), "")
    open().store.close(true)
  })

  test("in a folder that is not there is unwritable, with the code in the reason", () => {
    expect(openStore(join(folder, "no/x.db"), WITNESS)).toMatchObject({
      kind: "unwritable",
      detail: expect.stringContaining("ENOENT"),
    })
  })

  test("that is a folder is unwritable", () => {
    expect(openStore(folder, WITNESS).kind).toBe("unwritable")
  })
})

describe("the boot id", () => {
  test("is the same each time it is read", () => {
    expect(readBootId(Date.now())).toBe(readBootId(Date.now() + 3))
    expect(readBootId(Date.now()).length).toBeGreaterThan(5)
  })

  test("is derived from the uptime where the system tells none", () => {
    expect(readBootId(1_800_000_000_000, "win32")).toMatch(/^start-\d+$/)
    expect(readBootId(1_800_000_000_000, "win32")).not.toBe(readBootId(1_800_000_060_000, "win32"))
  })
})
