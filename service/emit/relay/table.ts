/**
 * How far each relay has each log, in the service's database: without it a restart would send everything
 * again, or nothing. Read once at a start, written on a timer by `cursor.ts`. Made by `database.ts`, which
 * owns the file.
 */
import { type Database, SQLiteError } from "bun:sqlite"
import type { Saved } from "../../session/store.ts"

/** Made when a relay is configured for the first time. */
const TABLES = `
CREATE TABLE IF NOT EXISTS relays (
  id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, touched INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS relay_cursors (
  relay INTEGER NOT NULL, file TEXT NOT NULL, confirmed INTEGER NOT NULL,
  PRIMARY KEY (relay, file)) WITHOUT ROWID;
`

/** A log that the relay does not have whole: bytes `confirmed` to `size` of it are missing there. */
export interface Behind {
  file: string
  confirmed: number
  size: number
  /** The relay had more than the log holds: it was cut or began anew, and is sent from its start. */
  wasCut: boolean
}

/** A relay not configured for this long is forgotten. */
const RELAY_LIFE_MS = 90 * 24 * 3600 * 1000

/** See the head of the file. Usable until the store is closed; then writes fail. */
export class RelayTable {
  constructor(private readonly db: Database) {}

  /**
   * What the relay at `url` is behind on, the log written last at the end. A relay met for the first time is
   * given the sessions in which something waits for its end from their start, all others from now on; unless
   * `fromStart` says to give it everything. Writes that fail are reported and cost repetitions only.
   */
  open(url: string, nowMs: number, fromStart: boolean): { behind: Behind[]; saved: Saved } {
    const saved = this.attempt(() => {
      this.db.run(TABLES)
      const isNew = this.idOf(url) === undefined
      const touch =
        "INSERT INTO relays (url, touched) VALUES (?1, ?2) ON CONFLICT (url) DO UPDATE SET touched = ?2"
      this.db.query(touch).run(url, nowMs)
      if (isNew && !fromStart) {
        const skip = "INSERT OR REPLACE INTO relay_cursors SELECT ?1, file, size FROM sessions WHERE open = 0"
        this.db.query(skip).run(this.idOf(url) ?? 0)
      }
      this.db.query("DELETE FROM relays WHERE touched < ?1").run(nowMs - RELAY_LIFE_MS)
      this.db.run("DELETE FROM relay_cursors WHERE relay NOT IN (SELECT id FROM relays)")
    })
    return { behind: this.behind(url), saved }
  }

  /** Writes how far logs are confirmed, all of them or none. */
  save(url: string, confirmed: ReadonlyMap<string, number>): Saved {
    return this.attempt(() => {
      // Neither is there when the write at the start failed.
      this.db.run(TABLES)
      this.db.query("INSERT OR IGNORE INTO relays (url, touched) VALUES (?1, 0)").run(url)
      const id = this.idOf(url) ?? 0
      const put = this.db.query("INSERT OR REPLACE INTO relay_cursors VALUES (?1, ?2, ?3)")
      for (const [file, offset] of confirmed) put.run(id, file, offset)
    })
  }

  private idOf(url: string): number | undefined {
    return this.db.query<{ id: number }, [string]>("SELECT id FROM relays WHERE url = ?1").get(url)?.id
  }

  private behind(url: string): Behind[] {
    const there = this.db.query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE name = 'relay_cursors'",
    )
    const hasCursors = there.get() !== null
    const cursors = hasCursors ? "relay_cursors" : "(SELECT 0 AS relay, '' AS file, 0 AS confirmed)"
    const query = this.db.query<{ file: string; size: number; confirmed: number }, [number]>(
      `SELECT s.file, s.size, COALESCE(c.confirmed, 0) AS confirmed
       FROM sessions s LEFT JOIN ${cursors} c ON c.relay = ?1 AND c.file = s.file
       WHERE COALESCE(c.confirmed, 0) <> s.size ORDER BY s.rowid`,
    )
    return query.all(hasCursors ? (this.idOf(url) ?? 0) : 0).map(({ file, size, confirmed }) => {
      const wasCut = confirmed > size
      return { file, size, confirmed: wasCut ? 0 : confirmed, wasCut }
    })
  }

  private attempt(write: () => void): Saved {
    try {
      this.db.transaction(write)()
      return { kind: "saved" }
    } catch (fault) {
      if (fault instanceof SQLiteError) return { kind: "failed", code: fault.code ?? "SQLITE_ERROR" }
      // A closed database is no SQLiteError.
      return { kind: "failed", code: "CLOSED" }
    }
  }
}
