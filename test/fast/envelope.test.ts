/** The envelope builder, attribute by attribute: what is taken, left out, and refused with which code. */
import { describe, expect, test } from "bun:test"
import * as v from "valibot"
import {
  agentSource,
  buildEnvelope,
  type EnvelopeParts,
  type RefusalCode,
  sessionSource,
} from "../../service/emit/envelope.ts"
import { CAPTURES, CORE_ATTRIBUTES, envelopeSchema, SEVERITIES } from "../../shared/aep.ts"
import { officialData, validateOfficial } from "../official.ts"

const official = officialData()
const TIME = Date.UTC(2026, 6, 3, 10, 15, 4, 221)

const parts: EnvelopeParts = {
  id: "01JX9YB0AAAA0000000000TEST",
  type: "tool.completed",
  time: TIME,
  source: "aep://host/agent/opencode/session/ses_1",
  agent: "opencode",
  session: "ses_1",
  seq: 0,
  capture: "metadata",
}
const whole: EnvelopeParts = {
  ...parts,
  subject: "bash",
  run: "r1",
  step: "p1",
  epoch: 2,
  cause: "01JX9YB0AAAA0000000000CAUS",
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  severity: "notice",
  data: { tool: { name: "bash" } },
  extensions: { opencodeinstance: "i1", opencodemoment: 7, opencodelate: false },
}
const { session: _session, seq: _seq, ...bare } = parts
const presence: EnvelopeParts = { ...bare, type: "agent.presence", source: "aep://host/agent/opencode" }
const command: EnvelopeParts = { ...bare, type: "control.cancel", session: "ses_1" }

function built(given: EnvelopeParts) {
  const result = buildEnvelope(given)
  if (result.kind === "refused") throw new Error(`refused ${result.field}: ${result.detail}`)
  expect(JSON.parse(result.line)).toEqual(JSON.parse(JSON.stringify(result.event)))
  expect(v.is(envelopeSchema, result.event)).toBe(true)
  if (official.kind === "present") expect(validateOfficial(JSON.parse(result.line))).toEqual([])
  return result
}

/** Parts as a caller without types could give them. */
const odd = (base: EnvelopeParts, change: Record<string, unknown>) =>
  ({ ...base, ...change }) as EnvelopeParts

function refused(given: EnvelopeParts): [RefusalCode, string] {
  const result = buildEnvelope(given)
  if (result.kind === "built") throw new Error(`built ${result.line}`)
  expect(result.detail).not.toBe("")
  return [result.code, result.field]
}

describe("attributes of a built event", () => {
  test("stand in the order of the specification's table, extensions before data", () => {
    const core = CORE_ATTRIBUTES.filter((name) => name !== "data")
    expect(Object.keys(JSON.parse(built(whole).line))).toEqual([
      ...core,
      "opencodeinstance",
      "opencodemoment",
      "opencodelate",
      "data",
    ])
  })

  test("are left out when absent, and epoch, severity and capture are always written", () => {
    expect(built(parts).line).toBe(
      '{"aep":"0.1","id":"01JX9YB0AAAA0000000000TEST","type":"tool.completed",' +
        '"time":"2026-07-03T10:15:04.221Z","source":"aep://host/agent/opencode/session/ses_1",' +
        '"agent":"opencode","session":"ses_1","seq":0,"epoch":0,"severity":"info","capture":"metadata"}',
    )
  })

  test("keep their values, seq 0 and epoch 0 too", () => {
    const { extensions, ...attributes } = whole
    const expected = { aep: "0.1", ...attributes, ...extensions, time: "2026-07-03T10:15:04.221Z" }
    expect(built(whole).event as unknown).toEqual(expected)
    expect(built({ ...parts, epoch: 0 }).event).toMatchObject({ seq: 0, epoch: 0 })
  })

  test("an empty payload stays, an absent one is left out", () => {
    expect(built(odd(parts, { type: "run.finished", data: {} })).event.data).toEqual({})
    expect("data" in built(parts).event).toBe(false)
  })

  test("severity is the type's own unless the draft said otherwise", () => {
    expect(built({ ...parts, type: "run.failed" }).event.severity).toBe("error")
    expect(built({ ...parts, type: "run.failed", severity: "debug" }).event.severity).toBe("debug")
  })

  test.each([...SEVERITIES])("severity %s is taken", (severity) => {
    expect(built({ ...parts, severity }).event.severity).toBe(severity)
  })

  test.each([...CAPTURES])("capture %s is taken", (capture) => {
    expect(built({ ...parts, capture }).event.capture).toBe(capture)
  })

  test.each([
    [0, "1970-01-01T00:00:00.000Z"],
    [TIME + 0.7, "2026-07-03T10:15:04.221Z"],
    [253_402_300_799_999, "9999-12-31T23:59:59.999Z"],
  ])("time %d is written as %s", (time, text) => {
    expect(built({ ...parts, time }).event.time).toBe(text)
  })

  test("an agent-scoped event and a command are built without what they must omit", () => {
    expect(built(presence).event).not.toContainAnyKeys(["session", "run", "step", "seq"])
    expect(built({ ...command, run: "r1" }).event).toMatchObject({ session: "ses_1", run: "r1" })
    expect(built({ ...command, type: "attention.routed" }).event).not.toContainKey("seq")
    expect(built({ ...parts, type: "x.opencode.file.edited" }).event.severity).toBe("debug")
  })
})

describe("a refused attribute", () => {
  const texts = ["id", "source", "agent"]
  test.each(texts)("%s is missing when absent, ill-formed when empty, null or no text", (field) => {
    expect(refused(odd(parts, { [field]: undefined }))).toEqual(["missing", field])
    for (const value of ["", null, 7, {}])
      expect(refused(odd(parts, { [field]: value }))).toEqual(["ill-formed", field])
  })

  test.each(["subject", "session", "run", "step", "cause"])(
    "%s is ill-formed when empty, null or no text",
    (field) => {
      for (const value of ["", null, 7, {}])
        expect(refused(odd(parts, { [field]: value }))).toEqual(["ill-formed", field])
    },
  )

  test.each(["seq", "epoch"])("%s is ill-formed unless a whole number from 0 on", (field) => {
    for (const value of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "1", null]) {
      expect(refused(odd(parts, { [field]: value }))).toEqual(["ill-formed", field])
    }
  })

  test("time is ill-formed when it is no moment with a four-digit year", () => {
    for (const time of [
      -1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      253_402_300_800_000,
      "2026-07-03T10:15:04Z",
      undefined,
    ]) {
      expect(refused(odd(parts, { time }))).toEqual(["ill-formed", "time"])
    }
  })

  test.each([
    ["source", ["relative/path", "aep:// space", "aep://h/%2", "aep://h/\n", "aep://h/é"]],
    [
      "traceparent",
      ["", "not-a-traceparent", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", null],
    ],
    ["severity", ["fatal", "", null, "Info"]],
    ["capture", ["all", "", null, undefined]],
    ["data", ["text", 7, [], null]],
    [
      "type",
      ["tool", "tool.Completed", "x.acme.foo", "x.opencode.models-dev.refreshed", "", null, undefined, 7],
    ],
  ])("%s is ill-formed when it is none", (field, values) => {
    for (const value of values) expect(refused(odd(parts, { [field]: value }))).toEqual(["ill-formed", field])
  })

  test("a core type that is unknown or reserved is unregistered", () => {
    expect(refused({ ...parts, type: "tool.whatever" })).toEqual(["unregistered", "type"])
    expect(refused({ ...parts, type: "message.user.submitted" })).toEqual(["unregistered", "type"])
  })

  test("session and seq are missing on a session's own event, vendor types included", () => {
    for (const type of ["tool.completed", "control.accepted", "x.opencode.file.edited"]) {
      expect(refused({ ...bare, type, seq: 0 })).toEqual(["missing", "session"])
      expect(refused({ ...bare, type, session: "s" })).toEqual(["missing", "seq"])
    }
  })

  test("seq is forbidden, and session needed, on an event sent into another's session", () => {
    for (const type of [
      "control.attention.respond",
      "control.pause",
      "attention.routed",
      "x.acme.control.stop",
    ]) {
      expect(refused({ ...parts, type })).toEqual(["forbidden", "seq"])
      expect(refused({ ...bare, type })).toEqual(["missing", "session"])
    }
  })

  test.each(["session", "run", "step"])("%s is forbidden on an agent-scoped event", (field) => {
    expect(refused(odd(presence, { [field]: "x" }))).toEqual(["forbidden", field])
  })

  test("seq is forbidden on an agent-scoped event, even 0", () => {
    expect(refused({ ...presence, seq: 0 })).toEqual(["forbidden", "seq"])
  })

  test("data is forbidden at capture none, even empty", () => {
    expect(refused({ ...parts, capture: "none", data: {} })).toEqual(["forbidden", "data"])
  })

  test("data that is no JSON is unserialisable", () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    expect(refused({ ...parts, data: cycle })).toEqual(["unserialisable", "data"])
    expect(refused({ ...parts, data: { big: 1n } })).toEqual(["unserialisable", "data"])
  })

  test("a refusal repeats no value", () => {
    for (const field of ["source", "type", "traceparent", "severity", "subject", "data"]) {
      const result = buildEnvelope(odd(parts, { [field]: ["secret"], extensions: { ok: 1 } }))
      expect(result.kind).toBe("refused")
      expect(JSON.stringify(result)).not.toContain("secret")
    }
  })
})

describe("extension attributes", () => {
  test.each(CORE_ATTRIBUTES)("%s is a collision, never overwritten", (name) => {
    expect(refused({ ...parts, extensions: { [name]: "x" } })).toEqual(["collision", name])
  })

  test.each(["", "acme_ext", "Acme", "a.b", "a b", "__proto__", "a23456789012345678901"])(
    "the name %j is ill-formed",
    (name) => {
      const extensions = JSON.parse(`{${JSON.stringify(name)}: "x"}`)
      expect(refused({ ...parts, extensions })[0]).toBe("ill-formed")
    },
  )

  test("a value that is null, an object, a list, a fraction or undefined is ill-formed", () => {
    for (const value of [null, {}, [], 1.5, Number.NaN, undefined]) {
      expect(refused(odd(parts, { extensions: { acme: value } }))).toEqual(["ill-formed", "acme"])
    }
  })

  test("texts, integers and booleans are taken under any legal name", () => {
    const extensions = { a: "", constructor: "c", "42": -1, tostring: false, a2345678901234567890: "long" }
    expect(built({ ...parts, extensions }).event).toMatchObject(extensions)
  })

  test("no extensions and an empty record build the same line", () => {
    expect(built({ ...parts, extensions: {} }).line).toBe(built(parts).line)
  })
})

describe("the line", () => {
  const hostile = 'a\nb\r\u0085c\u2028d\u2029e\v\f\u001c\ud800\u0000"\\'

  test("stays one line for every reader, and means the same, whatever the content", () => {
    const given = {
      ...parts,
      subject: hostile,
      session: hostile,
      run: hostile,
      extensions: { acme: hostile },
      data: { tool: { name: hostile }, [hostile]: [hostile] },
    }
    const { line, event } = built(given)
    const breaks = ["\n", "\r", "\v", "\f", "\u001c", "\u001d", "\u001e", "\u0085", "\u2028", "\u2029"]
    expect(breaks.filter((character) => line.includes(character))).toEqual([])
    expect(JSON.parse(line)).toEqual(event)
    expect(Buffer.from(line, "utf8").toString("utf8")).toBe(line)
  })
})

describe("sources", () => {
  test("name host, agent and session", () => {
    expect(sessionSource("host-a", "opencode", "ses_1")).toBe("aep://host-a/agent/opencode/session/ses_1")
    expect(agentSource("host-a", "opencode")).toBe("aep://host-a/agent/opencode")
  })

  test.each(["a/b", "a b", "ä%2F", "..", "?x#y", "a\nb", "\ud800", "[::1]:80", "'\"<>", ""])(
    "escape %j so that it stays one segment of a URI",
    (text) => {
      const source = sessionSource(text === "" ? "h" : text, "opencode", text)
      expect(source.split("/").length).toBe(7)
      expect(built({ ...parts, source }).event.source).toBe(source)
      expect(source.endsWith(`/${encodeURIComponent(text.toWellFormed())}`)).toBe(true)
    },
  )
})
