/**
 * What a session remembers is what its log says: a process that dies after any moment and is followed by one that
 * has nothing but the event lines tells the same core events as one that lived on (design section 7). Hints are not
 * in the log; what their loss may change is listed here.
 */
import { describe, expect, test } from "bun:test"
import { sessionFolding } from "../../service/emit/logged.ts"
import type { AepEvent } from "../../shared/aep.ts"
import { momentFiles, readMomentFile, readRecording, recordings } from "../recordings.ts"
import { type Replayed, replaySteps, type Step } from "../replay.ts"

const CUTS = 12

/** What the log alone gives back: each session's state folded from its lines, and nothing else. */
function rebuilt(before: Replayed): Replayed {
  const after: Replayed = { events: new Map(), states: new Map(), refused: [] }
  for (const [session, events] of before.events) {
    const lines = events.map((event) => JSON.stringify(event))
    const agent = events[0]?.agent ?? "opencode"
    const state = sessionFolding.initial({ agent, session })
    for (const line of lines) sessionFolding.fold(state, JSON.parse(line))
    after.states.set(session, state)
    after.events.set(session, [...events])
  }
  return after
}

const typesOf = (events: readonly AepEvent[] = []): string[] =>
  events.filter((event) => !event.type.startsWith("x.")).map((event) => event.type)

function coreTypes(replayed: Replayed): Record<string, string[]> {
  return Object.fromEntries([...replayed.events].map(([session, events]) => [session, typesOf(events)]))
}

/** The cuts to try: the first and last moments, and some between. */
function cutsOf(length: number): number[] {
  const step = Math.max(1, Math.floor(length / CUTS))
  return Array.from({ length }, (_, index) => index).filter((index) => index > 0 && index % step === 0)
}

/** Recordings that may go on differently, and why that is right. `types` are left out of the comparison, there only. */
const ALLOWED: Readonly<Record<string, { because: string; types: string[] }>> = {
  "1.0.185-late-yes": {
    because:
      "the wait for a verdict starts anew with the next word of the agent, here the late completion itself",
    types: ["tool.completed", "tool.failed"],
  },
  "1.0.185-permission-abort-then-late-once": {
    because:
      "the wait for a verdict starts anew with the next word of the agent, here the late completion itself",
    types: ["tool.completed", "tool.failed"],
  },
}

function differences(name: string, steps: readonly Step[]): string[] {
  const whole = coreTypes(replaySteps(steps, "leases-lapse"))
  return cutsOf(steps.length).flatMap((cut) => {
    const before = replaySteps(steps.slice(0, cut), "stop")
    const after = coreTypes(replaySteps(steps.slice(cut), "leases-lapse", rebuilt(before)))
    return Object.keys(whole).flatMap((session) => {
      const [told, expected] = [after[session] ?? [], whole[session] ?? []]
      if (told.join() === expected.join()) return []
      const extra = ALLOWED[name]?.types ?? []
      const without = told.filter((type) => !extra.includes(type)).join()
      if (without === expected.filter((type) => !extra.includes(type)).join()) return []
      return [`after ${cut} moments, ${session}: ${told.join()} instead of ${expected.join()}`]
    })
  })
}

const found = recordings()
if (found.kind === "absent") {
  test.skip(`a crash at any moment: ${found.reason}`, () => undefined)
} else {
  describe("after a crash at any moment the lines alone lead to the same events", () => {
    test.each(found.names)("%s", (name) => {
      expect(differences(name, readRecording(name, "table"))).toEqual([])
    })
  })
}

for (const name of momentFiles()) {
  test(`after a crash at any moment: fixtures/moments/${name}`, () => {
    expect(differences(name, readMomentFile(name))).toEqual([])
  })
}

test("every difference allowed is of a recording that is there, with its reason", () => {
  const known = found.kind === "present" ? [...found.names, ...momentFiles()] : Object.keys(ALLOWED)
  for (const [name, { because }] of Object.entries(ALLOWED)) {
    expect(known).toContain(name)
    expect(because.length).toBeGreaterThan(20)
  }
})
