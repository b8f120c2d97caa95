/**
 * Every row of the mapping, pinned at three ceilings beside the official tables, which judge one posture only: what
 * type, subject, severity and payload a representative moment gets. A row changed, added or lost fails here.
 */
import { describe, expect, test } from "bun:test"
import { gateDraft } from "../../service/capture/gate.ts"
import { severityOf } from "../../service/emit/severity.ts"
import { MAPPED_BUS_TYPES } from "../../service/map/bus.ts"
import { mapMoment } from "../../service/map/moment.ts"
import { PROFILES, type Profile } from "../../service/map/profile.ts"
import type { MomentBody } from "../../shared/moments.ts"
import { MARKING } from "../posture.ts"

interface Row {
  moment: MomentBody
  /** Absent where the annex says nothing on purpose. */
  told?: { type: string; subject?: string; severity: string }
  metadata?: unknown
  /** Texts that went through redaction stand in angle brackets. */
  redacted?: unknown
  full?: unknown
}

const bus = (type: string, properties: Record<string, unknown>): MomentBody => ({
  kind: "bus",
  event: { type, properties },
})
const same = (data: unknown) => ({ metadata: data, redacted: data, full: data })
const CLIENT = { client: { name: "opencode", version: "1.18.33" }, parent: { session: "ses_0" } }
const CALL = { tool: "bash", sessionID: "ses_1", callID: "call_1" }
const TOOL = { tool: { name: "bash", call_id: "call_1" } }

const ask = (ids: string[], labels: string[], prompt: string) => ({
  kind: "permission",
  prompt,
  options: ids.map((id, index) => ({ id, label: labels[index] })),
  respond_via: ["control"],
})
const IDS = ["once", "always", "reject"]
const permission = (text: string) => ({
  told: { type: "attention.requested", subject: "bash", severity: "notice" },
  metadata: ask(IDS, IDS, "opencode requests permission: bash"),
  redacted: ask(
    IDS,
    ["<Allow once>", "<Always allow>", "<Reject>"],
    `<Permission requested: bash — ${text}>`,
  ),
  full: ask(IDS, ["Allow once", "Always allow", "Reject"], `Permission requested: bash — ${text}`),
})

const form = (wrap: (label: string, id: string) => string, prompt: string) => ({
  kind: "form",
  prompt,
  fields: [
    {
      ...{ id: "1", type: "select", label: wrap("Way: Which way?", "1"), required: true, other: true },
      choices: [
        { id: "1", label: wrap("Left", "1") },
        { id: "2", label: wrap("Right", "2") },
      ],
    },
    {
      ...{ id: "2", type: "select", label: wrap("Which?", "2"), required: true, multi: true, other: false },
      choices: [{ id: "1", label: wrap("A", "1") }],
    },
  ],
  respond_via: ["control"],
})
const QUESTIONS = [
  {
    header: "Way",
    question: "Which way?",
    options: [{ label: "Left", description: "d" }, { label: "Right" }],
  },
  { question: "Which?", multiple: true, custom: false, options: [{ label: "A" }] },
]
const question = {
  told: { type: "attention.requested", subject: "que_1", severity: "notice" },
  metadata: form((_, id) => id, "opencode asks 2 questions"),
  redacted: form((label) => `<${label}>`, "<opencode asks 2 questions>"),
  full: form((label) => label, "opencode asks 2 questions"),
}

const resolved = (subject: string, resolution: string) => ({
  told: { type: "attention.resolved", subject, severity: "info" },
  ...same({ resolution }),
})

const ROWS: Readonly<Record<string, Row>> = {
  "session.created": {
    moment: bus("session.created", {
      info: { id: "s", version: "1.18.33", title: "A title", directory: "/home/dev", parentID: "ses_0" },
    }),
    told: { type: "session.started", severity: "info" },
    metadata: CLIENT,
    redacted: { ...CLIENT, label: "<A title>", cwd: "</home/dev>" },
    full: { ...CLIENT, label: "A title", cwd: "/home/dev" },
  },
  "session.deleted": {
    moment: bus("session.deleted", { info: { id: "s", title: "A title" } }),
    told: { type: "session.ended", severity: "info" },
    ...same({ reason: "normal" }),
  },
  "session.idle": {
    moment: bus("session.idle", { sessionID: "s" }),
    told: { type: "run.finished", severity: "info" },
    ...same({}),
  },
  "session.compacted": {
    moment: bus("session.compacted", { sessionID: "s" }),
    told: { type: "session.compacted", severity: "info" },
    ...same({}),
  },
  "session.status": {
    moment: bus("session.status", { status: { type: "retry", attempt: 2, message: "Too many", next: 9 } }),
    told: { type: "progress.status", subject: "retry", severity: "info" },
    metadata: {},
    redacted: { message: "<Too many>" },
    full: { message: "Too many" },
  },
  "session.error": {
    moment: bus("session.error", {
      error: { name: "APIError", data: { message: "no such key", statusCode: 401 } },
    }),
    told: { type: "x.opencode.session.error", severity: "error" },
    metadata: { type: "APIError" },
    redacted: { type: "APIError", message: "<no such key>" },
    full: { type: "APIError", message: "no such key" },
  },
  "message.updated": {
    moment: bus("message.updated", {
      info: { role: "assistant", tokens: { input: 3, output: 4 }, path: { cwd: "/home/dev" } },
    }),
    told: { type: "x.opencode.message.updated", severity: "debug" },
    ...same({ role: "assistant", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4 }),
  },
  "message.updated of a user": {
    moment: bus("message.updated", { info: { role: "user", id: "msg_1" } }),
    told: { type: "run.started", severity: "info" },
    ...same({ trigger: "user" }),
  },
  "permission.updated": { moment: bus("permission.updated", { id: "per_1", type: "bash", title: "rm a" }) },
  "permission.asked": {
    moment: bus("permission.asked", {
      id: "per_1",
      permission: "bash",
      patterns: ["rm a", "rm b"],
      metadata: { command: "rm a; rm b" },
      always: ["rm *"],
    }),
    ...permission("rm a; rm b"),
  },
  "permission.v2.asked": {
    moment: bus("permission.v2.asked", { id: "per_1", action: "bash", resources: ["rm a", "rm b"] }),
    ...permission("rm a, rm b"),
  },
  "permission.replied": {
    moment: bus("permission.replied", { requestID: "per_1", reply: "once" }),
    ...resolved("per_1", "answered"),
  },
  "permission.replied of 1.0": {
    moment: bus("permission.replied", { permissionID: "per_1", response: "once" }),
    ...resolved("per_1", "answered"),
  },
  "permission.v2.replied": {
    moment: bus("permission.v2.replied", { requestID: "per_1", reply: "reject" }),
    ...resolved("per_1", "answered"),
  },
  "question.asked": { moment: bus("question.asked", { id: "que_1", questions: QUESTIONS }), ...question },
  "question.v2.asked": {
    moment: bus("question.v2.asked", { id: "que_1", questions: QUESTIONS }),
    ...question,
  },
  "question.replied": {
    moment: bus("question.replied", { requestID: "que_1", answers: [["Left"]] }),
    ...resolved("que_1", "answered"),
  },
  "question.v2.replied": {
    moment: bus("question.v2.replied", { requestID: "que_1", answers: [["Left"]] }),
    ...resolved("que_1", "answered"),
  },
  "question.rejected": {
    moment: bus("question.rejected", { requestID: "que_1" }),
    ...resolved("que_1", "dismissed"),
  },
  "question.v2.rejected": {
    moment: bus("question.v2.rejected", { requestID: "que_1" }),
    ...resolved("que_1", "dismissed"),
  },
  "todo.updated": { moment: bus("todo.updated", { todos: [{ content: "x", status: "pending" }] }) },
  "file.edited": {
    moment: bus("file.edited", { file: "/home/dev/a.txt" }),
    told: { type: "x.opencode.file.edited", severity: "debug" },
    metadata: {},
    redacted: { file: "</home/dev/a.txt>" },
    full: { file: "/home/dev/a.txt" },
  },
  "command.executed": {
    moment: bus("command.executed", { name: "review", arguments: "all of it", messageID: "msg_1" }),
    told: { type: "x.opencode.command.executed", severity: "debug" },
    metadata: { name: "review" },
    redacted: { name: "review", arguments: "<all of it>" },
    full: { name: "review", arguments: "all of it" },
  },
  "a bus type without a row": {
    moment: bus("lsp.client.diagnostics", { path: "/home/dev/a.ts", text: "secret" }),
    told: { type: "x.opencode.lsp.client.diagnostics", severity: "debug" },
    ...same({}),
  },
  "tool.before": {
    moment: { kind: "tool.before", input: CALL, output: { args: { command: "ls", nested: { a: ["b"] } } } },
    told: { type: "tool.requested", subject: "bash", severity: "info" },
    metadata: { ...TOOL, args_digest: 'digest {"command":"ls","nested":{"a":["b"]}}' },
    redacted: {
      ...TOOL,
      args_digest: 'digest {"command":"ls","nested":{"a":["b"]}}',
      args_redacted: { command: "<ls>", nested: { a: ["<b>"] } },
    },
    full: {
      ...TOOL,
      args_digest: 'digest {"command":"ls","nested":{"a":["b"]}}',
      args: { command: "ls", nested: { a: ["b"] } },
    },
  },
  "tool.before without arguments": {
    moment: { kind: "tool.before", input: CALL, output: {} },
    told: { type: "tool.requested", subject: "bash", severity: "info" },
    ...same(TOOL),
  },
  "tool.before with arguments that are no object": {
    moment: { kind: "tool.before", input: CALL, output: { args: "ls" } },
    told: { type: "tool.requested", subject: "bash", severity: "info" },
    ...same({ ...TOOL, args_digest: 'digest "ls"' }),
  },
  "tool.after": {
    moment: {
      kind: "tool.after",
      input: CALL,
      output: { title: "t", output: "a.txt", metadata: { exit: 0 } },
    },
    told: { type: "tool.completed", subject: "bash", severity: "info" },
    metadata: { ...TOOL, result_digest: 'digest "a.txt"' },
    redacted: { ...TOOL, result_digest: 'digest "a.txt"', result_redacted: "<a.txt>" },
    full: { ...TOOL, result_digest: 'digest "a.txt"', result: "a.txt" },
  },
  "tool.after of an MCP tool": {
    moment: { kind: "tool.after", input: CALL, output: { content: [{ type: "text", text: "hi" }] } },
    told: { type: "tool.completed", subject: "bash", severity: "info" },
    metadata: { ...TOOL, result_digest: 'digest [{"type":"text","text":"hi"}]' },
    redacted: {
      ...TOOL,
      result_digest: 'digest [{"type":"text","text":"hi"}]',
      result_redacted: { content: [{ type: "<text>", text: "<hi>" }] },
    },
    full: {
      ...TOOL,
      result_digest: 'digest [{"type":"text","text":"hi"}]',
      result: { content: [{ type: "text", text: "hi" }] },
    },
  },
  "tool.after without a result": {
    moment: { kind: "tool.after", input: CALL, output: undefined },
    told: { type: "tool.completed", subject: "bash", severity: "info" },
    ...same(TOOL),
  },
  "permission.ask": {
    moment: { kind: "permission.ask", permission: { id: "per_1", type: "bash", title: "rm a" } },
    told: { type: "attention.requested", subject: "bash", severity: "notice" },
    metadata: ask(["allow", "deny"], ["allow", "deny"], "opencode requests permission: bash"),
    redacted: ask(["allow", "deny"], ["<Allow>", "<Deny>"], "<Permission requested: bash — rm a>"),
    full: ask(["allow", "deny"], ["Allow", "Deny"], "Permission requested: bash — rm a"),
  },
  "chat.message": { moment: { kind: "chat.message", input: {}, output: { parts: [] } } },
  dispose: { moment: { kind: "dispose" } },
}

const profile = PROFILES.opencode as Profile
const digest = (value: unknown) => `digest ${JSON.stringify(value)}`

describe("a moment becomes its row", () => {
  test.each(Object.entries(ROWS))("%s", (_, row) => {
    const draft = mapMoment(row.moment, { profile, digest })
    if (row.told === undefined) {
      expect(draft).toBeUndefined()
      return
    }
    if (draft === undefined) throw new Error("nothing was told")
    const at = (ceiling: "metadata" | "redacted" | "full") =>
      gateDraft(draft, { ceiling, agent: profile.agent, redactor: MARKING }).data
    const { type, subject } = draft
    const found: Row = {
      moment: row.moment,
      told: {
        type,
        ...(subject === undefined ? {} : { subject }),
        severity: draft.severity ?? severityOf(type),
      },
      metadata: at("metadata"),
      redacted: at("redacted"),
      full: at("full"),
    }
    expect(found).toEqual(row)
  })
})

test("every bus type of the mapping and every kind of moment has a pinned row, and no other", () => {
  const types = new Set<string>()
  const kinds = new Set<string>()
  for (const { moment } of Object.values(ROWS)) {
    kinds.add(moment.kind)
    if (moment.kind === "bus" && moment.event.type !== "lsp.client.diagnostics") types.add(moment.event.type)
  }
  expect([...types].sort()).toEqual([...MAPPED_BUS_TYPES].sort())
  expect([...kinds].sort()).toEqual([
    "bus",
    "chat.message",
    "dispose",
    "permission.ask",
    "tool.after",
    "tool.before",
  ])
})

test("a fork of the agent differs by its profile's row alone", () => {
  const kilo = PROFILES.kilocode as Profile
  for (const { moment } of Object.values(ROWS)) {
    const ours = mapMoment(moment, { profile, digest })
    const theirs = mapMoment(moment, { profile: kilo, digest })
    const renamed = JSON.parse(JSON.stringify(ours ?? null).replaceAll("opencode", "kilocode"))
    expect(JSON.parse(JSON.stringify(theirs ?? null))).toEqual(renamed)
  }
})

describe("a digest over content that was cut would be a lie, and is left out", () => {
  test.each([
    ["output.args", { kind: "tool.before", input: CALL, output: { args: { command: "ls" } } }, "args_digest"],
    [
      "output.args.command",
      { kind: "tool.before", input: CALL, output: { args: { command: "ls" } } },
      "args_digest",
    ],
    ["output.output", { kind: "tool.after", input: CALL, output: { output: "a" } }, "result_digest"],
    ["output.content.0.text", { kind: "tool.after", input: CALL, output: { content: [] } }, "result_digest"],
  ] as [string, MomentBody, string][])("cut at %s", (path, moment, member) => {
    expect(mapMoment(moment, { profile, digest, cut: [path] })?.data).not.toHaveProperty(member)
    expect(mapMoment(moment, { profile, digest, cut: ["output.title"] })?.data).toHaveProperty(member)
    expect(
      mapMoment(moment, { profile, digest, cut: ["output.argsx", "output.outputx"] })?.data,
    ).toHaveProperty(member)
  })
})
