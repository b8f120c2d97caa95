/**
 * The events of a log, session by session, and the logs of sub-agents beside it, for commands that show them. Lines that
 * are no events are passed over and counted; what is wrong with them is for `validate` to say.
 */
import { basename, dirname, join } from "node:path"
import * as v from "valibot"
import { type AepEvent, envelopeSchema } from "../../shared/aep.ts"
import { candidateFiles } from "../emit/filename.ts"
import { LineReader } from "../validate/lines.ts"
import { type FileRead, readChunks, STDIN } from "./read-file.ts"
import { childOf } from "./timeline.ts"

/** Events in file order, by session in the order of their first event. */
export type LogRead =
  | { kind: "read"; sessions: AepEvent[][]; passedOver: number }
  | Extract<FileRead, { kind: "unreadable" }>

/**
 * Reads a file. The same session from two sources is two sessions (AEP-0001 §5.2); what others sent into a session
 * stands with it. Agent-scoped events are a group of their own.
 */
export async function readEvents(path: string): Promise<LogRead> {
  const groups = new Map<string, AepEvent[]>()
  const latest = new Map<string, AepEvent[]>()
  let passedOver = 0
  const reader = new LineReader(({ text }) => {
    const event = text === undefined ? undefined : parse(text)
    if (event === undefined) {
      passedOver += 1
      return
    }
    const session = event.session ?? ""
    const isSent = event.session !== undefined && event.seq === undefined
    const key = JSON.stringify([event.source, session])
    const group = groups.get(key) ?? (isSent ? latest.get(session) : undefined) ?? []
    if (group.length === 0) groups.set(key, group)
    latest.set(session, group)
    group.push(event)
  })
  const outcome = await readChunks(path, (chunk) => reader.push(chunk))
  if (outcome.kind === "unreadable") return outcome
  reader.end()
  return { kind: "read", sessions: [...groups.values()], passedOver }
}

function parse(text: string): AepEvent | undefined {
  try {
    const read = v.safeParse(envelopeSchema, JSON.parse(text))
    return read.success ? read.output : undefined
  } catch {
    // No JSON: counted by the caller.
    return undefined
  }
}

/** The sessions of one file and of the sub-agents below them, wherever their logs are. */
export class LogFolder {
  /** Sub-agents of which there is no log. */
  readonly missing = new Set<string>()
  private readonly known = new Map<string, readonly AepEvent[]>()
  private readonly children = new Set<string>()

  constructor(
    private readonly path: string,
    private readonly sessions: readonly AepEvent[][],
  ) {
    for (const events of sessions) {
      const session = events[0]?.session
      if (session !== undefined) this.known.set(session, events)
    }
  }

  /** Reads the logs of all sub-agents, and of theirs. */
  async load(): Promise<void> {
    const waiting: (readonly AepEvent[])[] = [...this.sessions]
    for (const events of waiting) {
      for (const event of events) {
        const child = childOf(event)
        if (child === undefined || this.children.has(child)) continue
        this.children.add(child)
        if (this.known.has(child)) continue
        const found = await this.besides(event.agent, child)
        if (found === undefined) this.missing.add(child)
        else {
          this.known.set(child, found)
          waiting.push(found)
        }
      }
    }
  }

  /** The sessions of the file that no other session in it started. */
  get roots(): readonly AepEvent[][] {
    const isRoot = ([first]: readonly AepEvent[]) => !this.children.has(first?.session ?? "")
    const roots = this.sessions.filter(isRoot)
    // Sessions that name each other as their child are a loop; then the file's own order is as good as any.
    return roots.length === 0 ? this.sessions : roots
  }

  /** The events of a session, none when its log is not there. */
  eventsOf(session: string): readonly AepEvent[] {
    return this.known.get(session) ?? []
  }

  private async besides(agent: string, session: string): Promise<readonly AepEvent[] | undefined> {
    if (this.path === STDIN) return undefined
    for (const file of candidateFiles({ agent, session })) {
      const log = await readEvents(join(dirname(this.path), basename(file)))
      if (log.kind === "unreadable") continue
      const found = log.sessions.find(([first]) => first?.session === session)
      if (found !== undefined) return found
    }
    return undefined
  }
}
