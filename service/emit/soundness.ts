/**
 * A last witness for the case that a disk is so full that not even the database can note the hole in a log: an
 * empty file that is removed then, which needs no space. When it is missing after an unclean stop, every session
 * takes a new epoch. Called by the ledger; `open.ts` asks it once before the database is opened.
 */
import { closeSync, existsSync, openSync, rmSync } from "node:fs"
import { systemCode } from "./log.ts"

/** The marker file of one home. */
export class Soundness {
  private stands = false

  constructor(private readonly path: string) {}

  /** Whether the marker stands, as the last run left it. */
  isSound(): boolean {
    return existsSync(this.path)
  }

  /** Puts the marker up, once the database says all there is to say. */
  confirm(): void {
    if (this.stands) return
    try {
      closeSync(openSync(this.path, "a", 0o600))
      this.stands = true
    } catch (fault) {
      // Without the marker the next start distrusts more than it must, and repeats no position.
      systemCode(fault)
    }
  }

  /** Takes the marker away: a log has a hole, and the database could not be told. */
  withdraw(): void {
    try {
      rmSync(this.path, { force: true })
    } catch (fault) {
      // A file system that takes no removal either leaves no witness; a kill now could repeat positions.
      systemCode(fault)
    }
    this.stands = false
  }
}
