/**
 * A home in a temporary folder, with the smallest state that shows whether the log was folded right: the ids of all
 * events, in order. Real files, real SQLite; clock, boot id and timers are the test's.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { SessionEntry } from "../../service/emit/entry.ts"
import type { LineMarks, LoggedEvent } from "../../service/emit/groups.ts"
import type { AppendResult, Ledger } from "../../service/emit/ledger.ts"
import { type LedgerOptions, type OpenReport, openLedger } from "../../service/emit/open.ts"
import type { SessionKey } from "../../service/session/store.ts"

/** Two in the afternoon of 2026-03-02, the sixtieth day of the count of epochs. */
export const NOON = Date.UTC(2026, 2, 2, 14)

export interface Ids {
  ids: string[]
  open: boolean
}

export const A: SessionKey = { agent: "opencode", session: "ses_a" }
export const B: SessionKey = { agent: "opencode", session: "ses_b" }
export const INSTANCE = "i1"

/** A home and the time in it. `due` holds what the ledger wants to do later. */
export class Home {
  readonly path = mkdtempSync(join(tmpdir(), "aep-ledger-"))
  nowMs = NOON
  boot = "boot-1"
  private readonly due = new Map<number, () => void>()
  private timers = 0
  private events = 0

  options(extra: Partial<LedgerOptions<Ids>> = {}): LedgerOptions<Ids> {
    return {
      home: this.path,
      boot: this.boot,
      now: () => this.nowMs,
      timers: {
        set: (run) => {
          this.timers += 1
          this.due.set(this.timers, run)
          return this.timers
        },
        clear: (handle) => this.due.delete(Number(handle)),
      },
      folding: {
        initial: () => ({ ids: [], open: false }),
        fold,
        marksOf,
        isState: (value): value is Ids => typeof value === "object" && value !== null && "ids" in value,
      },
      isOpen: (state) => state.open,
      ...extra,
    }
  }

  open(extra: Partial<LedgerOptions<Ids>> = {}): { ledger: Ledger<Ids>; report: OpenReport } {
    const opened = openLedger(this.options(extra))
    if (opened.kind !== "opened") throw new Error(opened.detail)
    return opened
  }

  /** Runs everything that was to be done later. */
  elapse(): void {
    const runs = [...this.due.values()]
    this.due.clear()
    for (const run of runs) run()
  }

  startIdsAt(first: number): void {
    this.events = first
  }

  get waiting(): number {
    return this.due.size
  }

  /** Takes positions for `count` events of one moment, folds and appends them as one group. */
  emit(ledger: Ledger<Ids>, entry: SessionEntry<Ids>, count = 1, moment?: number, type = "x.test.event") {
    const lines: string[] = []
    const ids: string[] = []
    for (let i = 0; i < count; i += 1) {
      this.events += 1
      const event = makeEvent(
        entry.key,
        `e${this.events}`,
        type,
        ledger.position(entry),
        moment,
        count - 1 - i,
      )
      ids.push(String(event.id))
      fold(entry.state, event)
      lines.push(JSON.stringify(event))
    }
    const result: AppendResult = ledger.append(entry, lines)
    return { ids, result }
  }

  log(file: string): string {
    return join(this.path, "logs", file)
  }

  lines(file: string): LoggedEvent[] {
    return parseLines(readFileSync(this.log(file), "utf8"))
  }

  /** The database with its side files, as a person would delete it. */
  dropDatabase(): void {
    for (const side of ["", "-wal", "-shm"]) rmSync(`${this.path}/opencode-aep.db${side}`, { force: true })
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** Makes an event line as the ledger expects it: owner, position and marks. */
export function makeEvent(
  key: SessionKey,
  id: string,
  type: string,
  position: { epoch: number; seq: number },
  moment?: number,
  more = 0,
): LoggedEvent {
  return {
    aep: "0.1",
    id,
    type,
    ...key,
    ...(key.session === undefined ? {} : position),
    source: `aep://host/agent/${key.agent}`,
    ...(moment === undefined ? {} : { tinstance: INSTANCE, tmoment: moment }),
    ...(more === 0 || moment === undefined ? {} : { tmore: more }),
  }
}

export function parseLines(text: string): LoggedEvent[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
}

export function marksOf(event: LoggedEvent): LineMarks | undefined {
  const { tinstance, tmoment, tmore } = event
  if (typeof tinstance !== "string" || typeof tmoment !== "number") return undefined
  return { instance: tinstance, moment: tmoment, more: typeof tmore === "number" ? tmore : 0 }
}

/** `open` and `shut` switch the session between waiting and not. */
export function fold(state: Ids, event: LoggedEvent): void {
  state.ids.push(String(event.id))
  if (event.type === "open") state.open = true
  if (event.type === "shut") state.open = false
}

/** `(epoch, seq)` of every line, for asserting that none is used twice. */
export function positionsOf(lines: readonly LoggedEvent[]): string[] {
  return lines.map((line) => `${line.epoch},${line.seq}`)
}
