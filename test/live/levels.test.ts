/**
 * Capture levels with the real agents: what a user, a model and a tool say, secrets among it, against what the
 * service leaves on disk and prints. Set-up as in `scenarios.test.ts`.
 */
import { beforeAll, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { startChild } from "../agent/child.ts"
import { allow, idle } from "../agent/scenarios/steps.ts"
import type { LoggedEvent } from "../agent/service.ts"
import { AGENTS, type AgentVersion } from "../agent/versions.ts"
import { faultsOfLog } from "./log-rules.ts"
import { CONTENT, type Planted, plantIn } from "./plants.ts"
import { openParts, type Parts } from "./stage.ts"

const START_MS = 120_000
const TALK_MS = 60_000
const LEVELS = ["metadata", "redacted", "full"] as const
const CLI = resolve(import.meta.dir, "../../service/cli.ts")
const ENDS = new Set(["run.finished", "run.failed", "run.cancelled"])

/** What a talk left, looked at while the service ran and after it ended. */
interface Left {
  planted: Planted
  /** Bytes of every file of the service's home, as text of one byte a character, by its path; while it ran. */
  running: ReadonlyMap<string, string>
  /** The same after its end. */
  ended: ReadonlyMap<string, string>
  printed: string
  logs: ReadonlyMap<string, string[]>
  events: LoggedEvent[]
  /** Exit code and words of our own validator. */
  verdict: { code: number; words: string }
}

/**
 * One agent, and the service started anew in the same home for each level, the quietest first: what a level must
 * not leave there is looked for before a louder one begins.
 */
async function talkAtAll(agent: AgentVersion): Promise<ReadonlyMap<string, Left>> {
  const left = new Map<string, Left>()
  const parts = await openParts(agent, "project", ceilings(LEVELS[0]))
  try {
    for (const level of LEVELS) {
      if (level !== LEVELS[0]) await parts.restart(ceilings(level))
      left.set(level, await talk(parts, level))
    }
  } finally {
    await parts.close()
  }
  return left
}

const ceilings = (level: string) => ({ AEP_CAPTURE: level, AEP_CAPTURE_ATTENTION: level })

async function talk({ sandbox, service, served }: Parts, level: string): Promise<Left> {
  const planted = plantIn(sandbox, level)
  const session = await served.createSession(planted.title)
  await served.prompt(session, planted.prompt)
  await allow(served, session, 2)
  await idle(served, session)
  await served.prompt(session, planted.failing)
  const events = await service().until(session, "end of both runs", TALK_MS, (seen) => {
    return seen.filter(({ type }) => ENDS.has(type)).length === 2
  })
  const running = bytesIn(sandbox.aepHome)
  const logs = service().lines()
  const printed = await service().stop()
  const files = [...logs.keys()].map((name) =>
    join(sandbox.aepHome, "logs", sandbox.agent.agent, `${name}.jsonl`),
  )
  return {
    planted,
    running,
    ended: bytesIn(sandbox.aepHome),
    printed,
    logs,
    events,
    verdict: await judge(files),
  }
}

/** Our own validator, as a user calls it. */
async function judge(files: readonly string[]): Promise<Left["verdict"]> {
  const env = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/" }
  const child = startChild({ command: [process.execPath, CLI, "validate", ...files], cwd: "/", env })
  const code = await child.exited
  return { code, words: `${child.stdout()}\n${child.stderr()}` }
}

function bytesIn(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  )
  return new Map(
    entries.map(({ parentPath, name }) => [
      join(parentPath, name).slice(folder.length),
      readFileSync(join(parentPath, name), "latin1"),
    ]),
  )
}

/** Where any of the words stands. A JSON string writes some characters in another way; the words hold none of them. */
function findings(left: Left, words: readonly string[]): string[] {
  const places = [...left.running, ...left.ended, ["the output", left.printed] as const]
  return places.flatMap(([place, text]) =>
    words.filter((word) => text.includes(word)).map((word) => `${word} in ${place}`),
  )
}

/** The events by which a word of each place would be told. */
const PLACES = [
  "run.started",
  "tool.requested",
  "tool.completed",
  "tool.failed",
  "attention.requested",
  "session.error",
]

for (const agent of AGENTS) {
  describe(agent.label, () => {
    let left: ReadonlyMap<string, Left> | undefined
    let fault: unknown
    beforeAll(async () => {
      // Kept for the tests: a fault in here alone would leave them out without a word.
      left = await talkAtAll(agent).catch((error: unknown) => {
        fault = error
        return undefined
      })
    }, START_MS)
    const at = (level: (typeof LEVELS)[number]): Left => {
      const found = left?.get(level)
      if (found === undefined) throw fault
      return found
    }

    test.each(LEVELS)("at %s every log fits the official schemas and the rules of any log", (level) => {
      expect([...at(level).logs].flatMap(([name, lines]) => faultsOfLog(name, lines))).toEqual([])
    })
    test.each(LEVELS)("at %s every log passes our own validator", (level) => {
      const { code, words } = at(level).verdict
      expect(code, words).toBe(0)
    })
    test("at metadata neither a secret nor a word of content is on disk or in the output", () => {
      expect(findings(at("metadata"), [CONTENT, ...at("metadata").planted.needles])).toEqual([])
    })
    test("at redacted no secret is on disk or in the output, and the content around it is in the log", () => {
      expect(findings(at("redacted"), at("redacted").planted.needles)).toEqual([])
      expect(JSON.stringify(at("redacted").events)).toContain(CONTENT)
    })
    test("at full every planted word is in the log, by each event that can hold it", () => {
      const { planted, events } = at("full")
      const log = JSON.stringify(events)
      expect([CONTENT, ...planted.needles].filter((word) => !log.includes(word))).toEqual([])
      const [word = ""] = planted.needles
      const tellers = events.filter((event) => JSON.stringify(event).includes(word)).map(({ type }) => type)
      expect(PLACES.filter((place) => !tellers.some((type) => type.endsWith(place)))).toEqual([])
    })
  })
}
