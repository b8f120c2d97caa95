/**
 * A session as the ledger holds it in memory, and how it gets there: snapshot from the database, then the lines
 * written after it, then the place to go on at. Reads and repairs one log; decides nothing about saving.
 */
import type { Gap, SessionKey, SessionRow, Store } from "../session/store.ts"
import { sessionId } from "./applied.ts"
import type { Cursors } from "./cursors.ts"
import { type LoggedEvent, type MarksOf, readGroups } from "./groups.ts"
import { type LogFiles, systemCode } from "./log.ts"
import { chooseFile, readFirstLine } from "./owner.ts"
import {
  isAfter,
  laterOf,
  type Plan,
  type Position,
  planRecovery,
  positionOf,
  type Resumed,
  resume,
  seedPosition,
} from "./recovery.ts"

export type { Gap } from "../session/store.ts"

/** One session in memory. Valid until the end of the synchronous turn it was got in: later, ask again by key. */
export interface SessionEntry<S> {
  readonly key: SessionKey
  /** Log file relative to the log root. */
  readonly file: string
  state: S
  /** `source` of the session's first event, once there is one; the caller sets it when it makes that event. */
  source?: string
  epoch: number
  /** Next sequence number. */
  seq: number
  /** Bytes of whole groups in the log. */
  size: number
  /** The next position takes a new epoch. Set by the ledger. */
  bump: boolean
  /** Present while a hole has to be told of, see `Ledger.mend`. */
  gap?: Gap
  /** Present while writes fail: the system's code and when to try again (epoch milliseconds). */
  failing?: { code: string; retryAtMs: number }
  /** The log could not be read, so `state` and `size` are not to be relied on. */
  unread: boolean
}

/** How to read a session's state out of its events. */
export interface Folding<S> {
  initial(key: SessionKey): S
  fold(state: S, event: LoggedEvent): void
  marksOf: MarksOf
  /** Whether a stored snapshot is one of this release; anything else is folded anew from the log. */
  isState(value: unknown): value is S
}

/** The parts a load works on. */
export interface LoadContext<S> {
  logs: LogFiles
  store: Store
  cursors: Cursors
  folding: Folding<S>
  /** The machine went down without a clean stop: logs without a row are not to be trusted either. */
  distrust: boolean
  nowMs: number
  isTaken(file: string): boolean
}

/** What a load did to the log. */
export interface Loaded<S> {
  entry: SessionEntry<S>
  /** Nothing was known of the session before. */
  isNew: boolean
  linesFolded: number
  bytesCut: number
  linesSkipped: number
  lostTail: boolean
}

const RETRY_MS = 1000

/** Brings a session into memory. `fresh` = the caller knows that it begins just now. Never throws for a log or
 *  database that cannot be read: the entry then is `unread` and failing. */
export function loadEntry<S>(key: SessionKey, fresh: boolean, context: LoadContext<S>): Loaded<S> {
  try {
    const row = context.store.session(key)
    const file = row?.file ?? chooseFile(key, context.logs, context.store, context.isTaken)
    return load(key, fresh, row, file, context)
  } catch (fault) {
    return unreadable(key, systemCode(fault), context)
  }
}

function load<S>(
  key: SessionKey,
  fresh: boolean,
  row: SessionRow | undefined,
  file: string,
  context: LoadContext<S>,
): Loaded<S> {
  const { logs, folding } = context
  const path = logs.path(file)
  const size = logs.size(file) ?? 0
  const plan = planRecovery(row, { size, aligned: row === undefined || logs.endsLine(file, row.size) })
  const snapshot = row !== undefined && folding.isState(row.state) ? row.state : undefined
  const state = snapshot ?? folding.initial(key)
  const from = plan.kind === "fold" && snapshot !== undefined ? plan.from : 0
  const folds = plan.kind !== "lost" || snapshot === undefined

  // A log that was away for a while and is back holds lines that the state has seen.
  const isInSnapshot = (position: Position | undefined): boolean =>
    snapshot !== undefined && row !== undefined && position !== undefined && isAfter(row, position)
  let last: Position | undefined
  let linesFolded = 0
  const id = sessionId(key)
  const reading =
    size === from
      ? { end: from, skipped: 0 }
      : readGroups(path, from, folding.marksOf, (group, marks) => {
          if (marks !== undefined) context.cursors.note(marks, id)
          for (const event of group) {
            const position = positionOf(event)
            last = laterOf(last, position)
            if (folds && !isInSnapshot(position)) folding.fold(state, event)
          }
          linesFolded += group.length
        })
  if (reading.end < size) logs.cut(file, reading.end)
  const resumed = start(plan, row, last, fresh, context)
  const source = row?.source ?? sourceOf(path, reading.end)
  const entry: SessionEntry<S> = {
    key,
    file,
    state,
    ...(source === undefined ? {} : { source }),
    epoch: resumed.epoch,
    seq: resumed.seq,
    size: reading.end,
    bump: resumed.bump,
    unread: false,
    ...(resumed.gap === undefined ? {} : { gap: resumed.gap }),
  }
  return {
    entry,
    isNew: plan.kind === "new",
    linesFolded,
    bytesCut: size - reading.end,
    linesSkipped: reading.skipped,
    lostTail: plan.kind === "lost",
  }
}

function start<S>(
  plan: Plan,
  row: SessionRow | undefined,
  last: Position | undefined,
  fresh: boolean,
  context: LoadContext<S>,
): Resumed {
  // The rows were told to move on when the database was opened; a log without one is told here.
  if (plan.kind !== "new" || fresh) return resume(plan, row, last, plan.kind === "whole" && context.distrust)
  return { ...seedPosition(context.nowMs), bump: false }
}

function sourceOf(path: string, size: number): string | undefined {
  if (size === 0) return undefined
  const first = readFirstLine(path)
  return first.kind === "session" ? first.source : undefined
}

function unreadable<S>(key: SessionKey, code: string, context: LoadContext<S>): Loaded<S> {
  const entry: SessionEntry<S> = {
    key,
    file: "",
    state: context.folding.initial(key),
    ...seedPosition(context.nowMs),
    size: 0,
    bump: true,
    gap: { reason: "degraded", missed: 0 },
    failing: { code, retryAtMs: context.nowMs + RETRY_MS },
    unread: true,
  }
  return { entry, isNew: false, linesFolded: 0, bytesCut: 0, linesSkipped: 0, lostTail: false }
}
