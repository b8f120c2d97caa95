/**
 * What a person or a model wrote must not stand in an event at ceiling `metadata` (AEP-0002 §5.1, design section 7).
 * The recordings themselves are the canaries: every text in them counts as content unless it stands where the agent
 * keeps an identifier.
 */
import { expect, test } from "bun:test"
import { registry } from "../../shared/aep.ts"
import { momentFiles, readCalls, readMomentFile, readRecording, recordings } from "../recordings.ts"
import { type Replayed, replaySteps } from "../replay.ts"

const SHORTEST = 8

/** Members that name things: ids, tools, permissions, agents, models, states. Everything else is content. */
const NAMES = new Set([
  ...[
    "id",
    "sessionID",
    "messageID",
    "partID",
    "callID",
    "parentID",
    "requestID",
    "permissionID",
    "projectID",
  ],
  ...[
    "tool",
    "type",
    "permission",
    "agent",
    "mode",
    "role",
    "modelID",
    "providerID",
    "model",
    "subagent_type",
  ],
  ...["name", "version", "finish", "status", "reply", "response", "sessionId"],
])

/** Words of the record itself that a person may use too; what is found within them is no leak. */
const OWN_WORDS = [
  ...registry.keys(),
  ...["x.opencode.message.updated", "x.kilocode.session.error", "x.opencode.reference.updated"],
  ...["opencode requests permission: bash", "questions"],
  ...["rejected", "dismissed", "answered", "completed", "metadata", "assistant"],
].join(" ")

function collect(value: unknown, key: string, content: Set<string>, names: Set<string>): void {
  if (typeof value === "string") (NAMES.has(key) ? names : content).add(value)
  if (typeof value !== "object" || value === null) return
  for (const [name, member] of Object.entries(value)) {
    collect(member, Array.isArray(value) ? key : name, content, names)
  }
}

/** The texts, and each longer word of them, that no event may hold. */
function canariesOf(source: unknown): string[] {
  const content = new Set<string>()
  const names = new Set<string>()
  collect(source, "", content, names)
  const found = new Set<string>()
  for (const text of content) {
    for (const piece of [text, ...text.split(/\s+/)]) {
      if (piece.length >= SHORTEST && !names.has(piece) && !OWN_WORDS.includes(piece)) found.add(piece)
    }
  }
  return [...found]
}

/** The canaries that stand in an event. Its time is the clock's, which a generated title may repeat. */
function leaks(replayed: Replayed, canaries: readonly string[]): string[] {
  const lines = [...replayed.events.values()].flat().map(({ time: _time, ...event }) => JSON.stringify(event))
  return canaries.filter((canary) => {
    const written = JSON.stringify(canary).slice(1, -1)
    return lines.some((line) => line.includes(written))
  })
}

const found = recordings()
if (found.kind === "absent") {
  test.skip(`content of recordings stays out of events: ${found.reason}`, () => undefined)
} else {
  let canaries = 0
  test.each(found.names)("no text of %s stands in an event", (name) => {
    const calls = readCalls(name).filter((call) => call.hook !== "driver" && call.hook !== "init")
    const texts = canariesOf(calls.map(({ input, output }) => [input, output]))
    canaries += texts.length
    expect(texts.length).toBeGreaterThan(0)
    expect(leaks(replaySteps(readRecording(name, "raw"), "leases-lapse"), texts)).toEqual([])
    expect(leaks(replaySteps(readRecording(name, "table"), "leases-lapse"), texts)).toEqual([])
  })

  test("the canaries are many, and one that is told is found", () => {
    process.stdout.write(`canaries looked for: ${canaries}\n`)
    expect(canaries).toBeGreaterThan(1000)
    const replayed = replaySteps(readRecording("1.18.33-permission-once", "table"), "leases-lapse")
    const [first] = [...replayed.events.values()].flat()
    if (first !== undefined) first.data = { label: "a title somebody gave" }
    expect(leaks(replayed, ["a title somebody gave"])).toEqual(["a title somebody gave"])
  })
}

for (const name of momentFiles()) {
  test(`no text of fixtures/moments/${name} stands in an event`, () => {
    const steps = readMomentFile(name)
    const texts = canariesOf(steps.map(({ moment }) => ({ ...moment, kind: "" })))
    expect(leaks(replaySteps(steps, "leases-lapse"), texts)).toEqual([])
  })
}
