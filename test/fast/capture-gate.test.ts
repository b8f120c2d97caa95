/** The capture gate: what each ceiling leaves of a draft. */
import { describe, expect, test } from "bun:test"
import { type GateOptions, gateDraft } from "../../service/capture/gate.ts"
import type { Draft } from "../../service/map/draft.ts"
import { CAPTURES, type Capture } from "../../shared/aep.ts"
import { MARKING } from "../posture.ts"

const at = (ceiling: Capture, more: Partial<GateOptions> = {}): GateOptions => ({
  ceiling,
  agent: "opencode",
  redactor: MARKING,
  ...more,
})
const dataAt = (ceiling: Capture, draft: Draft, more: Partial<GateOptions> = {}) =>
  gateDraft(draft, at(ceiling, more)).data

const tool: Draft = {
  type: "tool.requested",
  subject: "bash",
  data: {
    tool: { name: "bash", call_id: "call_1" },
    args_digest: "d1",
    args_redacted: { command: "npm test", env: [{ KEY: "v" }, 1, true, null] },
    args: { command: "npm test" },
  },
}

describe("ceilings on a core type", () => {
  test("none leaves no data and says none", () => {
    expect(gateDraft(tool, at("none"))).toEqual({ capture: "none" })
  })

  test("metadata keeps structure and digests only", () => {
    expect(gateDraft(tool, at("metadata"))).toEqual({
      capture: "metadata",
      data: { tool: { name: "bash", call_id: "call_1" }, args_digest: "d1" },
    })
  })

  test("redacted redacts every text of a redacted field at any depth and drops full fields", () => {
    expect(gateDraft(tool, at("redacted"))).toEqual({
      capture: "redacted",
      data: {
        tool: { name: "bash", call_id: "call_1" },
        args_digest: "d1",
        args_redacted: { command: "<npm test>", env: [{ KEY: "<v>" }, 1, true, null] },
      },
    })
  })

  test("full tells everything as it is, and what is redacted elsewhere beside it", () => {
    expect(gateDraft(tool, at("full"))).toEqual({ capture: "full", data: tool.data })
  })

  test("full leaves out a redacted member that only repeats its full sibling", () => {
    const args = { command: "npm test" }
    const draft = { type: "tool.requested", data: { tool: { name: "bash" }, args_redacted: args, args } }
    expect(dataAt("full", draft)).toEqual({ tool: { name: "bash" }, args })
    expect(dataAt("redacted", draft)).toEqual({
      tool: { name: "bash" },
      args_redacted: { command: "<npm test>" },
    })
    const completed = { type: "tool.completed", data: { result_redacted: "ok", result: "ok" } }
    expect(dataAt("full", completed)).toEqual({ result: "ok" })
    const alone = { type: "tool.completed", data: { result_redacted: "ok" } }
    expect(dataAt("full", alone)).toEqual({ result_redacted: "ok" })
  })

  test.each(CAPTURES)("%s leaves the draft unchanged", (ceiling) => {
    const draft = structuredClone(tool)
    gateDraft(draft, at(ceiling))
    expect(draft).toEqual(tool)
  })

  test("nested fields and fields in lists go by their own level", () => {
    const failed: Draft = {
      type: "tool.failed",
      data: { tool: { name: "bash" }, error: { type: "ExecError", message: "secret" } },
    }
    expect(dataAt("metadata", failed)).toEqual({ tool: { name: "bash" }, error: { type: "ExecError" } })
    const returned: Draft = {
      type: "resource.retrieval.returned",
      data: { documents: [{ id: "1", content: "secret", content_redacted: "r" }, { id: "2" }], count: 2 },
    }
    expect(dataAt("metadata", returned)).toEqual({ documents: [{ id: "1" }, { id: "2" }], count: 2 })
    expect(dataAt("redacted", returned)).toEqual({
      documents: [{ id: "1", content_redacted: "<r>" }, { id: "2" }],
      count: 2,
    })
  })

  test("an emptied payload stays an empty object", () => {
    expect(dataAt("metadata", { type: "run.started", data: { prompt: "secret" } })).toEqual({})
    expect(dataAt("metadata", { type: "session.compacted", data: {} })).toEqual({})
  })

  test("members beyond the schema count as metadata and stay", () => {
    const draft: Draft = { type: "run.finished", data: { summary: "secret", extra: "safe" } }
    expect(dataAt("metadata", draft)).toEqual({ extra: "safe" })
    expect(dataAt("redacted", draft)).toEqual({ summary: "<secret>", extra: "safe" })
  })

  test("a __proto__ member and members that are undefined are left out", () => {
    const data = JSON.parse('{"__proto__": {"prompt": "secret"}, "trigger": "user"}')
    expect(JSON.stringify(dataAt("metadata", { type: "run.started", data }))).toBe('{"trigger":"user"}')
    const gated = dataAt("metadata", { type: "run.started", data: { trigger: undefined } }) ?? {}
    expect(Object.keys(gated)).toEqual([])
  })

  test.each([
    ["tool.failed", { error: "secret" }],
    ["tool.failed", { error: ["secret"] }],
    ["attention.requested", { options: "secret" }],
    ["attention.requested", { options: { label: "secret" } }],
    ["attention.requested", { fields: ["secret", ["secret"], null] }],
    ["attention.answered", { answer: "secret" }],
    ["attention.answered", { answer: { values: "secret" } }],
    ["resource.citation.recorded", { citations: [{ source: "secret" }] }],
  ])("a container of the wrong shape in %s takes its content with it: %j", (type, data) => {
    expect(JSON.stringify(gateDraft({ type, data }, at("metadata")))).not.toContain("secret")
  })

  test("a value of which redaction leaves nothing is left out", () => {
    const redactor = { ...MARKING, value: () => undefined }
    const draft = { type: "tool.requested", data: { tool: { name: "bash" }, args_redacted: { a: "b" } } }
    expect(dataAt("redacted", draft, { redactor })).toEqual({ tool: { name: "bash" } })
  })
})

describe("types without annotations", () => {
  const unknown: Draft = { type: "tool.whatever", data: { anything: "secret" } }

  test.each([unknown, { ...unknown, type: "message.user.submitted" }])(
    "a core type that is unknown or reserved keeps nothing below full: $type",
    (draft) => {
      expect(gateDraft(draft, at("metadata"))).toEqual({ capture: "metadata" })
      expect(gateDraft(draft, at("redacted"))).toEqual({ capture: "redacted" })
      expect(dataAt("full", draft)).toEqual(draft.data)
    },
  )

  test("a vendor type keeps data from metadata on and content from redacted on", () => {
    const draft: Draft = {
      type: "x.opencode.command.executed",
      data: { name: "test" },
      content: { arguments: "--watch", parts: [{ text: "hello" }] },
    }
    expect(gateDraft(draft, at("none"))).toEqual({ capture: "none" })
    expect(dataAt("metadata", draft)).toEqual({ name: "test" })
    expect(dataAt("redacted", draft)).toEqual({
      name: "test",
      arguments: "<--watch>",
      parts: [{ text: "<hello>" }],
    })
    expect(dataAt("full", draft)).toEqual({ name: "test", ...draft.content })
  })

  test("a vendor event without content says metadata at every ceiling above, so that no hop strips it", () => {
    const bare: Draft = { type: "x.opencode.tool.late", data: { outcome: "completed" } }
    for (const draft of [bare, { ...bare, content: {} }]) {
      for (const ceiling of ["metadata", "redacted", "full"] as const) {
        expect(gateDraft(draft, at(ceiling))).toEqual({ capture: "metadata", data: bare.data })
      }
    }
  })

  test("content of a vendor event never overwrites its structure", () => {
    const draft: Draft = {
      type: "x.opencode.a.b",
      data: { name: "test" },
      content: { name: "secret", a: "b" },
    }
    expect(dataAt("redacted", draft)).toEqual({ name: "test", a: "<b>" })
    expect(dataAt("full", draft)).toEqual({ name: "test", a: "b" })
  })

  test("content of which redaction leaves nothing readable is left out", () => {
    const draft: Draft = { type: "x.opencode.a.b", data: { name: "test" }, content: { a: "b" } }
    const redactor = { ...MARKING, value: () => undefined }
    expect(dataAt("redacted", draft, { redactor })).toEqual({ name: "test" })
  })

  test("content of a core type is never merged", () => {
    const draft: Draft = { type: "run.finished", data: {}, content: { text: "secret" } }
    for (const ceiling of CAPTURES)
      expect(JSON.stringify(gateDraft(draft, at(ceiling)))).not.toContain("secret")
  })
})

describe("attention below redacted", () => {
  const ask: Draft = {
    type: "attention.requested",
    subject: "bash",
    data: {
      kind: "permission",
      prompt: "Permission requested: bash — rm -rf build",
      options: [
        { id: "allow", label: "Allow secret" },
        { id: "deny", label: "Deny" },
      ],
      respond_via: ["control"],
      context: { secret: true },
    },
  }
  const form = (count: number): Draft => ({
    type: "attention.requested",
    subject: "que_1",
    data: {
      kind: "form",
      prompt: "title",
      fields: Array.from({ length: count }, (_, index) => ({
        id: String(index + 1),
        type: "select",
        label: "Database: secret?",
        required: true,
        choices: [{ id: "1", label: "secret" }],
      })),
    },
  })

  test("a permission's prompt and labels become structure", () => {
    expect(dataAt("metadata", ask)).toEqual({
      kind: "permission",
      prompt: "opencode requests permission: bash",
      options: [
        { id: "allow", label: "allow" },
        { id: "deny", label: "deny" },
      ],
      respond_via: ["control"],
    })
  })

  test("a prompt without subject or known kind still names the agent only", () => {
    const { subject: _, ...bare } = ask
    expect(dataAt("metadata", bare)).toMatchObject({ prompt: "opencode requests permission" })
    const odd: Draft = { ...bare, data: { kind: ["secret"], prompt: "secret" } }
    expect(dataAt("metadata", odd)).toMatchObject({ prompt: "opencode requests other" })
  })

  test.each([
    [1, "kilocode asks 1 question"],
    [2, "kilocode asks 2 questions"],
    [11, "kilocode asks 11 questions"],
    [0, "kilocode requests form: que_1"],
  ])("a form of %i fields asks in the right number", (count, prompt) => {
    expect(dataAt("metadata", form(count), { agent: "kilocode" })).toMatchObject({ prompt })
  })

  test("field and choice labels become their ids", () => {
    expect(dataAt("metadata", form(2))).toMatchObject({
      fields: [
        { id: "1", label: "1", choices: [{ id: "1", label: "1" }] },
        { id: "2", label: "2", choices: [{ id: "1", label: "1" }] },
      ],
    })
  })

  test("a label whose entry has no id becomes its position", () => {
    const draft: Draft = {
      type: "attention.requested",
      data: { options: [{ label: "a" }, { label: "secret" }] },
    }
    expect(dataAt("metadata", draft)).toEqual({ options: [{ label: "1" }, { label: "2" }] })
  })

  test("from redacted on prompt and labels are real, through the redaction, and verbatim at full", () => {
    expect(dataAt("redacted", ask)).toMatchObject({
      prompt: "<Permission requested: bash — rm -rf build>",
      options: [{ id: "allow", label: "<Allow secret>" }, { label: "<Deny>" }],
    })
    expect(dataAt("redacted", form(1))).toMatchObject({
      fields: [{ label: "<Database: secret?>", choices: [{ id: "1", label: "<secret>" }] }],
    })
    expect(dataAt("full", ask)).toEqual(ask.data)
  })

  test("an answer keeps its option, loses its text, and has its values judged by the request's fields", () => {
    const draft: Draft = {
      type: "attention.answered",
      data: { answer: { option: "2", text: "secret", values: { "1": "1", "2": "secret" } }, via: "oob" },
    }
    const fields = [
      { id: "1", type: "select" as const, label: "l", choices: [{ id: "1", label: "l" }] },
      { id: "2", type: "string" as const, label: "l" },
    ]
    expect(dataAt("metadata", draft, { fields })).toEqual({
      answer: { option: "2", values: { "1": "1" } },
      via: "oob",
    })
    expect(dataAt("metadata", draft)).toEqual({ answer: { option: "2", values: {} }, via: "oob" })
    expect(dataAt("redacted", draft, { fields })).toEqual({
      answer: { option: "2", text: "<secret>", values: { "1": "1", "2": "<secret>" } },
      via: "oob",
    })
    expect(dataAt("full", draft, { fields })).toEqual(draft.data)
  })
})
