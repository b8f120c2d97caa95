/**
 * How far the moments of each plugin instance are applied: the cursor the plugin is told, and after a kill which
 * later moments are in the logs already. Kept in memory, saved by the ledger together with the sessions, so that
 * no row of a session is ever ahead of the cursors.
 */
import type { InstanceRow, SessionKey, Store } from "../session/store.ts"
import { AppliedMoments, sessionId } from "./applied.ts"
import type { LineMarks } from "./groups.ts"

/** Cursors of all instances of one ledger. */
export class Cursors {
  private readonly cursors = new Map<string, number>()
  private readonly found = new AppliedMoments()
  private readonly dirty = new Set<string>()
  private readonly dirtyFound = new Set<string>()

  constructor(store: Store) {
    for (const row of store.instances()) {
      if (row.next !== undefined) this.cursors.set(row.id, row.next)
      this.found.restore(row.id, row.applied)
    }
  }

  /** Lowest index not applied: the stored cursor, 0 when only log lines know the instance, `undefined` when
   *  nothing does (then the plugin's own first index counts). */
  next(instance: string): number | undefined {
    return this.cursors.get(instance) ?? (this.found.highest(instance) === undefined ? undefined : 0)
  }

  /** Highest index found in logs at or above the cursor; after a kill the plugin was told at most this plus one. */
  highestFound(instance: string): number | undefined {
    return this.found.highest(instance)
  }

  /** Says that everything below `next` is applied. A cursor never goes down. */
  acknowledge(instance: string, next: number): void {
    const cursor = this.cursors.get(instance)
    if (cursor !== undefined && next <= cursor) return
    this.cursors.set(instance, next)
    this.dirty.add(instance)
    if (this.found.release(instance, next)) this.dirtyFound.add(instance)
  }

  /** Whether a log read at start holds the lines of this moment. */
  applied(instance: string, moment: number, key: SessionKey): boolean {
    return this.found.knows(instance) && this.found.has(instance, moment, sessionId(key))
  }

  /** Notes a group met while reading a log. */
  note(marks: LineMarks, session: string): void {
    this.found.note(marks, session, this.cursors.get(marks.instance))
    this.dirty.add(marks.instance)
    this.dirtyFound.add(marks.instance)
  }

  /** Whether a save has something to write. */
  get isDirty(): boolean {
    return this.dirty.size > 0
  }

  /** Rows to save; the result counts as saved when `saved` is called before the next change. */
  changes(): InstanceRow[] {
    return [...this.dirty].map((id) => {
      const next = this.cursors.get(id)
      return {
        id,
        ...(next === undefined ? {} : { next }),
        ...(this.dirtyFound.has(id) ? { applied: this.found.snapshot(id) } : {}),
      }
    })
  }

  /** Says that the last `changes` are on the disk. */
  saved(): void {
    this.dirty.clear()
    this.dirtyFound.clear()
  }
}
