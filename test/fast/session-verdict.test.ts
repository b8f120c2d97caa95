/** How a run ended, from the evidence: every row of the design's section 6.2 and which of two wins. Pure. */
import { describe, expect, test } from "bun:test"
import type { MessageEvidence, OpenRun } from "../../service/session/state.ts"
import { type JudgedOn, judgeRun } from "../../service/session/verdict.ts"

const message = (members: Partial<MessageEvidence> = {}): MessageEvidence => ({
  compaction: false,
  ...members,
})

type Members = Partial<Pick<OpenRun, "startedAt" | "error" | "stoppedBy">> & { working?: boolean }
const WORKING: Members = { working: true }

function run(messages: MessageEvidence[], { working, ...members }: Members = {}): OpenRun {
  return {
    id: "msg_1",
    eventId: "E1",
    startedAt: 1_000,
    ...(working === true ? {} : { idleAt: 3_000 }),
    messages: new Map(messages.map((one, index) => [`msg_${index + 2}`, one])),
    ...members,
  }
}

const stop = message({ finish: "stop" })
const calls = message({ finish: "tool-calls" })
const aborted = message({ error: "MessageAbortedError" })
const failed = message({ error: "APIError" })
const summary = message({ finish: "stop", compaction: true })
const ABORT = "MessageAbortedError"

const ROWS: [string, OpenRun, JudgedOn, string, object][] = [
  ["the last answer stopped", run([calls, stop]), "idle", "run.finished", {}],
  [
    "the answer was cut by its length",
    run([message({ finish: "length" })]),
    "idle",
    "run.failed",
    { reason: "length" },
  ],
  [
    "the provider filtered it",
    run([message({ finish: "content-filter" })]),
    "idle",
    "run.failed",
    { reason: "content-filter" },
  ],
  [
    "the provider gave an odd reason",
    run([message({ finish: "other" })]),
    "idle",
    "run.failed",
    { reason: "other" },
  ],
  [
    "a rejected ask stopped the loop",
    run([calls], { stoppedBy: "rejected" }),
    "idle",
    "run.failed",
    { reason: "rejected" },
  ],
  [
    "a dismissed question stopped the loop",
    run([calls], { stoppedBy: "dismissed" }),
    "idle",
    "run.failed",
    { reason: "rejected" },
  ],
  ["the last answer was aborted", run([calls, aborted]), "idle", "run.cancelled", { by: "user" }],
  [
    "the last answer failed",
    run([calls, failed]),
    "idle",
    "run.failed",
    { reason: "APIError", error: { type: "APIError" } },
  ],
  ["neither finish nor error", run([message()]), "idle", "run.cancelled", { by: "user" }],
  ["no answer at all", run([]), "idle", "run.cancelled", { by: "user" }],
  ["calls without a word why it ended", run([calls]), "idle", "run.cancelled", { by: "user" }],
  [
    "a finish nobody knows, as calls",
    run([message({ finish: "unknown" })]),
    "idle",
    "run.cancelled",
    { by: "user" },
  ],
  [
    "only an error event, and no finish",
    run([message()], { error: "APIError" }),
    "idle",
    "run.failed",
    { reason: "APIError", error: { type: "APIError" } },
  ],
  [
    "only an abort event, and no finish",
    run([message()], { error: ABORT }),
    "idle",
    "run.cancelled",
    { by: "user" },
  ],

  [
    "an error event before a whole answer: it recovered",
    run([stop], { error: "ContextOverflowError" }),
    "idle",
    "run.finished",
    {},
  ],
  [
    "an error event before a cut answer: the answer's own reason",
    run([message({ finish: "length" })], { error: "APIError" }),
    "idle",
    "run.failed",
    { reason: "length" },
  ],
  [
    "a refusal and an error event: the refusal stopped it",
    run([calls], { stoppedBy: "rejected", error: "APIError" }),
    "idle",
    "run.failed",
    { reason: "rejected" },
  ],
  [
    "a refusal and an error on the message: the error",
    run([failed], { stoppedBy: "rejected" }),
    "idle",
    "run.failed",
    { reason: "APIError", error: { type: "APIError" } },
  ],
  [
    "a refusal and an abort on the message: the abort",
    run([aborted], { stoppedBy: "rejected" }),
    "idle",
    "run.cancelled",
    { by: "user" },
  ],
  [
    "an error and a finish on one message: the error",
    run([message({ finish: "stop", error: "APIError" })]),
    "idle",
    "run.failed",
    { reason: "APIError", error: { type: "APIError" } },
  ],
  ["an error on an earlier message: the last decides", run([failed, stop]), "idle", "run.finished", {}],
  [
    "a refusal before a whole answer: it went on",
    run([stop], { stoppedBy: "rejected" }),
    "idle",
    "run.finished",
    {},
  ],
  [
    "a compaction's summary last: the answer before it decides",
    run([calls, stop, summary]),
    "idle",
    "run.finished",
    {},
  ],
  ["a compaction's summary alone answers nothing", run([summary]), "idle", "run.cancelled", { by: "user" }],

  [
    "the agent was disposed while it worked",
    run([calls], WORKING),
    "disposed",
    "run.cancelled",
    { by: "shutdown" },
  ],
  ["the lease lapsed while it worked", run([], WORKING), "lapsed", "run.cancelled", { by: "shutdown" }],
  [
    "the session was deleted while it worked",
    run([calls], WORKING),
    "deleted",
    "run.cancelled",
    { by: "user" },
  ],
  ["disposed after idle: the evidence decides", run([stop]), "disposed", "run.finished", {}],
  [
    "lapsed after an idle without words: the user",
    run([message()]),
    "lapsed",
    "run.cancelled",
    { by: "user" },
  ],
  ["the next prompt came first", run([stop]), "next-prompt", "run.finished", {}],
]

describe("a run is judged by", () => {
  test.each(ROWS)("%s", (_, open, on, type, data) => {
    const judged = judgeRun(open, on, 9_000)
    expect(judged.type).toBe(type)
    expect(judged.data).toEqual({ ...data, duration_ms: open.idleAt === undefined ? 8_000 : 2_000 })
    expect(judged.subject).toBeUndefined()
  })
})

describe("what a run cost", () => {
  const judged = (messages: MessageEvidence[]) => judgeRun(run(messages), "idle", 9_000).data

  test("is the sum over its messages, a compaction's included", () => {
    expect(
      judged([
        message({ finish: "tool-calls", input: 10, output: 1, cost: 0.1 }),
        message({ finish: "stop", input: 20, output: 2, cost: 0.2 }),
        message({ compaction: true, input: 30, output: 3 }),
      ]),
    ).toEqual({
      duration_ms: 2_000,
      "gen_ai.usage.input_tokens": 60,
      "gen_ai.usage.output_tokens": 6,
      cost: { currency: "USD", total: 0.3 },
    })
  })

  test("is unknown and left out where every message says 0 or nothing", () => {
    expect(judged([message({ finish: "stop", input: 0, output: 0, cost: 0 })])).toEqual({
      duration_ms: 2_000,
    })
    expect(judged([stop])).toEqual({ duration_ms: 2_000 })
  })

  test("names both counts where one is known", () => {
    expect(judged([message({ finish: "stop", output: 7 })])).toEqual({
      duration_ms: 2_000,
      "gen_ai.usage.input_tokens": 0,
      "gen_ai.usage.output_tokens": 7,
    })
  })

  test("never lasts less than nothing, when a clock went back", () => {
    expect(judgeRun(run([stop], { startedAt: 5_000 }), "idle", 9_000).data.duration_ms).toBe(0)
  })
})
