/**
 * How far each log is confirmed, kept until the next save: a save a second, not one an event. A kill between
 * two saves costs repetitions, which are legal, and never a loss. Used by `relay.ts`.
 */
import type { Saved } from "../../session/store.ts"
import type { Timers } from "../shelf.ts"

const SAVE_AFTER_MS = 1000

/** See the head of the file. */
export class RelayCursors {
  private readonly unsaved = new Map<string, number>()
  private timer: unknown
  private closed = false

  constructor(
    private readonly save: (confirmed: ReadonlyMap<string, number>) => Saved,
    private readonly timers: Timers,
  ) {}

  /** The relay has everything of `file` before byte `confirmed`. */
  note(file: string, confirmed: number): void {
    this.unsaved.set(file, confirmed)
    if (this.closed) return
    this.timer ??= this.timers.set(() => {
      this.timer = undefined
      this.flush()
    }, SAVE_AFTER_MS)
  }

  /** Saves now, and ends saving on its own. May be called twice. */
  close(): void {
    if (this.timer !== undefined) this.timers.clear(this.timer)
    this.timer = undefined
    this.closed = true
    this.flush()
  }

  private flush(): void {
    if (this.unsaved.size === 0 || this.save(this.unsaved).kind === "saved") {
      this.unsaved.clear()
      return
    }
    if (this.closed) return
    // Health tells of a database that cannot be written; here it only costs repetitions.
    this.timer ??= this.timers.set(() => {
      this.timer = undefined
      this.flush()
    }, SAVE_AFTER_MS)
  }
}
