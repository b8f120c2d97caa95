/**
 * What the database remembers beside the log: snapshots of sessions, cursors of plugin instances, and whether the
 * last stop was clean. An accelerator and a witness; the log is the truth, and all of this but the witness can be
 * rebuilt from it. Called by the ledger only, which decides when to save. Opening, locking and the repair of a
 * damaged file are in `emit/database.ts`.
 */
import { type Database, SQLiteError } from "bun:sqlite"
import superjson from "superjson"

/** Whose log and state: a session of an agent, or (no session) the agent's own events. */
export interface SessionKey {
  agent: string
  session?: string
}

/** A hole in a session's log that is not told of yet. */
export interface Gap {
  /** `lost-tail`: lines that were there are gone. `degraded`: events could not be written. */
  reason: "lost-tail" | "degraded"
  /** Events missing; a lower bound for a lost tail. */
  missed: number
}

/** What is known of a session at one point of its log. All members belong to the same moment. */
export interface SessionRow {
  key: SessionKey
  /** Log file, relative to the log root. */
  file: string
  /** `source` of the session's events; constant for its life (AEP-0001 §5.2). */
  source?: string
  epoch: number
  /** Next sequence number. */
  seq: number
  /** Bytes of the log that the other members account for; always the end of a whole group. */
  size: number
  /** Positions may have been used beyond the log: the next event needs a new epoch. */
  bump: boolean
  gap?: Gap
  open: boolean
  /** `undefined` when the stored text cannot be read: the log has to be folded from its start. */
  state: unknown
}

/** One plugin instance as remembered. */
export interface InstanceRow {
  id: string
  /** Lowest moment index not yet applied; absent when the instance is known from log lines only. */
  next?: number
  /** Moments from `next` on whose lines were found in the log after a kill; `undefined` = there are none. */
  applied?: unknown
}

/** Everything that one save writes, in one transaction. */
export interface Change {
  sessions: readonly SessionRow[]
  /** Instances without an `applied` member keep what is stored there. */
  instances: readonly InstanceRow[]
  /** Clears the order to distrust all positions, once every log was looked at. */
  trusted?: boolean
  nowMs: number
}

/** `code` is SQLite's (`SQLITE_FULL`, ...), or `STATE` for a state that cannot be written down. */
export type Saved = { kind: "saved" } | { kind: "failed"; code: string }

/** The tables, made by `emit/database.ts` when it opens the file. */
export const TABLES = `
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
  agent TEXT NOT NULL, session TEXT NOT NULL, file TEXT NOT NULL, source TEXT,
  epoch INTEGER NOT NULL, seq INTEGER NOT NULL, size INTEGER NOT NULL,
  bump INTEGER NOT NULL, gap TEXT, missed INTEGER NOT NULL, open INTEGER NOT NULL, state TEXT NOT NULL,
  PRIMARY KEY (agent, session));
CREATE INDEX IF NOT EXISTS sessions_file ON sessions (file COLLATE NOCASE);
CREATE INDEX IF NOT EXISTS sessions_open ON sessions (open) WHERE open = 1;
CREATE TABLE IF NOT EXISTS instances (
  id TEXT PRIMARY KEY, next INTEGER, touched INTEGER NOT NULL, applied TEXT);
`

interface StoredSession {
  agent: string
  session: string
  file: string
  source: string | null
  epoch: number
  seq: number
  size: number
  bump: number
  gap: string | null
  missed: number
  open: number
  state: string
}

interface StoredInstance {
  id: string
  next: number | null
  applied: string | null
}

/** Reads and writes of an opened database. Reads throw on a database that breaks while in use (the next start
 *  repairs it); writes return their failure, since the service goes on without them. */
export class Store {
  private closed = false

  constructor(private readonly db: Database) {}

  /** The row of a session, if it was ever saved. */
  session(key: SessionKey): SessionRow | undefined {
    const query = this.db.query<StoredSession, [string, string]>(
      "SELECT * FROM sessions WHERE agent = ?1 AND session = ?2",
    )
    const stored = query.get(encode(key.agent), encodeSession(key.session))
    return stored === null ? undefined : readSession(stored)
  }

  /** Whether the session was ever saved. */
  has(key: SessionKey): boolean {
    const query = this.db.query<{ found: number }, [string, string]>(
      "SELECT 1 AS found FROM sessions WHERE agent = ?1 AND session = ?2",
    )
    return query.get(encode(key.agent), encodeSession(key.session)) !== null
  }

  /** The session whose row names `file`, in any case, since some file systems ignore it. */
  ownerOf(file: string): SessionKey | undefined {
    const query = this.db.query<Pick<StoredSession, "agent" | "session">, [string]>(
      "SELECT agent, session FROM sessions WHERE file = ?1 COLLATE NOCASE",
    )
    const stored = query.get(file)
    return stored === null ? undefined : readKey(stored)
  }

  /** Size accounted for, by log file. */
  sizes(): Map<string, number> {
    const rows = this.db.query<{ file: string; size: number }, []>("SELECT file, size FROM sessions").all()
    return new Map(rows.map((row) => [row.file, row.size]))
  }

  /** Sessions that still wait for something. */
  openSessions(): SessionKey[] {
    const query = this.db.query<Pick<StoredSession, "agent" | "session">, []>(
      "SELECT agent, session FROM sessions WHERE open = 1 ORDER BY rowid",
    )
    return query.all().map(readKey)
  }

  /** Sessions of an agent whose state names the instance, the latest saved first, so many at most. Reads every row's text. */
  naming(agent: string, instance: string, most: number): SessionKey[] {
    const query = this.db.query<Pick<StoredSession, "agent" | "session">, [string, string, number]>(
      "SELECT agent, session FROM sessions WHERE agent = ?1 AND instr(state, ?2) > 0 ORDER BY rowid DESC LIMIT ?3",
    )
    return query.all(encode(agent), `"instance":${JSON.stringify(instance)}`, most).map(readKey)
  }

  /** Every instance heard of within the last thirty days. */
  instances(): InstanceRow[] {
    const query = this.db.query<StoredInstance, []>("SELECT id, next, applied FROM instances")
    return query.all().map((stored) => ({
      id: stored.id,
      ...(stored.next === null ? {} : { next: stored.next }),
      ...(stored.applied === null ? {} : { applied: parse(stored.applied) }),
    }))
  }

  /** Writes all of `change` or nothing of it. */
  save(change: Change): Saved {
    return this.attempt(() => this.write(change))
  }

  /** Says at once that a session may use positions that are not in its log, and touches nothing else of its row:
   *  in the middle of a batch the rest of the row would be ahead of the cursors. `row` is what to write for a
   *  session that has none yet. */
  distrust(row: SessionRow): Saved {
    return this.attempt(() => {
      const bump = this.db.query("UPDATE sessions SET bump = 1 WHERE agent = ?1 AND session = ?2")
      if (bump.run(encode(row.key.agent), encodeSession(row.key.session)).changes === 0) this.put(row)
    })
  }

  /** Ends the use of the file. `clean` says that everything was saved before; may be called twice. */
  close(clean: boolean): void {
    if (this.closed) return
    this.closed = true
    try {
      if (clean) {
        // On the disk before the flag is: the sizes in the rows are what exposes a log that lost its tail.
        this.db.run("PRAGMA synchronous = FULL")
        this.db.run("UPDATE meta SET value = '1' WHERE name = 'clean'")
        this.db.run("PRAGMA wal_checkpoint(TRUNCATE)")
      }
    } catch (fault) {
      // Without the flag the next start takes this for an unclean stop, which is the safe reading.
      if (!(fault instanceof SQLiteError)) throw fault
    } finally {
      this.db.close()
    }
  }

  private attempt(write: () => void): Saved {
    try {
      this.db.transaction(write)()
      return { kind: "saved" }
    } catch (fault) {
      return { kind: "failed", code: fault instanceof SQLiteError ? (fault.code ?? "SQLITE_ERROR") : "STATE" }
    }
  }

  private put(row: SessionRow): void {
    const session = this.db.query(
      "INSERT OR REPLACE INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )
    session.run(
      encode(row.key.agent),
      encodeSession(row.key.session),
      row.file,
      row.source ?? null,
      row.epoch,
      row.seq,
      row.size,
      row.bump ? 1 : 0,
      row.gap?.reason ?? null,
      row.gap?.missed ?? 0,
      row.open ? 1 : 0,
      superjson.stringify(row.state),
    )
  }

  private write(change: Change): void {
    for (const row of change.sessions) this.put(row)
    const cursor = this.db.query(
      "INSERT INTO instances VALUES (?1, ?2, ?3, NULL) ON CONFLICT (id) DO UPDATE SET next = ?2, touched = ?3",
    )
    const applied = this.db.query("UPDATE instances SET applied = ?2 WHERE id = ?1")
    for (const row of change.instances) {
      cursor.run(row.id, row.next ?? null, change.nowMs)
      if (!("applied" in row)) continue
      applied.run(row.id, row.applied === undefined ? null : superjson.stringify(row.applied))
    }
    if (change.trusted === true) this.db.run("UPDATE meta SET value = '0' WHERE name = 'distrust'")
  }
}

// SQLite texts are UTF-8: lone surrogates would fold together and two sessions would share a row. JSON escapes
// them and leaves ordinary ids as they are. An absent session is '', an empty one '""'.
function encode(id: string): string {
  return JSON.stringify(id).slice(1, -1)
}

function encodeSession(session: string | undefined): string {
  if (session === undefined) return ""
  return session === "" ? '""' : encode(session)
}

function readKey(stored: Pick<StoredSession, "agent" | "session">): SessionKey {
  const agent = decode(stored.agent)
  if (stored.session === "") return { agent }
  return { agent, session: stored.session === '""' ? "" : decode(stored.session) }
}

function decode(text: string): string {
  return String(JSON.parse(`"${text}"`))
}

function readSession(stored: StoredSession): SessionRow {
  const gap = readGap(stored)
  return {
    key: readKey(stored),
    file: stored.file,
    ...(stored.source === null ? {} : { source: stored.source }),
    epoch: stored.epoch,
    seq: stored.seq,
    size: stored.size,
    bump: stored.bump === 1,
    ...(gap === undefined ? {} : { gap }),
    open: stored.open === 1,
    state: parse(stored.state),
  }
}

function readGap({ gap, missed }: StoredSession): Gap | undefined {
  if (gap === null) return undefined
  return { reason: gap === "degraded" ? "degraded" : "lost-tail", missed }
}

function parse(text: string): unknown {
  try {
    return superjson.parse(text)
  } catch {
    // The reader falls back to the log, which holds the same in full.
    return undefined
  }
}
