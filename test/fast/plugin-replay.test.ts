/**
 * Every recording of a real agent through the table: what must go up goes up, what must not leave does not. The
 * recordings lie beside the repository; without them this is skipped, in CI it fails.
 */
import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { MOMENT_BYTES, writeMoment } from "../../plugin/src/bound.ts"
import { createMemory } from "../../plugin/src/memory.ts"
import { type HookName, planeOf, type TrimmedMoment, trimMoment } from "../../plugin/src/table.ts"

const FOLDER = join(import.meta.dir, "../../../shared/opencode/recordings")
const HOOKS: string[] = [
  "event",
  "tool.execute.before",
  "tool.execute.after",
  "chat.message",
  "permission.ask",
  "dispose",
]
const NEVER = ["message.part.delta", "plugin.added", "session.diff", "catalog.updated", "reference.updated"]
const ALWAYS = [
  "permission.asked",
  "permission.updated",
  "permission.replied",
  "question.asked",
  "question.replied",
  "question.rejected",
  "session.idle",
  "session.error",
  "session.created",
  "session.deleted",
  "session.compacted",
  "todo.updated",
  "message.updated",
]

interface Line {
  hook?: string
  input?: { type?: string; properties?: Record<string, unknown> }
  output?: unknown
}

interface Replay {
  calls: { hook: HookName; line: Line; moment: TrimmedMoment | undefined }[]
  bytesIn: number
  bytesOut: number
}

function replay(file: string, stream = false): Replay {
  const memory = createMemory(stream)
  const result: Replay = { calls: [], bytesIn: 0, bytesOut: 0 }
  for (const text of readFileSync(join(FOLDER, file), "utf8").split("\n")) {
    if (text === "") continue
    const line: Line = JSON.parse(text)
    if (line.hook === undefined || !HOOKS.includes(line.hook)) continue
    const hook = line.hook as HookName
    const before = JSON.stringify([line.input, line.output])
    const moment = trimMoment(hook, line.input, line.output, memory)
    if (moment !== undefined) {
      const written = writeMoment(moment, result.calls.length, 1)
      expect(written.bytes).toBeLessThanOrEqual(MOMENT_BYTES)
      result.bytesOut += written.bytes
    }
    expect(JSON.stringify([line.input, line.output])).toBe(before)
    result.bytesIn += before.length
    result.calls.push({ hook, line, moment })
  }
  return result
}

function partOf(line: Line): { type?: string; id?: string; state?: { status?: string; metadata?: object } } {
  return line.input?.type === "message.part.updated" ? (line.input.properties?.part ?? {}) : {}
}

if (!existsSync(FOLDER)) {
  test.skipIf(process.env.CI !== "true")("the recordings are present", () => {
    throw new Error(`no recordings at ${FOLDER}; CI must have them`)
  })
} else {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".jsonl"))

  describe.each(files)("%s", (file) => {
    test("asks, answers, ends and errors go up, noise does not, and nothing is changed", () => {
      const { calls } = replay(file)
      expect(calls.length).toBeGreaterThan(0)
      for (const { hook, line, moment } of calls) {
        if (hook !== "event") expect(moment).toBeDefined()
        if (NEVER.includes(line.input?.type ?? "")) expect(moment).toBeUndefined()
        if (ALWAYS.includes(line.input?.type ?? "")) expect(moment).toBeDefined()
        const { type, state } = partOf(line)
        if (type === "tool" && (state?.status === "completed" || state?.status === "error")) {
          expect(moment).toBeDefined()
        }
      }
    })

    test("no diff of a summary, no response of a provider and no streamed text is forwarded", () => {
      for (const { hook, moment } of replay(file).calls) {
        if (moment?.kind !== "bus") continue
        const text = JSON.stringify(moment)
        expect(text).not.toMatch(/"diffs"|"responseBody"|"responseHeaders"|"delta"/)
        const told = partOf({ input: moment.event })
        expect(told).not.toHaveProperty("text")
        expect(told.state ?? {}).not.toHaveProperty("output")
        expect(told.state?.metadata ?? {}).not.toHaveProperty("output")
        expect(planeOf(hook, moment.event)).toBeOneOf(["state", "stream"])
      }
    })

    test("a tool part is told running at most three times", () => {
      const told = new Map<string, number>()
      for (const { line, moment } of replay(file).calls) {
        const { id, state } = partOf(line)
        if (moment === undefined || id === undefined || state?.status !== "running") continue
        told.set(id, (told.get(id) ?? 0) + 1)
      }
      for (const times of told.values()) expect(times).toBeLessThanOrEqual(3)
    })

    test("with the stream switched on only a repeated status stays in the agent", () => {
      for (const { line, moment } of replay(file, true).calls) {
        if (moment === undefined) expect(line.input?.type).toBe("session.status")
      }
    })
  })

  test("a thousand tokens cost no moment each", () => {
    const { calls } = replay("1.18.33-noise-500-tokens.jsonl")
    expect(calls.filter(({ moment }) => moment !== undefined).length).toBeLessThan(25)
    const old = replay("1.0.185-noise-150-tokens.jsonl")
    expect(old.calls.filter(({ moment }) => moment !== undefined).length).toBeLessThan(25)
  })

  test("a sub-agent's session is told by its parent's running part", () => {
    const told = replay("1.18.33-subagent-then-delete.jsonl").calls.filter(({ line, moment }) => {
      return partOf(line).state?.status === "running" && JSON.stringify(moment ?? {}).includes('"sessionId"')
    })
    expect(told.length).toBe(1)
  })
}
