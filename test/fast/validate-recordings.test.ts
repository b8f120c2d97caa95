/**
 * What this service logs of every recorded run of the real agents, held to `validate --strict`: the record and its
 * judge were written apart, and must agree.
 */
import { describe, expect, test } from "bun:test"
import { momentFiles, readMomentFile, readRecording, recordings } from "../recordings.ts"
import { replaySteps, type Step } from "../replay.ts"
import { judgeEvents } from "./validate-judge.ts"

function findingsOf(steps: readonly Step[]): string[] {
  return [...replaySteps(steps, "leases-lapse").events.values()].flatMap((events) =>
    judgeEvents(events, true).findings.map(
      ({ line, code, field, detail }) => `${line} ${events[line - 1]?.type} ${code} ${field ?? ""} ${detail}`,
    ),
  )
}

const found = recordings()
if (found.kind === "absent") {
  test.skip(`recordings judged strictly: ${found.reason}`, () => undefined)
} else {
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
