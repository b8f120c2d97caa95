/**
 * Opens the home of the service: lock and database, then the scan of the logs, then the ledger that works on both.
 * Called once by `main.ts`; everything that follows goes through the `Ledger`.
 */
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { Cursors } from "./cursors.ts"
import { openStore } from "./database.ts"
import type { Folding } from "./entry.ts"
import { Ledger } from "./ledger.ts"
import { DEFAULT_MAX_HANDLES, LogFiles, systemCode } from "./log.ts"
import type { RelayTable } from "./relay/table.ts"
import { type ScanReport, scanLogs } from "./scan.ts"
import { SessionShelf, type Timers } from "./shelf.ts"
import { Soundness } from "./soundness.ts"

/** What the ledger needs to know and to be able to do. */
export interface LedgerOptions<S> {
  /** `AEP_HOME`: made with mode 0700 if absent; holds `logs/` and the database. */
  home: string
  /** Id of this start of the operating system, see `session/boot.ts`. */
  boot: string
  /** Epoch milliseconds. */
  now(): number
  timers: Timers
  folding: Folding<S>
  /** Whether something in the session waits for an end; such a session stays in memory. */
  isOpen(state: S): boolean
  /** Log files held open; default 128. */
  maxHandles?: number
  /** Sessions kept in memory; default 2000. */
  maxSessions?: number
}

/** What was found at start. */
export interface OpenReport extends ScanReport {
  /** The machine went down without a clean stop, or nobody can tell: every session takes a new epoch. */
  distrust: boolean
  /** The last stop was clean. */
  clean: boolean
  /** There was no database; if there are logs, it was rebuilt from them. */
  created: boolean
  /** Where a damaged database was put; it was rebuilt from the logs. */
  movedAside?: string
}

/** How `openLedger` ended. `locked`: another service owns the home; `unwritable`: it cannot be used. `detail`
 *  says what to do. */
export type OpenedLedger<S> =
  | { kind: "opened"; ledger: Ledger<S>; report: OpenReport; relays: RelayTable }
  | { kind: "locked"; detail: string }
  | { kind: "unwritable"; detail: string }

/** Sessions kept in memory when nothing else is configured. */
export const DEFAULT_MAX_SESSIONS = 2000
/** The database's name in the home. */
export const DATABASE_FILE = "opencode-aep.db"
/** The folder of the logs in the home. */
export const LOG_FOLDER = "logs"

/** Opens a home and brings database and logs to the same story; see `OpenReport`. */
export function openLedger<S>(options: LedgerOptions<S>): OpenedLedger<S> {
  const { home, boot, now, timers, folding, isOpen } = options
  try {
    mkdirSync(join(home, LOG_FOLDER), { recursive: true, mode: 0o700 })
  } catch (fault) {
    return {
      kind: "unwritable",
      detail: `cannot make ${home} (${systemCode(fault)}); check its owner and mode`,
    }
  }
  const database = join(home, DATABASE_FILE)
  const soundness = new Soundness(join(home, "sound"))
  // Without a database there was no run that could have taken the marker away.
  const suspect = existsSync(database) && !soundness.isSound()
  const opened = openStore(database, { boot, suspect, nowMs: now() })
  if (opened.kind !== "opened") return opened

  const { store, distrust, clean, created } = opened
  const logs = new LogFiles(join(home, LOG_FOLDER), options.maxHandles ?? DEFAULT_MAX_HANDLES)
  const cursors = new Cursors(store)
  const maxSessions = options.maxSessions ?? DEFAULT_MAX_SESSIONS
  const parts = { logs, store, cursors, soundness, folding, isOpen, now, timers, distrust, maxSessions }
  const shelf = new SessionShelf(parts)
  const scan = scanLogs(logs.root, store, shelf)
  shelf.save(true)
  const aside = opened.movedAside === undefined ? {} : { movedAside: opened.movedAside }
  return {
    kind: "opened",
    ledger: new Ledger(parts, shelf),
    report: { ...scan, distrust, clean, created, ...aside },
    relays: opened.relays,
  }
}
