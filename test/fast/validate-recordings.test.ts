/**
 * What this service logs of every recorded run of the real agents, held to `validate --strict`: the record and its
 * judge were written apart, and must agree.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { momentFiles, readMomentFile, readRecording, recordings } from "../recordings.ts"
import { replaySteps, type Step } from "../replay.ts"
import { judgeEvents } from "./validate-judge.ts"

const judged = { logs: 0, events: 0 }

function findingsOf(steps: readonly Step[]): string[] {
  const logs = [...replaySteps(steps, "leases-lapse").events.values()]
  judged.logs += logs.length
  judged.events += logs.reduce((sum, events) => sum + events.length, 0)
  return logs.flatMap((events) =>
    judgeEvents(events, true).findings.map(
      ({ line, code, field, detail }) => `${line} ${events[line - 1]?.type} ${code} ${field ?? ""} ${detail}`,
    ),
  )
}

const found = recordings()
if (found.kind === "absent") {
  test.skip(`recordings judged strictly: ${found.reason}`, () => undefined)
} else {
  test("an empty folder of recordings is no agreement", () => {
    expect(found.names.length).toBeGreaterThanOrEqual(70)
  })

  describe("each recording's logs are valid, strictly", () => {
    test.each(found.names)("%s", (name) => {
      const steps = readRecording(name, "table")
      expect(steps.length).toBeGreaterThan(0)
      expect(findingsOf(steps)).toEqual([])
    })
  })
}

describe("the logs of moments our own plugin sent are valid, strictly", () => {
  test.each(momentFiles())("%s", (name) => {
    expect(findingsOf(readMomentFile(name))).toEqual([])
  })
})

afterAll(() => {
  process.stdout.write(`recordings: ${judged.logs} logs, ${judged.events} events judged strictly\n`)
})
