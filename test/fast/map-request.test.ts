/** What a request tells a person, draft by draft and level by level (AEP-0002 §5.1, §5.3; D-09). Pure. */
import { describe, expect, test } from "bun:test"
import { gateDraft } from "../../service/capture/gate.ts"
import { readAsk, readQuestion } from "../../service/map/attention.ts"
import type { Draft } from "../../service/map/draft.ts"
import type { Json } from "../../service/map/members.ts"
import { profileOf } from "../../service/map/profile.ts"
import {
  type Circumstances,
  permissionRequest,
  questionRequest,
  type Way,
} from "../../service/map/request.ts"
import { CAPTURES, type Capture } from "../../shared/aep.ts"
import { posture } from "../posture.ts"

const AT = Date.UTC(2026, 10, 3, 9)
const about = (way: Way, members: Partial<Circumstances> = {}): Circumstances => ({
  ...{ way, tool: undefined, isAnswerable: true, expiresAt: AT, cut: undefined },
  ...members,
})
const profile = (agent = "opencode") => {
  const found = profileOf(agent)
  if (found === undefined) throw new Error(`no profile of ${agent}`)
  return found
}

const DIFF = "--- a\n+++ b\n-old\n+new"
const EDIT: Json = {
  id: "per_1",
  permission: "edit",
  patterns: ["src/a.ts", "src/b.ts"],
  always: ["*"],
  metadata: { filepath: "/home/dev/src/a.ts", diff: DIFF },
}
const LEGACY: Json = { id: "per_1", type: "bash", pattern: "rm *", title: "rm -rf build", metadata: {} }
const QUESTIONS: Json = {
  id: "que_1",
  questions: [
    { header: "Colour", question: "Which?", options: [{ label: "red" }, { label: "blue" }] },
    { question: "Why?", options: [{ label: "" }], multiple: true, custom: false },
  ],
}

function permission(value: Json, circumstances: Circumstances, agent?: string): Draft {
  const ask = readAsk(value)
  if (ask === undefined) throw new Error("no ask")
  return permissionRequest(ask, value, profile(agent), circumstances)
}
function form(circumstances: Circumstances = about("question"), agent?: string): Draft {
  const read = readQuestion(QUESTIONS)
  if (read === undefined) throw new Error("no question")
  return questionRequest(read, profile(agent), circumstances)
}
const options = (draft: Draft) => draft.data.options as { id: string; label: string }[]
const labelOf = (draft: Draft, id: string) => options(draft).find((option) => option.id === id)?.label ?? ""
/** The payload under a ceiling, as the service gates it. */
const told = (draft: Draft, ceiling: Capture) =>
  gateDraft(draft, { ceiling, agent: "opencode", redactor: posture().redactor })

const EXPIRES = "2026-11-03T09:00:00.000Z"
const ask = (prompt: string, choices: [string, unknown][], via: string[], context: object) => ({
  kind: "permission",
  prompt,
  options: choices.map(([id, label]) => ({ id, label })),
  respond_via: via,
  expires_at: EXPIRES,
  context,
})

describe("the whole draft", () => {
  test("of the reply route", () => {
    expect(permission(EDIT, about("reply"))).toEqual({
      type: "attention.requested",
      subject: "edit",
      data: ask(
        "Permission requested: edit — /home/dev/src/a.ts",
        [
          ["once", "Allow once"],
          ["always", "Always allow until the agent restarts: *"],
          ["reject", "Reject, and all other asks of this session"],
        ],
        ["control", "oob"],
        {
          permission: "edit",
          patterns: ["src/a.ts", "src/b.ts"],
          always: ["*"],
          metadata: { filepath: "/home/dev/src/a.ts", diff: DIFF },
        },
      ),
    })
  })

  test("of 1.0's route, where a reject takes nothing along", () => {
    expect(permission(LEGACY, about("legacy")).data).toEqual(
      ask(
        "Permission requested: bash — rm -rf build",
        [
          ["once", "Allow once"],
          ["always", expect.stringMatching(/^Always allow\b/)],
          ["reject", "Reject"],
        ],
        ["control", "oob"],
        { permission: "bash", patterns: ["rm *"] },
      ),
    )
  })

  test("of the held hook, which hides the agent's own dialog", () => {
    expect(permission(LEGACY, about("hook")).data).toEqual(
      ask(
        "Permission requested: bash — rm -rf build",
        [
          ["allow", "Allow"],
          ["deny", "Deny"],
        ],
        ["control"],
        { permission: "bash", patterns: ["rm *"] },
      ),
    )
  })

  test("of a question, in the words and with the numbers of its choices", () => {
    expect(form()).toEqual({
      type: "attention.requested",
      subject: "que_1",
      data: {
        kind: "form",
        prompt: "opencode asks 2 questions",
        fields: [
          {
            ...{ id: "1", type: "select", label: "Colour: Which?", required: true, other: true },
            choices: [
              { id: "1", label: "red" },
              { id: "2", label: "blue" },
            ],
          },
          {
            ...{ id: "2", type: "select", label: "Why?", required: true, multi: true, other: false },
            choices: [{ id: "1", label: "1" }],
          },
        ],
        options: [{ id: "reject", label: "Dismiss without an answer" }],
        respond_via: ["control", "oob"],
        expires_at: EXPIRES,
      },
    })
  })

  test("of a fork names the fork", () => {
    expect(form(about("question"), "kilocode").data.prompt).toBe("kilocode asks 2 questions")
    expect(options(permission(EDIT, about("reply"), "kilocode")).map(({ id }) => id)).toEqual([
      ...["once", "always", "reject"],
    ])
  })
})

describe("respond_via", () => {
  test.each([
    ["reply", ["control", "oob"], ["oob"]],
    ["legacy", ["control", "oob"], ["oob"]],
    ["hook", ["control"], []],
  ] as const)("by way of %s names what is open", (way, answerable, not) => {
    expect(permission(LEGACY, about(way)).data.respond_via).toEqual(answerable)
    expect(permission(LEGACY, about(way, { isAnswerable: false })).data.respond_via).toEqual(not)
  })

  test("of a question that no command can be brought to is the dialog's alone", () => {
    expect(form(about("question", { isAnswerable: false })).data.respond_via).toEqual(["oob"])
  })
})

describe("what always covers", () => {
  const always = (patterns: unknown, member = "always") =>
    labelOf(permission({ id: "per_1", permission: "bash", [member]: patterns }, about("reply")), "always")

  test("is read in both spellings", () => {
    expect(always(["git *", "ls *"])).toBe("Always allow until the agent restarts: git *, ls *")
    expect(always(["git *"], "save")).toBe("Always allow until the agent restarts: git *")
  })

  test.each([[undefined], [[]], [{}], [[7, null]]])("is not said where it is %j", (patterns) => {
    expect(always(patterns)).toBe("Always allow")
  })

  test("is cut between words at 160 characters, and said to be", () => {
    const start = "Always allow until the agent restarts: "
    const long = "x".repeat(155)
    expect(always([`${long} abcd`])).toBe(`${start}${long} abcd`)
    expect(always([`${long} abcd efgh`])).toBe(`${start}${long} abcd …`)
    expect(always([`${long} abcde`])).toBe(`${start}${long} …`)
    expect(always(["x".repeat(161)])).toBe(`${start}…`)
  })

  test("is never cut within a secret, of which half has no form by which it would be known", () => {
    const command = `${"x".repeat(140)} --key ghp_0123456789abcdefghijABCDEFGHIJ012345 *`
    const draft = permission({ id: "per_1", permission: "bash", always: [command] }, about("reply"))
    expect(JSON.stringify(told(draft, "redacted"))).not.toContain("ghp_")
  })

  test("is never cut within a character: a half one is no text that every reader takes", () => {
    expect(always([`${"x".repeat(150)} ${"x".repeat(8)}😀😀`]).isWellFormed()).toBe(true)
  })
})

describe("the tool", () => {
  test("stands in prompt and context where the rule does not name it", () => {
    const { data } = permission(EDIT, about("reply", { tool: "write" }))
    expect(data.prompt).toBe("Permission requested: edit — /home/dev/src/a.ts (tool: write)")
    expect(data.context).toMatchObject({ tool: "write" })
  })

  test("is not said twice", () => {
    expect(permission(EDIT, about("reply", { tool: "edit" })).data.prompt).not.toContain("(tool")
  })
})

describe("what the plugin had to cut", () => {
  const cutOf = (cut: string[] | undefined) =>
    (permission(EDIT, about("reply", { cut })).data.context as Json).cut

  test("of the ask's own content is named, from the event and from the hook", () => {
    expect(cutOf(["event.properties.metadata.diff", "permission.metadata.files.0.patch"])).toEqual([
      "diff",
      "files.0.patch",
    ])
  })

  test("elsewhere is not named, nor is nothing", () => {
    expect(cutOf(["event.properties.metadataX.diff", "output.metadata.diff"])).toBeUndefined()
    expect(cutOf(undefined)).toBeUndefined()
  })
})

describe("under a ceiling", () => {
  const hidden = ["src/a.ts", DIFF, "/home/dev", "Always allow", "Reject"]
  const edit = permission(EDIT, about("reply", { tool: "write" }))

  test("none tells nothing", () => {
    expect(told(edit, "none")).toEqual({ capture: "none" })
    expect(told(form(), "none")).toEqual({ capture: "none" })
  })

  test("metadata tells what can be chosen and until when, and no word of the agent's", () => {
    const gated = told(edit, "metadata")
    expect(gated).toEqual({
      capture: "metadata",
      data: {
        kind: "permission",
        prompt: "opencode requests permission: edit",
        options: [
          { id: "once", label: "once" },
          { id: "always", label: "always" },
          { id: "reject", label: "reject" },
        ],
        respond_via: ["control", "oob"],
        expires_at: EXPIRES,
      },
    })
    for (const text of hidden) expect(JSON.stringify(gated)).not.toContain(text)
  })

  test("metadata numbers a question's fields and choices", () => {
    expect(told(form(), "metadata").data).toMatchObject({
      prompt: "opencode asks 2 questions",
      fields: [
        {
          ...{ id: "1", label: "1" },
          choices: [
            { id: "1", label: "1" },
            { id: "2", label: "2" },
          ],
        },
        { id: "2", label: "2", multi: true, other: false, choices: [{ id: "1", label: "1" }] },
      ],
      options: [{ id: "reject", label: "reject" }],
    })
  })

  test("redacted tells prompt and labels without home or secrets, and no context", () => {
    const secret = permission(
      {
        id: "per_1",
        permission: "bash",
        metadata: { command: "curl -H 'Authorization: Bearer abcdefghijklmnop1234' /home/dev/x" },
        always: ["API_TOKEN=abcdefghijkl9876 *"],
      },
      about("reply"),
    )
    const gated = told(secret, "redacted")
    expect(gated.capture).toBe("redacted")
    expect(gated.data?.prompt).toContain("~/x")
    expect(JSON.stringify(gated)).not.toMatch(/abcdefghijkl|context/)
    expect(gated.data?.options).toMatchObject([{ id: "once" }, { id: "always" }, { id: "reject" }])
  })

  test("redacted tells a question's own words", () => {
    expect(JSON.stringify(told(form(), "redacted"))).toContain("Colour: Which?")
  })

  test("full tells all of it as it is", () => {
    expect(told(edit, "full").data).toEqual(edit.data)
    expect(told(form(), "full").data).toEqual(form().data)
  })

  test.each([...CAPTURES].filter((level) => level !== "none"))(
    "%s keeps the ids that an answer names",
    (level) => {
      const idsIn = (data: Json | undefined) => JSON.stringify(data).match(/"id":"[^"]*"/g)
      expect(idsIn(told(form(), level).data)).toEqual(idsIn(form().data))
    },
  )
})
