/**
 * The ledger: every session's state, place in order and log, held together. The emit part asks it for a session,
 * takes positions, appends lines; the ledger sees to it that log and database tell the same story after any kind
 * of stop. It neither maps nor gates nor sends. Opened by `open.ts`.
 *
 * Saves run on a timer, that is between synchronous turns. Whoever applies a batch of moments therefore does it in
 * one synchronous turn that ends with `acknowledge`: then no save sees half a batch, and no row of a session is
 * ahead of the cursors.
 */
import type { Gap, SessionKey } from "../session/store.ts"
import type { SessionEntry } from "./entry.ts"
import type { Appended } from "./log.ts"
import type { Position } from "./recovery.ts"
import type { LedgerParts, SessionShelf } from "./shelf.ts"

/** `written`: the lines stand at bytes `start` to `end` of `file` (relative to the log root). `missed` is there
 *  when an agent's own log, which has no gap event, takes lines again. `failed`: nothing was written and the
 *  events count as missed; `missed` is the sum so far. */
export type AppendResult =
  | { kind: "written"; file: string; start: number; end: number; missed?: number }
  | { kind: "failed"; code: string; missed: number }

/** `whole`: there is no hole. `mended`: the gap event is in the log. `waiting`: not tried again yet, or in vain. */
export type MendResult =
  | { kind: "whole" }
  | { kind: "mended"; file: string; start: number; end: number }
  | { kind: "waiting"; code: string }

/** What is out of order now; an absent member is in order. */
export interface Health {
  degraded: boolean
  /** System code of the last failed log write, and how many sessions are failing. */
  log?: { code: string; sessions: number }
  /** Why the database cannot be written. */
  store?: string
}

/** Sessions taken up again at once. */
const MOST_NAMING = 1000
/** A failing log is tried again at most this often. */
const RETRY_MS = 1000
const FEED = "\n"

/** See the head of the file. */
export class Ledger<S> {
  private readonly failing = new Set<SessionEntry<S>>()
  private closed = false

  constructor(
    private readonly parts: LedgerParts<S>,
    private readonly shelf: SessionShelf<S>,
  ) {}

  /** The session, loaded if need be. `fresh` = the caller saw it begin, so that a session nothing is known of
   *  starts at (0, 0) instead of a seed. Never throws: a log that cannot be read makes a failing entry. */
  session(key: SessionKey, options: { fresh: boolean }): SessionEntry<S> {
    return this.shelf.known(key) ?? this.admit(this.shelf.load(key, options.fresh).entry)
  }

  /** The session if anything is known of it. */
  find(key: SessionKey): SessionEntry<S> | undefined {
    const known = this.shelf.known(key)
    if (known !== undefined) return known
    const { entry, isNew } = this.shelf.load(key, false)
    if (!isNew) return this.admit(entry)
    this.shelf.forget(entry)
    return undefined
  }

  /** Whether anything was ever logged for the session; loads nothing. */
  knows(key: SessionKey): boolean {
    return this.shelf.has(key) || this.parts.store.has(key)
  }

  /** Sessions whose stored state still waits for something: at start, to set their timers again. */
  openSessions(): SessionEntry<S>[] {
    return this.parts.store.openSessions().map((key) => this.session(key, { fresh: false }))
  }

  /** Sessions whose stored state names a plugin instance, the latest saved first: for one that comes back after our start. */
  naming(agent: string, instance: string): SessionKey[] {
    return this.parts.store.naming(agent, instance, MOST_NAMING)
  }

  /** Takes the next position of a session. While its log fails the epoch stays: the database already holds the
   *  order to take another one afterwards. */
  position(entry: SessionEntry<S>): Position {
    if (entry.bump && entry.failing === undefined) {
      entry.epoch += 1
      entry.seq = 0
      entry.bump = false
    }
    const position = { epoch: entry.epoch, seq: entry.seq }
    entry.seq += 1
    this.shelf.touch(entry)
    return position
  }

  /** Appends one group of lines (no line feeds in them) with one write. A session that failed before takes lines
   *  again only through `mend`, so that the gap event stands before them. */
  append(entry: SessionEntry<S>, lines: readonly string[]): AppendResult {
    if (this.closed) return this.miss(entry, "ECLOSED", lines.length)
    const inTrouble = entry.failing
    if (inTrouble !== undefined) {
      const hasGapEvent = entry.key.session !== undefined
      if (hasGapEvent || this.parts.now() < inTrouble.retryAtMs || !this.reread(entry)) {
        return this.miss(entry, inTrouble.code, lines.length)
      }
    }
    const appended = this.write(entry, () => lines)
    if (appended.kind !== "written") {
      this.fail(entry, appended)
      return this.miss(entry, codeOf(appended), lines.length)
    }
    const { start, end } = appended
    const missed = entry.key.session === undefined ? this.heal(entry)?.missed : undefined
    return { kind: "written", file: entry.file, start, end, ...(missed === undefined ? {} : { missed }) }
  }

  /**
   * Closes a hole: to be called before the events of a session that has a `gap` (cheap when there is none). `build`
   * makes the line of the gap event, for a position in a new epoch; when the write fails, neither the position nor
   * the event was, and nobody may be told of them. Tries a failing log at most once a second.
   */
  mend(entry: SessionEntry<S>, build: (position: Position, gap: Gap) => string): MendResult {
    const { failing } = entry
    if (entry.gap === undefined || entry.key.session === undefined) return { kind: "whole" }
    if (failing !== undefined) {
      if (this.parts.now() < failing.retryAtMs) return { kind: "waiting", code: failing.code }
      if (!this.reread(entry)) return { kind: "waiting", code: failing.code }
    }
    let position: Position = entry
    const appended = this.write(entry, () => {
      const { bump, epoch, seq, gap } = entry
      position = bump ? { epoch: epoch + 1, seq: 0 } : { epoch, seq }
      return [build(position, gap ?? { reason: "degraded", missed: 0 })]
    })
    if (appended.kind !== "written") {
      this.fail(entry, appended)
      return { kind: "waiting", code: codeOf(appended) }
    }
    entry.epoch = position.epoch
    entry.seq = position.seq + 1
    entry.bump = false
    this.heal(entry)
    return { kind: "mended", file: entry.file, start: appended.start, end: appended.end }
  }

  /** Sessions in memory with a hole, so that a timer can mend those that say nothing more. */
  holes(): SessionEntry<S>[] {
    return this.shelf.values().filter((entry) => entry.gap !== undefined)
  }

  /** See `Cursors.next`. */
  next(instance: string): number | undefined {
    return this.parts.cursors.next(instance)
  }

  /** See `Cursors.highestFound`. */
  highestFound(instance: string): number | undefined {
    return this.parts.cursors.highestFound(instance)
  }

  /** Everything of the instance below `next` is applied. Ends the synchronous turn of a batch. */
  acknowledge(instance: string, next: number): void {
    this.parts.cursors.acknowledge(instance, next)
    this.shelf.touchCursors()
  }

  /** Whether the lines of a resent moment are already in this session's log. */
  applied(instance: string, moment: number, key: SessionKey): boolean {
    return this.parts.cursors.applied(instance, moment, key)
  }

  /** Says that the state changed without an event, so that the next save takes it along. */
  touch(entry: SessionEntry<S>): void {
    this.shelf.touch(entry)
  }

  /** Whether events or state cannot be written now. */
  get degraded(): boolean {
    return this.failing.size > 0 || this.shelf.storeFault !== undefined
  }

  /** What is out of order, for health reports. */
  health(): Health {
    const store = this.shelf.storeFault
    const code = [...this.failing].at(-1)?.failing?.code
    return {
      degraded: this.degraded,
      ...(code === undefined ? {} : { log: { code, sessions: this.failing.size } }),
      ...(store === undefined ? {} : { store }),
    }
  }

  /** Absolute path of a log file named in a result. */
  path(file: string): string {
    return this.parts.logs.path(file)
  }

  /** Saves what changed, now. Only between batches, see the head of the file. Returns whether all is saved. */
  flush(): boolean {
    return this.shelf.save(false)
  }

  /** Saves, marks the stop as clean if that worked, and frees the home. May be called twice. */
  close(): void {
    if (this.closed) return
    const saved = this.flush()
    this.closed = true
    this.shelf.close()
    this.parts.logs.close()
    this.parts.store.close(saved)
  }

  private admit(entry: SessionEntry<S>): SessionEntry<S> {
    if (entry.failing !== undefined) this.failing.add(entry)
    return entry
  }

  private write(entry: SessionEntry<S>, lines: () => readonly string[]): Appended {
    const { logs } = this.parts
    let appended = logs.append(entry.file, entry.size, encodeLines(lines()))
    // Somebody else was at the file: nothing is lost by going on behind what it holds now.
    if (appended.kind === "misfit" && this.shelf.realign(entry)) {
      appended = logs.append(entry.file, entry.size, encodeLines(lines()))
    }
    if (appended.kind === "written") {
      entry.size = appended.end
      this.shelf.touch(entry)
    }
    return appended
  }

  private miss(entry: SessionEntry<S>, code: string, lines: number): AppendResult {
    const missed = (entry.gap?.missed ?? 0) + lines
    entry.gap = { reason: entry.gap?.reason ?? "degraded", missed }
    return { kind: "failed", code, missed }
  }

  private fail(entry: SessionEntry<S>, appended: Exclude<Appended, { kind: "written" }>): void {
    const isFirst = entry.failing === undefined
    entry.failing = { code: codeOf(appended), retryAtMs: this.parts.now() + RETRY_MS }
    entry.gap ??= { reason: "degraded", missed: 0 }
    this.failing.add(entry)
    if (!isFirst) return
    // Events now go out live with positions that no log holds. A kill must not give them to other events.
    entry.bump = true
    // For a session without a row: one that has its log folded whole.
    const row = { ...this.shelf.row(entry), size: 0, state: undefined }
    if (this.parts.store.distrust(row).kind === "failed") this.parts.soundness.withdraw()
    this.shelf.touch(entry)
  }

  private heal(entry: SessionEntry<S>): Gap | undefined {
    const { gap, failing } = entry
    if (gap === undefined && failing === undefined) return undefined
    delete entry.gap
    delete entry.failing
    this.failing.delete(entry)
    this.shelf.touch(entry)
    return gap
  }

  /** Tries to read a log again that could not be read; true when there is nothing (more) in the way. */
  private reread(entry: SessionEntry<S>): boolean {
    if (!entry.unread) return true
    if (this.shelf.realign(entry)) return true
    if (entry.failing !== undefined) entry.failing.retryAtMs = this.parts.now() + RETRY_MS
    return false
  }
}

function encodeLines(lines: readonly string[]): Buffer {
  if (lines.some((line) => line.includes(FEED))) {
    throw new Error("an event line holds a line feed; serialise it with JSON.stringify")
  }
  return Buffer.from(lines.join(FEED) + FEED)
}

function codeOf(appended: Exclude<Appended, { kind: "written" }>): string {
  return appended.kind === "failed" ? appended.code : "EMISFIT"
}
