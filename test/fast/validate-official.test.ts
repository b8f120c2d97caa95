/**
 * The validator against the official corpora: every golden line passes, every invalid case fails for the reason that
 * the case states, and our verdict on the schemas agrees with the official ones.
 */
import { describe, expect, test } from "bun:test"
import { officialData, readOfficial, readOfficialText } from "../official.ts"
import { eventsOf, judgeBytes, judgeEvents } from "./validate-judge.ts"

interface InvalidCase {
  name: string
  event?: unknown
  events?: unknown[]
}

/** The code each invalid case must get: a case that fails for another reason than its own is not understood. */
const REASONS: Readonly<Record<string, string>> = {
  "session-scoped without session": "envelope.placement",
  "session-scoped without seq": "envelope.placement",
  "agent-scoped with session": "envelope.placement",
  "agent-scoped with seq": "envelope.placement",
  "command with seq": "envelope.placement",
  "attention.routed with seq": "envelope.placement",
  "single-segment type": "envelope.type",
  "unknown category": "envelope.type",
  "uppercase in type": "envelope.type",
  "vendor type too short (x.vendor.verb)": "envelope.type",
  "extension attribute name over 20 chars": "envelope.extension",
  "extension attribute with object value": "envelope.extension",
  "extension attribute name with illegal charset": "envelope.extension",
  "unknown severity": "envelope.attribute",
  "malformed traceparent": "envelope.attribute",
  "unsupported envelope version": "envelope.version",
  "negative seq": "envelope.attribute",
  "form select field without choices": "payload.schema",
  "form answered with a non-choice string for a select without other:true": "form.choice",
  "second run terminal (finished then cancelled)": "run.terminal",
  "run terminal repeated (failed twice, distinct events)": "run.terminal",
  "session ends with a dangling attention request": "attention.open",
  "id collision within one emitter (same (source,id), different content)": "id.collision",
  "seq regression without an epoch bump": "order.seq",
  "epoch regression": "order.epoch",
  "second ack for one command (accepted twice, distinct events)": "ack.second",
  "conflicting ack decisions for one command (accepted then rejected)": "ack.second",
  "second session.ended for one session (distinct events)": "session.terminal",
  "agent.presence with an unregistered state": "payload.schema",
  "agent.presence missing the required state": "payload.schema",
  "agent.health with an unregistered status": "payload.schema",
  "session.compacted with a non-integer token count": "payload.schema",
  "state.delta with a non-array delta": "payload.schema",
  "run.finished cost missing the required currency": "payload.schema",
  "tool.completed cost total is a string (amounts are numbers, not bare-float strings)": "payload.schema",
}

const official = officialData()
if (official.kind === "absent") {
  test.skip(`official corpora judged: ${official.reason}`, () => undefined)
} else {
  const golden = readOfficialText("conformance/fixtures/golden/golden.jsonl")
  const goldenEvents = eventsOf(golden)
  const { cases } = readOfficial("conformance/fixtures/invalid/cases.json") as { cases: InvalidCase[] }

  test(`the golden file is valid, with its ${goldenEvents.length} events and no doubt`, () => {
    const { counts, findings } = judgeBytes(new TextEncoder().encode(golden))
    expect(findings).toEqual([])
    expect(counts.lines).toBe(goldenEvents.length)
    expect(counts.events).toBe(goldenEvents.length)
    process.stdout.write(`golden: ${counts.events} events in ${counts.sessions} sessions, valid\n`)
  })

  test("the golden file gets the same verdict whatever the chunks it comes in", () => {
    const bytes = new TextEncoder().encode(golden)
    const whole = judgeBytes(bytes, { isStrict: true })
    for (const size of [1, 7, 1024]) expect(judgeBytes(bytes, { isStrict: true }, size)).toEqual(whole)
  })

  describe(`each of the ${cases.length} invalid cases fails for its own reason`, () => {
    test.each(cases.map((entry) => [entry.name, entry] as const))("%s", (name, entry) => {
      const { findings, counts } = judgeEvents(entry.events ?? [entry.event])
      const errors = findings.filter(({ severity }) => severity === "error").map(({ code }) => String(code))
      expect([...new Set(errors)]).toEqual([REASONS[name] ?? "a case without a reason in this file"])
      expect(counts.errors).toBeGreaterThan(0)
    })
  })

  test("every reason in this file belongs to a case of the corpus", () => {
    process.stdout.write(`invalid: ${cases.length} cases, each failed\n`)
    expect(Object.keys(REASONS).sort()).toEqual(cases.map(({ name }) => name).sort())
  })
}
