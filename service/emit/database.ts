/**
 * Opens the database file: takes the lock of the home, moves a damaged file aside, and reads how the last stop
 * went. It reads and writes no sessions; `session/store.ts` does. Called once, by the ledger.
 */
import { Database, SQLiteError } from "bun:sqlite"
import { closeSync, existsSync, openSync, renameSync } from "node:fs"
import { Store, TABLES } from "../session/store.ts"
import { RelayTable } from "./relay/table.ts"

/** How `openStore` ended. `locked`: another service owns this home. */
export type OpenedStore =
  | {
      kind: "opened"
      store: Store
      /** How far relays have the logs; closed with the store. */
      relays: RelayTable
      /** The file was made now, so nothing is known of the last stop. */
      created: boolean
      /** Positions beyond the logs' tails may have been used: every session needs a new epoch. */
      distrust: boolean
      /** The last stop was clean. */
      clean: boolean
      /** Where a damaged database was put. */
      movedAside?: string
    }
  | { kind: "locked"; detail: string }
  | { kind: "unwritable"; detail: string }

/** What the caller knows about the machine and the last run. */
export interface Witness {
  /** Id of this start of the operating system. */
  boot: string
  /** Whether the last run may have failed to write down that its log had a hole. */
  suspect: boolean
  nowMs: number
}

/** Layout version; another number is the database of another release, and is rebuilt. */
const SCHEMA = 1
/** An instance not heard of for this long does not come back: its agent process is gone. */
const INSTANCE_LIFE_MS = 30 * 24 * 3600 * 1000
/** A folder with this many damaged databases needs a person. */
const MAX_ASIDE = 100

/** Thrown and caught inside this file when the database opens but cannot be trusted. */
class Damaged extends Error {}

/**
 * Opens, locks and, where damaged, replaces the database at `path`. The lock is SQLite's own
 * (`locking_mode=EXCLUSIVE`), taken before anything is read and freed by the end of the process, however it ends.
 */
export function openStore(path: string, witness: Witness): OpenedStore {
  const movedAside: string[] = []
  for (;;) {
    let db: Database | undefined
    try {
      const created = createPrivately(path)
      db = new Database(path, { readwrite: true, strict: true })
      const found = prepare(db, { ...witness, suspect: witness.suspect || movedAside.length > 0 })
      const aside = movedAside[0]
      return {
        kind: "opened",
        store: new Store(db),
        relays: new RelayTable(db),
        created,
        ...found,
        ...(aside ? { movedAside: aside } : {}),
      }
    } catch (fault) {
      db?.close()
      const code = fault instanceof Damaged ? "SQLITE_CORRUPT" : codeOf(fault)
      if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
        return {
          kind: "locked",
          detail: `another opencode-aep service uses ${path}; stop it or choose another home`,
        }
      }
      const damaged = code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB"
      if (!damaged || movedAside.length > 0) {
        return {
          kind: "unwritable",
          detail: `cannot open ${path} (${code}); check its owner, mode and free space`,
        }
      }
      const aside = moveAside(path)
      if (aside === undefined) {
        return {
          kind: "unwritable",
          detail: `${path} is damaged and cannot be moved aside; remove it by hand`,
        }
      }
      movedAside.push(aside)
    }
  }
}

/** Makes an empty file of mode 0600 unless there is one; SQLite's side files take that mode over. */
function createPrivately(path: string): boolean {
  if (existsSync(path)) return false
  // On a new file only: closing a descriptor of a locked file drops the locks this process has on it.
  closeSync(openSync(path, "wx", 0o600))
  return true
}

function prepare(db: Database, witness: Witness): { distrust: boolean; clean: boolean } {
  db.run("PRAGMA locking_mode = EXCLUSIVE")
  db.run("PRAGMA journal_mode = WAL")
  // "In use" must be on the disk before the first event is: a power cut that took it back would show the clean
  // stop of the run before.
  db.run("PRAGMA synchronous = FULL")
  db.run("BEGIN IMMEDIATE")
  const version = db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0
  if (version !== 0 && version !== SCHEMA) throw new Damaged()
  db.run(TABLES)
  const meta = readMeta(db)
  const clean = meta.get("clean") === "1"
  const used = meta.size > 0
  if (used) checkWhole(db)
  const restarted = used && !clean && meta.get("boot") !== witness.boot
  const distrust = restarted || (witness.suspect && !clean) || meta.get("distrust") === "1"
  if (distrust) db.run("UPDATE sessions SET bump = 1")
  // The order to distrust outlives a kill during the scan that carries it out.
  writeMeta(db, { boot: witness.boot, clean: "0", distrust: distrust ? "1" : "0" })
  db.query("DELETE FROM instances WHERE touched < ?1").run(witness.nowMs - INSTANCE_LIFE_MS)
  db.run(`PRAGMA user_version = ${SCHEMA}`)
  db.run("COMMIT")
  db.run("PRAGMA synchronous = NORMAL")
  return { distrust, clean }
}

function checkWhole(db: Database): void {
  const verdict = db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()
  if (verdict?.quick_check !== "ok") throw new Damaged()
}

function readMeta(db: Database): Map<string, string> {
  const rows = db.query<{ name: string; value: string }, []>("SELECT name, value FROM meta").all()
  return new Map(rows.map((row) => [row.name, row.value]))
}

function writeMeta(db: Database, values: Record<string, string>): void {
  const put = db.query("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2")
  for (const [name, value] of Object.entries(values)) put.run(name, value)
}

function moveAside(path: string): string | undefined {
  for (let n = 1; n <= MAX_ASIDE; n += 1) {
    const aside = `${path}.corrupt-${n}`
    if (existsSync(aside)) continue
    try {
      for (const side of ["", "-wal", "-shm"]) {
        if (existsSync(path + side)) renameSync(path + side, aside + side)
      }
      return aside
    } catch {
      // The caller reports that the file has to go by hand; nothing else can be done from here.
      return undefined
    }
  }
  return undefined
}

function codeOf(fault: unknown): string {
  if (fault instanceof SQLiteError) return fault.code ?? "SQLITE_ERROR"
  const code = fault instanceof Error && "code" in fault ? fault.code : undefined
  if (typeof code !== "string") throw fault
  return code
}
