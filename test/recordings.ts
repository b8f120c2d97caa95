/**
 * Recorded runs of the real agents: where they lie, what to do when they do not, and how a recorded hook call
 * becomes a moment. Two kinds: raw hook calls (`../shared/opencode/recordings`), and moments as our plugin sent
 * them (`fixtures/moments`). Read-only; a replay that looks wrong is a fault of ours, never of the file.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { writeMoment } from "../plugin/src/bound.ts"
import { createMemory, type Memory } from "../plugin/src/memory.ts"
import { type HookName, type TrimmedMoment, trimMoment } from "../plugin/src/table.ts"
import { objectOf, textOf } from "../service/map/members.ts"
import type { AgentMode, Instance, Moment } from "../shared/moments.ts"
import type { Step } from "./replay.ts"

/** The recordings, or why there are none. */
export type Recordings =
  | { kind: "present"; root: string; names: string[] }
  | { kind: "absent"; reason: string }

const repository = resolve(import.meta.dir, "..")

/**
 * The one decision about missing recordings: they lie at `AEP_RECORDINGS`, else beside the checkout at
 * `../shared/opencode/recordings`. Absent is a failure where `CI` is `true`; elsewhere suites skip with the reason.
 */
export function recordings(): Recordings {
  const root = resolve(repository, process.env.AEP_RECORDINGS ?? "../shared/opencode/recordings")
  if (existsSync(root)) return { kind: "present", root, names: namesIn(root) }
  const reason =
    "no recordings of the agents: set AEP_RECORDINGS to the folder that holds them, or put it at " +
    "../shared/opencode/recordings beside this checkout"
  if (process.env.CI === "true") throw new Error(reason)
  return { kind: "absent", reason }
}

/** Names of the files of moments our own plugin sent; none until they were recorded. */
export function momentFiles(): string[] {
  const folder = join(repository, "fixtures/moments")
  return existsSync(folder) ? namesIn(folder) : []
}

function namesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => name.slice(0, -".jsonl".length))
    .sort()
}

/** One line of a raw recording. */
export interface Call {
  t: number
  hook: string
  input: unknown
  output: unknown
}

/** `raw`: each hook call as it was. `table`: what the plugin's own table lets through, as it travels. */
export type Way = "raw" | "table"

/** Epoch milliseconds at which every recording is replayed. */
export const BASE = Date.UTC(2026, 10, 3, 9)

const MOMENT_HOOKS: ReadonlySet<string> = new Set<HookName>([
  "event",
  "tool.execute.before",
  "tool.execute.after",
  "chat.message",
  "permission.ask",
  "dispose",
])

/** The lines of a raw recording; throws when the recordings are absent. */
export function readCalls(name: string): Call[] {
  const found = recordings()
  if (found.kind === "absent") throw new Error(found.reason)
  return jsonLines(join(found.root, `${name}.jsonl`)) as Call[]
}

/** A raw recording as the moments of its instances. */
export function readRecording(name: string, way: Way): Step[] {
  const speakers = new Speakers(name)
  const steps: Step[] = []
  for (const call of readCalls(name)) {
    if (call.hook === "init") speakers.init(objectOf(call.input))
    if (!MOMENT_HOOKS.has(call.hook)) continue
    const speaker = speakers.of(call)
    if (speaker === undefined) continue
    for (const moment of momentsOf(call, way, speaker)) {
      steps.push({ instance: speaker.instance, moment })
      if (moment.kind === "dispose") speakers.leave(speaker)
    }
  }
  return steps
}

/** Moments of our own plugin: a header line, then one moment a line with the id of its instance. */
export function readMomentFile(name: string): Step[] {
  const [header, ...lines] = jsonLines(join(repository, "fixtures/moments", `${name}.jsonl`))
  const { instance, instances } = objectOf(header)
  const known = [instances ?? instance].flat() as Instance[]
  return lines.map((line) => {
    const { instance: id, ...moment } = objectOf(line)
    const speaker = known.find((one) => one.id === id) ?? known[0]
    if (speaker === undefined) throw new Error(`${name}: the header names no instance`)
    return { instance: speaker, moment: moment as unknown as Moment }
  })
}

function jsonLines(path: string): unknown[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
}

interface Speaker {
  instance: Instance
  directory: string
  next: number
  memory: Memory
}

/**
 * Which instance a hook call belongs to. One speaks per directory, as in the plugin: an init before anybody spoke
 * is a mute twin, one after it (a new process, a dispose) is a new instance. Two directories are told apart by
 * where their sessions were created.
 */
class Speakers {
  private readonly live: Speaker[] = []
  private readonly sessions = new Map<string, Speaker>()
  private count = 0

  constructor(private readonly recording: string) {}

  init(context: Record<string, unknown>): void {
    const directory = textOf(context.directory) ?? ""
    const twin = this.live.findIndex((one) => one.directory === directory)
    if (twin >= 0 && this.live[twin]?.next === 0) return
    if (twin >= 0) this.live.splice(twin, 1)
    this.count += 1
    this.live.push({
      instance: instanceOf(this.recording, `rec-${this.count}`, directory),
      directory,
      next: 0,
      memory: createMemory(false),
    })
  }

  of(call: Call): Speaker | undefined {
    const input = objectOf(call.input)
    const properties = objectOf(call.hook === "event" ? input.properties : input)
    const info = objectOf(properties.info)
    const session =
      textOf(properties.sessionID) ?? textOf(info.sessionID) ?? textOf(objectOf(properties.part).sessionID)
    const directory = textOf(info.directory)
    const found =
      this.live.find((one) => one.directory === directory) ??
      (session === undefined ? undefined : this.sessions.get(session)) ??
      this.live[0]
    if (session !== undefined && found !== undefined && this.live.length > 1) {
      const earlier = this.sessions.get(session)
      if (earlier !== undefined && this.live.includes(earlier)) return earlier
      this.sessions.set(session, found)
    }
    return found
  }

  leave(speaker: Speaker): void {
    const index = this.live.indexOf(speaker)
    if (index >= 0) this.live.splice(index, 1)
  }
}

/** The instance a recording was made by; versions and modes stand in the file's name. */
function instanceOf(recording: string, id: string, directory: string): Instance {
  const isKilo = recording.startsWith("kilo-")
  const version = /(\d+\.\d+\.\d+)/.exec(recording)?.[1]
  const mode: AgentMode = recording.includes("-run-") ? "run" : recording.includes("-tui-") ? "tui" : "serve"
  return {
    id,
    agent: isKilo ? "kilocode" : "opencode",
    directory,
    ...(version === undefined ? {} : { version }),
    mode,
    answers: true,
    plugin: "0.1.0",
  }
}

function momentsOf(call: Call, way: Way, speaker: Speaker): Moment[] {
  const bodies = [way === "raw" ? rawMoment(call) : trim(call, speaker.memory)]
  // The only goodbye of 1.0, upon which the plugin says its own.
  if (objectOf(call.input).type === "server.instance.disposed") bodies.push({ kind: "dispose" })
  return bodies.flatMap((body) => {
    if (body === undefined) return []
    const n = speaker.next
    speaker.next += 1
    const at = BASE + call.t
    return [way === "raw" ? { ...body, n, at } : (JSON.parse(writeMoment(body, n, at).text) as Moment)]
  })
}

function trim(call: Call, memory: Memory): TrimmedMoment | undefined {
  return trimMoment(call.hook as HookName, call.input, call.output, memory)
}

function rawMoment(call: Call): TrimmedMoment | undefined {
  const { input, output } = call
  switch (call.hook) {
    case "event":
      return { kind: "bus", event: input } as TrimmedMoment
    case "tool.execute.before":
      return { kind: "tool.before", input, output } as TrimmedMoment
    case "tool.execute.after":
      return { kind: "tool.after", input, output } as TrimmedMoment
    case "chat.message":
      return { kind: "chat.message", input, output } as TrimmedMoment
    case "permission.ask":
      return { kind: "permission.ask", permission: objectOf(input) }
    case "dispose":
      return { kind: "dispose" }
    default:
      return undefined
  }
}
