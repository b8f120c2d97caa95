/**
 * The relay binding: everything the emitter said reaches an external AEP relay over a WebSocket, at least
 * once and in order within each session, whatever the relay does meanwhile. One connection for each agent,
 * since a hello names one. The log is the queue, so memory stays bounded. `main.ts` makes it, feeds it with
 * what the emitter says, and ends it before the ledger. The parts are in `relay/`.
 */
import type { Saved, SessionKey } from "../session/store.ts"
import { agentFolder, candidateFiles } from "./filename.ts"
import { type RelayCounts, Teller, zeroCounts } from "./relay/counts.ts"
import { RelayCursors } from "./relay/cursor.ts"
import type { Introduction } from "./relay/frames.ts"
import { Lane } from "./relay/lane.ts"
import { RELAY_LIMITS, type RelayLimits } from "./relay/limits.ts"
import { LineReader } from "./relay/lines.ts"
import type { Connect } from "./relay/socket.ts"
import type { Behind } from "./relay/table.ts"
import type { Timers } from "./shelf.ts"

/** What the binding needs to know and to be able to do. */
export interface RelayOptions {
  /** Full `ws:` or `wss:` address of the relay's socket, as the configuration reads it. */
  url: string
  /** Bearer token of the relay. */
  token: string | undefined
  /** Name of this service in every hello. */
  instance: string
  /** Agents by name. The first is connected from the start, the others once they have something to say. */
  agents: readonly [string, ...string[]]
  /** What our sessions take; absent = no commands. */
  control: Introduction["control"]
  /** Absolute path of the folder that `file` names are relative to. */
  logRoot: string
  /** The cursors on disk, see `RelayTable`. */
  table: {
    open: (url: string, nowMs: number, fromStart: boolean) => { behind: Behind[]; saved: Saved }
    save: (url: string, confirmed: ReadonlyMap<string, number>) => Saved
  }
  /** The database was made anew, so nobody knows what the relay has: it is sent everything. Repeating is
   *  legal (AEP-0001 §7.4), losing is not. */
  memoryLost: boolean
  /** Log files of an agent's living sessions: they are claimed anew after each connect, for commands to find
   *  us. */
  liveSessions: (agent: string) => readonly string[]
  /** An event from the relay addressed to us, as received: a command, or somebody's mistake. Must not
   *  throw. */
  onCommand: (text: string) => void
  /** For stderr: one line, without content. */
  tell: (line: string) => void
  connect: Connect
  timers: Timers
  /** Epoch milliseconds. */
  now: () => number
  /** From 0 to below 1. */
  random: () => number
  limits?: Partial<RelayLimits>
}

/** For `/healthz` and `/metrics`. */
export interface RelayStatus extends RelayCounts {
  /** The first agent's connection is past its hello, and so is every other one that has something to send. */
  isReady: boolean
  /** Not confirmed yet: bytes, and the logs they are in. */
  behindBytes: number
  behindLogs: number
}

/** See the head of the file. */
export class RelayBinding {
  private readonly counts = zeroCounts()
  private readonly limits: RelayLimits
  private readonly lines: LineReader
  private readonly teller: Teller
  private readonly cursors: RelayCursors
  private readonly lanes = new Map<string, Lane>()
  private readonly agents: ReadonlyMap<string, string>
  private started = false
  private closing: Promise<void> | undefined

  constructor(private readonly options: RelayOptions) {
    this.limits = { ...RELAY_LIMITS, ...options.limits }
    this.lines = new LineReader(options.logRoot, this.limits.lineBytes)
    this.teller = new Teller(options.tell)
    this.cursors = new RelayCursors((confirmed) => options.table.save(options.url, confirmed), options.timers)
    this.agents = new Map(options.agents.map((agent) => [agentFolder(agent), agent]))
  }

  /** Takes up what the relay does not have yet, and connects. After `openLedger`, before anything is said. */
  start(): void {
    if (this.started) return
    this.started = true
    const { table, url, now, memoryLost, agents } = this.options
    const { behind } = table.open(url, now(), memoryLost)
    this.lane(agentFolder(agents[0]))
    for (const { file, confirmed, size, wasCut } of behind) {
      if (wasCut) this.cut()
      this.lane(folderOf(file)).outbox.said(file, confirmed, size)
    }
    for (const lane of this.lanes.values()) lane.start()
  }

  /** Bytes `start` to `end` were appended to a log (`AppendResult`, `MendResult`). Never blocks, never
   *  throws. */
  said(file: string, start: number, end: number): void {
    const lane = this.speaking(folderOf(file))
    lane?.outbox.said(file, start, end)
    lane?.notify()
  }

  /** An event of a session could not be written to its log; `text` is its line. It waits in memory, as far as
   *  there is room, behind what the session said before. */
  missed(key: SessionKey, text: string): void {
    const lane = this.speaking(agentFolder(key.agent))
    // Almost every session lives in its first choice; in another file only the order could suffer.
    const [file] = candidateFiles(key)
    if (file !== undefined) lane?.outbox.missed(file, text)
    lane?.notify()
  }

  /** Somebody speaks for a session again, whose log this is: commands must find us, though it has nothing to say. */
  claim(file: string): void {
    if (this.started && this.closing === undefined) this.lanes.get(folderOf(file))?.claim(file)
  }

  /** What is going on. Walks the logs that are behind, so not for every event. */
  status(): RelayStatus {
    const lanes = [...this.lanes.values()]
    const primary = this.lanes.get(agentFolder(this.options.agents[0]))
    return {
      ...this.counts,
      isReady:
        this.closing === undefined &&
        primary?.isReady === true &&
        lanes.every((lane) => lane.isReady || lane.outbox.files === 0),
      behindBytes: lanes.reduce((sum, lane) => sum + lane.outbox.bytes, 0),
      behindLogs: lanes.reduce((sum, lane) => sum + lane.outbox.files, 0),
    }
  }

  /** Sends what can be confirmed within `boundMs`, takes leave, saves the cursors. What is left goes out
   *  after the next start. May be called twice. */
  close(boundMs: number): Promise<void> {
    this.closing ??= this.end(boundMs)
    return this.closing
  }

  private async end(boundMs: number): Promise<void> {
    const { timers } = this.options
    let bound: unknown
    const late = new Promise<void>((resolve) => {
      bound = timers.set(resolve, boundMs)
    })
    await Promise.race([late, Promise.all([...this.lanes.values()].map((lane) => lane.drained()))])
    timers.clear(bound)
    for (const lane of this.lanes.values()) lane.close()
    this.cursors.close()
  }

  private speaking(folder: string): Lane | undefined {
    return this.started && this.closing === undefined ? this.lane(folder, true) : undefined
  }

  private lane(folder: string, starts = false): Lane {
    const known = this.lanes.get(folder)
    if (known !== undefined) return known
    const { options, limits, counts, teller, lines } = this
    const { url, token, instance, control, connect, timers, now, random, onCommand } = options
    const agent = this.agents.get(folder) ?? folder
    const introduction = { agent, instance, control }
    const lane = new Lane({
      link: { url, token, introduction, connect, timers, now, random, limits, counts, teller, onCommand },
      outbox: {
        lines,
        limits,
        counts,
        onConfirmed: (file, confirmed) => this.cursors.note(file, confirmed),
        onCut: () => this.cut(),
        onDropped: () =>
          teller.once(
            "dropped",
            "events that no log takes are more than memory holds; the relay does not get them all",
          ),
      },
      lines,
      timers,
      limits,
      counts,
      liveSessions: () => options.liveSessions(agent),
    })
    this.lanes.set(folder, lane)
    if (starts) lane.start()
    return lane
  }

  private cut(): void {
    this.counts.cut += 1
    this.teller.once(
      "cut",
      "a log was cut or deleted; lines of it that the relay did not have cannot be sent",
    )
  }
}

/** Logs lie in a folder for each agent. */
function folderOf(file: string): string {
  return file.slice(0, file.indexOf("/"))
}
