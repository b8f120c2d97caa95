/**
 * The sessions in memory: loaded when met, saved together, let go when there are too many and nothing in them
 * waits. It decides when the database is written; what is written to logs is the ledger's matter, its only user
 * besides the scan at start.
 */
import type { SessionKey, SessionRow, Store } from "../session/store.ts"
import { sessionId } from "./applied.ts"
import type { Cursors } from "./cursors.ts"
import { type Folding, type LoadContext, type Loaded, loadEntry, type SessionEntry } from "./entry.ts"
import { type LogFiles, systemCode } from "./log.ts"
import { laterOf } from "./recovery.ts"
import type { Soundness } from "./soundness.ts"

/** Delays in milliseconds; `set` returns what `clear` takes. */
export interface Timers {
  set(run: () => void, afterMs: number): unknown
  clear(handle: unknown): void
}

/** What shelf and ledger are built from; `open.ts` makes it. */
export interface LedgerParts<S> {
  logs: LogFiles
  store: Store
  cursors: Cursors
  soundness: Soundness
  folding: Folding<S>
  /** Whether something in the session waits for an end; such a session stays in memory. */
  isOpen(state: S): boolean
  /** Epoch milliseconds. */
  now(): number
  timers: Timers
  /** The machine went down without a clean stop: logs without a row are not to be trusted either. */
  distrust: boolean
  maxSessions: number
}

/** How long changes may stay in memory only. */
const SAVE_AFTER_MS = 200
/** A database that cannot be written is tried again at most this often. */
const RETRY_MS = 1000

/** See the head of the file. */
export class SessionShelf<S> {
  private readonly entries = new Map<string, SessionEntry<S>>()
  /** The last of `entries`, where it is known. */
  private youngest: SessionEntry<S> | undefined
  /** By lower-cased file name: file systems that ignore case give two sessions one file. */
  private readonly files = new Map<string, SessionEntry<S>>()
  private readonly dirty = new Set<SessionEntry<S>>()
  private fault: string | undefined
  private timer: unknown
  private closed = false

  constructor(private readonly parts: LedgerParts<S>) {}

  /** The session if it is in memory; it is the youngest from now on. */
  known(key: SessionKey): SessionEntry<S> | undefined {
    const id = sessionId(key)
    const entry = this.entries.get(id)
    // Moments come in rows of one session: the youngest need not be moved.
    if (entry === undefined || entry === this.youngest) return entry
    this.entries.delete(id)
    this.entries.set(id, entry)
    this.youngest = entry
    return entry
  }

  /** Whether the session is in memory. */
  has(key: SessionKey): boolean {
    return this.entries.has(sessionId(key))
  }

  /** Loads a session that is not in memory, or reads it anew. */
  load(key: SessionKey, fresh: boolean): Loaded<S> {
    const known = this.entries.get(sessionId(key))
    if (known !== undefined) this.forget(known)
    const loaded = this.read(key, fresh)
    const { entry } = loaded
    this.entries.set(sessionId(key), entry)
    this.youngest = entry
    this.nameFile(entry)
    if (loaded.linesFolded > 0 || loaded.lostTail) this.touch(entry)
    if (this.entries.size > this.parts.maxSessions) this.saveSoon(SAVE_AFTER_MS)
    return loaded
  }

  /** Reads a session from the disk without putting it on the shelf. */
  read(key: SessionKey, fresh: boolean): Loaded<S> {
    const { logs, store, cursors, folding, distrust, now } = this.parts
    const isTaken = (file: string): boolean => {
      const holder = this.files.get(file.toLowerCase())
      return holder !== undefined && sessionId(holder.key) !== sessionId(key)
    }
    const context: LoadContext<S> = { logs, store, cursors, folding, distrust, nowMs: now(), isTaken }
    return loadEntry(key, fresh, context)
  }

  /** Takes a log as it is now for one that changed behind our back, or could not be read before. What is remembered
   *  stays; the order goes on in a new epoch. Returns whether the log could be read. */
  realign(entry: SessionEntry<S>): boolean {
    // Fresh: where nothing is left, the position in memory counts, not a seed.
    const { entry: found } = this.read(entry.key, true)
    if (found.unread) return false
    const missed = Math.max(entry.gap?.missed ?? 0, found.gap?.missed ?? 0)
    const { state, gap } = entry
    const isShorter = found.size < entry.size
    const at = laterOf(entry, found) ?? found
    const known = entry.unread ? {} : { state }
    Object.assign(entry, found, known, { epoch: at.epoch, seq: at.seq, bump: true })
    if (isShorter) entry.gap = { reason: "lost-tail", missed: Math.max(1, missed) }
    else if (gap !== undefined) entry.gap = { ...gap, missed }
    this.nameFile(entry)
    return true
  }

  /** Keeps other sessions from taking the file of this one before its row says so. */
  nameFile(entry: SessionEntry<S>): void {
    if (!entry.unread) this.files.set(entry.file.toLowerCase(), entry)
  }

  /** Takes a session off the shelf, unsaved. */
  forget(entry: SessionEntry<S>): void {
    this.entries.delete(sessionId(entry.key))
    if (this.youngest === entry) this.youngest = undefined
    this.files.delete(entry.file.toLowerCase())
    this.dirty.delete(entry)
  }

  /** Sessions in memory, eldest first. */
  values(): SessionEntry<S>[] {
    return [...this.entries.values()]
  }

  /** Has the session saved with the next save. */
  touch(entry: SessionEntry<S>): void {
    // Of a log that could not be read nothing is known that could replace its row.
    if (entry.unread) return
    this.dirty.add(entry)
    this.saveSoon(SAVE_AFTER_MS)
  }

  /** Has the cursors saved soon. */
  touchCursors(): void {
    if (this.parts.cursors.isDirty) this.saveSoon(SAVE_AFTER_MS)
  }

  /** Why the database cannot be written, if it cannot. */
  get storeFault(): string | undefined {
    return this.fault
  }

  /** The row of a session as it is now. */
  row(entry: SessionEntry<S>): SessionRow {
    return {
      key: entry.key,
      file: entry.file,
      ...(entry.source === undefined ? {} : { source: entry.source }),
      epoch: entry.epoch,
      seq: entry.seq,
      size: entry.size,
      bump: entry.bump,
      ...(entry.gap === undefined ? {} : { gap: entry.gap }),
      open: this.parts.isOpen(entry.state),
      state: entry.state,
    }
  }

  /** Saves all that changed in one transaction, then lets sessions go. `trusted` = every log was looked at. Returns
   *  whether nothing is left to save; what is left is tried again in a second. */
  save(trusted: boolean): boolean {
    if (this.closed) return this.dirty.size === 0
    const { store, cursors, soundness, now } = this.parts
    if (trusted || this.dirty.size > 0 || cursors.isDirty) {
      for (const entry of this.dirty) this.compare(entry)
      const sessions = [...this.dirty].map((entry) => this.row(entry))
      const saved = store.save({ sessions, instances: cursors.changes(), trusted, nowMs: now() })
      if (saved.kind === "failed") {
        this.fault = saved.code
        this.saveSoon(RETRY_MS)
        return false
      }
      this.fault = undefined
      soundness.confirm()
      this.dirty.clear()
      cursors.saved()
    }
    this.evict()
    return true
  }

  /** Ends saving. May be called twice. */
  close(): void {
    this.closed = true
    if (this.timer !== undefined) this.parts.timers.clear(this.timer)
    this.timer = undefined
  }

  private saveSoon(afterMs: number): void {
    if (this.timer !== undefined || this.closed) return
    this.timer = this.parts.timers.set(() => {
      this.timer = undefined
      this.save(false)
    }, afterMs)
  }

  /** Somebody may have cut or removed a log under our descriptor; its events would vanish without a word. */
  private compare(entry: SessionEntry<S>): void {
    if (entry.failing !== undefined) return
    try {
      if ((this.parts.logs.size(entry.file) ?? 0) === entry.size) return
      this.parts.logs.release(entry.file)
      this.realign(entry)
    } catch (fault) {
      // The next write meets the same trouble and reports it.
      systemCode(fault)
    }
  }

  private evict(): void {
    for (const entry of this.entries.values()) {
      if (this.entries.size <= this.parts.maxSessions) return
      if (entry.failing !== undefined || this.parts.isOpen(entry.state)) continue
      this.forget(entry)
    }
  }
}
