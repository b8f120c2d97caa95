/**
 * A valid log damaged in every way the rules are about, one damage at a time: each must be caught, under the code that
 * the table gives. For every code there is a damage.
 */
import { describe, expect, test } from "bun:test"
import { CODES, type Code } from "../../service/validate/codes.ts"
import { again, drop, log, set, setData, setValues, text } from "./validate-damage.ts"
import { type Event, judgeBytes, judgeEvents } from "./validate-judge.ts"

const GONE = "ELSEWHERE"
const TOOL = { tool: { name: "bash", call_id: "c1" } }
const RED = { id: "1", type: "select", label: "1", choices: [{ id: "1", label: "Red" }] }

/** What is done to the log, what it becomes, and the code that catches it under strict. */
const TABLE: readonly [damage: string, events: Event[], code: Code][] = [
  ["a list for a line", [[] as unknown as Event, ...log], "envelope.object"],
  ["another minor version", set("run.started", { aep: "0.2" }), "envelope.version"],
  ["another major version", set("x.opencode.tool.late", { aep: "1.0" }), "version.unsupported"],
  ["only other versions", log.map((event) => ({ ...event, aep: "1.0" })), "version.nothing-judged"],
  ["a malformed time", set("tool.requested", { time: "noon" }), "envelope.attribute"],
  ["a day that is not", set("run.failed", { time: "2026-02-30T00:00:00Z" }), "envelope.attribute"],
  ["a source that is no URI", set("run.failed", { source: "host-f" }), "envelope.attribute"],
  ["a type in upper case", set("run.finished", { type: "run.Finished" }), "envelope.type"],
  ["an object for an extension", set("session.started", { acmeregion: {} }), "envelope.extension"],
  ["a seq on a command", set("control.cancel", { seq: 3 }), "envelope.placement"],
  ["a session on presence", set("agent.presence", { session: "s_main" }), "envelope.placement"],
  ["an unregistered type", set("tool.denied", { type: "tool.refused" }), "type.unregistered"],
  ["a reserved type", set("x.opencode.tool.late", { type: "message.agent.replied" }), "type.reserved"],
  ["an unknown enum value", setData("run.cancelled", { by: "cat" }), "payload.schema"],
  ["a cost without currency", setData("run.finished", { cost: { total: 1 } }, 1), "payload.schema"],
  ["none declared over data", set("tool.completed", { capture: "none" }), "capture.none"],
  ["redacted declared over full", set("tool.requested", { capture: "redacted" }, 3), "capture.above"],
  ["the default over redacted", set("run.failed", { capture: undefined }), "capture.above"],
  ["content in a metadata event", setData("run.started", { prompt: "do it" }), "capture.above"],
  ["text for a prompt", setData("attention.requested", { prompt: "rm -rf build?" }), "capture.prompt"],
  [
    "text for a label",
    setData("attention.requested", { options: [{ id: "once", label: "Yes" }] }),
    "capture.label",
  ],
  ["text for a choice", setData("attention.requested", { fields: [RED, RED] }, 3), "capture.label"],
  ["the default over prompts", set("attention.requested", { capture: undefined }, 1), "capture.prompt"],
  ["text at metadata", setValues({ "1": "Blue" }, 2), "capture.values"],
  ["text for a form unseen", set("attention.answered", { subject: GONE }, 2), "capture.values-unjudged"],
  ["a line again", [...log, ...log.slice(-1)], "id.duplicate"],
  ["an id again", set("run.failed", { id: log.at(-1)?.id }), "id.collision"],
  ["a lower seq", set("session.ended", { seq: 0 }), "order.seq"],
  ["a position again", set("x.opencode.tool.late", { seq: log.at(-2)?.seq }), "order.repeated"],
  ["an epoch that is over", set("session.ended", { epoch: 0 }), "order.epoch"],
  ["a position too large", set("x.opencode.tool.late", { seq: 2 ** 60 }), "order.inexact"],
  ["a second run terminal", again("run.finished", { type: "run.cancelled", data: {} }), "run.terminal"],
  ["a terminal of the last epoch's run", set("run.failed", { run: "r1" }), "run.terminal"],
  ["a run without a name", set("run.started", { run: undefined }, 3), "run.unnamed"],
  ["a run that starts twice", again("run.started", {}), "run.reopened"],
  ["a run that never started", drop("run.started", 3), "run.unopened"],
  ["a run that starts within another", drop("run.finished", 1), "run.overlap"],
  ["a run that never ends", drop("run.failed"), "run.open"],
  [
    "a second tool terminal",
    again("tool.completed", { type: "tool.failed", data: { ...TOOL, error: {} } }),
    "tool.terminal",
  ],
  ["a call requested twice", again("tool.requested", {}), "tool.reopened"],
  ["a call never requested", drop("tool.requested"), "tool.unrequested"],
  ["a call never ended", drop("tool.failed", 1), "tool.open"],
  ["a required value gone", setValues({ copies: undefined }, 1), "form.required"],
  ["no choice of the form", setValues({ regions: ["3"] }, 1), "form.choice"],
  ["a number out of bounds", setValues({ copies: 10 }, 1), "form.value"],
  ["no subject", set("attention.timeout", { subject: undefined }), "attention.subject"],
  ["an unknown subject", set("attention.timeout", { subject: GONE }), "attention.unknown"],
  ["the request gone", drop("attention.requested", 2), "attention.unknown"],
  [
    "an option not on offer",
    setData("attention.answered", { answer: { option: "twice" } }),
    "attention.option",
  ],
  ["two answers", again("attention.answered", {}), "attention.answer"],
  [
    "an answer closed as automatic",
    setData("attention.resolved", { resolution: "auto" }),
    "attention.resolution",
  ],
  [
    "a terminal after a timeout",
    again("attention.timeout", { type: "attention.resolved", data: { resolution: "auto" } }),
    "attention.terminal",
  ],
  ["the terminal gone", drop("attention.timeout"), "attention.open"],
  ["a second session end", again("session.ended", {}), "session.terminal"],
  [
    "a run after the end",
    again("session.ended", { type: "run.started", run: "r9", data: {} }),
    "session.after-end",
  ],
  [
    "a second decision",
    again("control.accepted", { type: "control.rejected", data: { reason: "busy" } }),
    "ack.second",
  ],
  ["an ack for nothing", set("control.accepted", { cause: undefined }), "ack.cause"],
  ["a cause that is not", set("tool.requested", { cause: GONE }), "cause.unknown"],
]

const badByte = Buffer.from([0xc3, 0x28])
const head = Buffer.from(text.slice(0, 8))

/** Damage to the bytes. */
const BYTES: readonly [damage: string, bytes: string | Uint8Array, code: Code][] = [
  ["a byte order mark", `\ufeff${text}`, "line.bom"],
  ["a blank line", text.replace("\n", "\n\n"), "line.blank"],
  ["other line ends", text.replaceAll("\n", "\r\n"), "line.crlf"],
  ["a byte changed", Buffer.concat([head, badByte, Buffer.from(text.slice(8))]), "line.utf8"],
  ["a line grown", text.replace("online", "o".repeat(40_000)), "line.too-long"],
  ["the last write torn", text.slice(0, -30), "line.torn"],
  ["the last line feed lost", text.slice(0, -1), "line.unterminated"],
  ["a member twice", text.replace('"data":', '"data":{"prompt":"x"},"data":'), "line.member"],
  ["a brace lost", text.replace("}}\n", "}\n"), "line.json"],
]

test("the log is valid, strictly, before it is damaged", () => {
  expect(judgeEvents(log, true).findings).toEqual([])
})

describe("each damage is caught under its code", () => {
  test.each(TABLE)("%s", (_damage, events, code) => {
    expect(judgeEvents(events, true).codes).toContain(code)
  })

  test.each(BYTES)("%s", (_damage, bytes, code) => {
    const given = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes
    expect(judgeBytes(given, { isStrict: true, maxLineBytes: 30_000 }).codes).toContain(code)
  })

  test("for every code there is a damage", () => {
    const caught = new Set<string>([...TABLE, ...BYTES].map(([, , code]) => code))
    expect([...caught].sort()).toEqual(Object.keys(CODES).sort())
    process.stdout.write(`mutations: ${TABLE.length + BYTES.length} damages, ${caught.size} codes\n`)
  })

  test.each(TABLE)("without strict, %s weighs what its code weighs", (_damage, events, code) => {
    const own = judgeEvents(events).findings.filter((finding) => finding.code === code)
    const severities = { error: ["error"], doubtful: ["warning"], note: ["warning"], strict: [] }
    expect([...new Set(own.map(({ severity }): string => severity))]).toEqual(severities[CODES[code].weight])
  })
})
