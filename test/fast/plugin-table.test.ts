/** What the plugin's table lets out of the agent, row by row, on small moments. */
import { describe, expect, test } from "bun:test"
import { createMemory } from "../../plugin/src/memory.ts"
import { isNoise, planeOf, trimMoment } from "../../plugin/src/table.ts"
import { busEvent, idle, toolInput, toolPart } from "./plugin-fixtures.ts"

const fresh = () => createMemory(false)

function properties(event: unknown, memory = fresh()): unknown {
  const moment = trimMoment("event", event, undefined, memory)
  return moment?.kind === "bus" ? moment.event.properties : undefined
}

describe("dropped bus types", () => {
  const dropped = [
    "message.part.delta",
    "plugin.added",
    "catalog.updated",
    "reference.updated",
    "integration.updated",
    "session.diff",
  ]
  test.each(dropped)("%s stays in the agent", (type) => {
    expect(trimMoment("event", busEvent(type, { sessionID: "s" }), undefined, fresh())).toBeUndefined()
    expect(isNoise("event", busEvent(type, {}), fresh())).toBe(true)
  })

  test.each(dropped)("%s goes up whole when the stream is switched on", (type) => {
    const memory = createMemory(true)
    expect(properties(busEvent(type, { delta: "x" }), memory)).toEqual({ delta: "x" })
    expect(isNoise("event", busEvent(type, {}), memory)).toBe(false)
    expect(planeOf("event", busEvent(type, {}))).toBe("stream")
  })
})

describe("message parts", () => {
  const partEvent = (part: Record<string, unknown>) => busEvent("message.part.updated", { part })
  const ids = { id: "prt_1", messageID: "msg_1", sessionID: "ses_1" }

  test.each(["step-start", "step-finish", "snapshot", "patch", "reasoning", "text"])(
    "a %s part stays in the agent",
    (type) => {
      expect(properties(partEvent({ type, ...ids, text: "secret" }))).toBeUndefined()
    },
  )

  test("a synthetic text part is marked and loses its text", () => {
    const part = { type: "text", ...ids, synthetic: true, text: "Continue" }
    expect(properties(partEvent(part))).toEqual({ part: { type: "text", ...ids, synthetic: true } })
  })

  test("a compaction part is whole", () => {
    const part = { type: "compaction", ...ids, auto: true }
    expect(properties(partEvent(part))).toEqual({ part })
  })

  test("a file part loses its content", () => {
    const part = {
      type: "file",
      ...ids,
      mime: "image/png",
      filename: "a.png",
      url: "data:image/png;base64,AA",
    }
    expect(properties(partEvent(part))).toEqual({
      part: { type: "file", ...ids, mime: "image/png", filename: "a.png" },
    })
  })

  test("a part of an unknown type is whole", () => {
    const part = { type: "retry", ...ids, attempt: 1 }
    expect(properties(partEvent(part))).toEqual({ part })
  })

  test("the growing text of OpenCode 1.0 goes up whole when the stream is switched on", () => {
    const event = busEvent("message.part.updated", { part: { type: "text", ...ids, text: "ab" }, delta: "b" })
    expect(properties(event, createMemory(true))).toEqual(event.properties)
    expect(planeOf("event", event)).toBe("stream")
  })
})

describe("tool parts", () => {
  test("a pending call stays in the agent", () => {
    expect(properties(toolPart({ status: "pending", input: {}, raw: "" }))).toBeUndefined()
  })

  test("a running call is told once and without its output", () => {
    const memory = fresh()
    const running = (output: string) =>
      toolPart({
        status: "running",
        input: { command: "ls" },
        time: { start: 1 },
        metadata: { output, description: "list" },
      })
    expect(properties(running("a"), memory)).toEqual({
      sessionID: "ses_1",
      time: 1,
      part: {
        ...(running("").properties.part as object),
        state: {
          status: "running",
          input: { command: "ls" },
          time: { start: 1 },
          metadata: { description: "list" },
        },
      },
    })
    expect(properties(running("ab"), memory)).toBeUndefined()
    expect(properties(running("abc"), memory)).toBeUndefined()
  })

  test("a running call is told again when its input is filled and when its sub-agent appears", () => {
    const memory = fresh()
    const input = { prompt: "x" }
    const child = { sessionId: "ses_child" }
    const told = [
      toolPart({ status: "running", input: {} }),
      toolPart({ status: "running", input }),
      toolPart({ status: "running", input }),
      toolPart({ status: "running", input, metadata: child }),
      toolPart({ status: "running", input, metadata: { ...child, summary: [1] } }),
    ].map((event) => properties(event, memory) !== undefined)
    expect(told).toEqual([true, true, false, true, false])
  })

  test("two calls with the same call id are told apart by their parts", () => {
    const memory = fresh()
    const state = { status: "running", input: { a: 1 } }
    expect(properties(toolPart(state, "prt_1"), memory)).toBeDefined()
    expect(properties(toolPart(state, "prt_2"), memory)).toBeDefined()
  })

  test("a completed call loses its output, which the after hook carries, and most metadata", () => {
    const state = {
      status: "completed",
      input: { command: "ls" },
      output: "secret",
      title: "ls",
      time: { start: 1, end: 2 },
      attachments: [{ url: "data:" }],
      metadata: { exit: 0, truncated: false, sessionId: "ses_c", output: "secret", diff: "d" },
    }
    expect(properties(toolPart(state))).toMatchObject({
      part: {
        state: {
          status: "completed",
          input: { command: "ls" },
          title: "ls",
          time: { start: 1, end: 2 },
          metadata: { exit: 0, truncated: false, sessionId: "ses_c" },
        },
      },
    })
    expect(JSON.stringify(properties(toolPart(state)))).not.toMatch(/secret|data:|diff/)
  })

  test("a failed call is whole and its error text bounded", () => {
    const state = { status: "error", input: { a: 1 }, error: "no", metadata: { interrupted: true } }
    expect(properties(toolPart(state))).toMatchObject({ part: { state } })
    const long = trimMoment("event", toolPart({ ...state, error: "e".repeat(9000) }), undefined, fresh())
    expect(long?.cut).toEqual(["event.properties.part.state.error"])
    expect(JSON.stringify(long).length).toBeLessThan(8700)
  })
})

describe("messages", () => {
  test("a user message keeps that it was summarised, never the diffs", () => {
    const info = { id: "m", role: "user", sessionID: "s", time: { created: 1 }, agent: "build", model: {} }
    const event = busEvent("message.updated", {
      info: { ...info, summary: { diffs: ["secret"] }, tools: {} },
    })
    expect(properties(event)).toEqual({ info: { ...info, summarised: true } })
    expect(properties(busEvent("message.updated", { info }))).toEqual({ info })
  })

  test("an assistant message keeps a summary that is true and its error without the response", () => {
    const info = { id: "m", parentID: "u", role: "assistant", mode: "build", cost: 0, tokens: { input: 1 } }
    const error = {
      name: "APIError",
      data: {
        message: "no",
        statusCode: 401,
        isRetryable: false,
        responseBody: "secret",
        responseHeaders: {},
      },
    }
    const event = busEvent("message.updated", {
      sessionID: "s",
      info: { ...info, path: { cwd: "/p" }, summary: true, finish: "stop", error },
    })
    expect(properties(event)).toEqual({
      sessionID: "s",
      info: {
        ...info,
        finish: "stop",
        summary: true,
        error: { name: "APIError", data: { message: "no", statusCode: 401, isRetryable: false } },
      },
    })
  })
})

describe("sessions", () => {
  test.each(["session.created", "session.updated", "session.deleted"])("%s keeps who and where", (type) => {
    const kept = {
      id: "s",
      version: "1.18.33",
      parentID: "p",
      directory: "/d",
      title: "t",
      time: { created: 1 },
      projectID: "prj",
    }
    const extra = { summary: { diffs: ["x"] }, revert: {}, permission: [], slug: "a-b", cost: 1 }
    expect(properties(busEvent(type, { sessionID: "s", info: { ...kept, ...extra } }))).toEqual({
      sessionID: "s",
      info: kept,
    })
  })

  test("a status is told when it changes, and each attempt of a retry", () => {
    const memory = fresh()
    const statusOf = (sessionID: string, status: object) => busEvent("session.status", { sessionID, status })
    const retry = (attempt: number) => statusOf("a", { type: "retry", attempt, message: "m", next: 1 })
    const told = [
      statusOf("a", { type: "busy" }),
      statusOf("a", { type: "busy" }),
      statusOf("b", { type: "busy" }),
      retry(1),
      retry(1),
      retry(2),
      statusOf("a", { type: "busy" }),
      statusOf("a", { type: "idle" }),
      statusOf("a", { type: "idle" }),
    ].map((event) => properties(event, memory) !== undefined)
    expect(told).toEqual([true, false, true, true, false, true, true, true, false])
  })

  test("an error keeps name, message and status, not the response", () => {
    const data = { message: "m", statusCode: 500, isRetryable: true }
    const error = { name: "APIError", data: { ...data, responseBody: "secret", metadata: { url: "u" } } }
    expect(properties(busEvent("session.error", { sessionID: "s", error }))).toEqual({
      sessionID: "s",
      error: { name: "APIError", data },
    })
  })

  test("an error without data and without session is told", () => {
    expect(properties(busEvent("session.error", {}))).toEqual({ error: { data: {} } })
  })
})

describe("asks", () => {
  const asked = (metadata: unknown) => ({
    id: "per_1",
    sessionID: "s",
    permission: "edit",
    patterns: ["a.txt"],
    always: ["*"],
    metadata,
    tool: { messageID: "m", callID: "c" },
  })

  test.each(["permission.asked", "permission.updated", "permission.v2.asked"])(
    "%s is whole, each metadata string bounded and every key kept",
    (type) => {
      const diff = "d".repeat(5000)
      const event = busEvent(type, asked({ filepath: "/a", diff, filediff: { patch: diff, additions: 1 } }))
      const moment = trimMoment("event", event, undefined, fresh())
      const told = moment?.kind === "bus" ? moment.event.properties : {}
      expect(told).toMatchObject({ id: "per_1", patterns: ["a.txt"], always: ["*"] })
      expect(Object.keys(told.metadata as object)).toEqual(["filepath", "diff", "filediff"])
      expect(moment?.cut).toEqual([
        "event.properties.metadata.diff",
        "event.properties.metadata.filediff.patch",
      ])
      expect(JSON.stringify(told).length).toBeLessThan(9000)
      expect(event.properties.metadata).toEqual({
        filepath: "/a",
        diff,
        filediff: { patch: diff, additions: 1 },
      })
    },
  )

  test("a small ask is passed as it is", () => {
    const event = busEvent("permission.asked", asked({ command: "rm -rf build", path: undefined }))
    expect(properties(event)).toBe(event.properties)
  })

  test("the ask of the 1.0 hook is forwarded with its metadata bounded", () => {
    const moment = trimMoment(
      "permission.ask",
      { id: "per_1", type: "write", metadata: { content: "c".repeat(5000) } },
      { status: "ask" },
      fresh(),
    )
    expect(moment).toMatchObject({ kind: "permission.ask", permission: { id: "per_1", type: "write" } })
    expect(moment?.cut).toEqual(["permission.metadata.content"])
  })
})

describe("whole moments", () => {
  const types = [
    "question.asked",
    "question.replied",
    "todo.updated",
    "command.executed",
    "vcs.branch.updated",
  ]
  test.each([...types, "session.next.step", "x"])("%s keeps its properties", (type) => {
    const event = busEvent(type, { sessionID: "s", any: [{ thing: 1 }] })
    expect(trimMoment("event", event, undefined, fresh())).toEqual({ kind: "bus", event })
  })

  test("an event of OpenCode 1.0 has no id and gets none", () => {
    const event = { type: "session.idle", properties: { sessionID: "s" } }
    expect(trimMoment("event", event, undefined, fresh())).toEqual({ kind: "bus", event })
  })

  test("tool hooks and the prompt are passed as they are", () => {
    const before = trimMoment("tool.execute.before", toolInput(), { args: { command: "ls" } }, fresh())
    expect(before).toEqual({ kind: "tool.before", input: toolInput(), output: { args: { command: "ls" } } })
    const after = trimMoment("tool.execute.after", toolInput(), { output: "o" }, fresh())
    expect(after).toEqual({ kind: "tool.after", input: toolInput(), output: { output: "o" } })
    const prompt = trimMoment("chat.message", { sessionID: "s" }, { parts: [] }, fresh())
    expect(prompt).toEqual({ kind: "chat.message", input: { sessionID: "s" }, output: { parts: [] } })
  })
})

describe("malformed input", () => {
  test.each([[undefined], [null], [7], ["x"], [[]], [{}], [{ type: 7 }]])(
    "an event that is %p gives nothing",
    (event) => {
      expect(trimMoment("event", event, undefined, fresh())).toBeUndefined()
    },
  )

  test("an event whose properties are no object has empty ones", () => {
    const moment = trimMoment("event", { type: "session.idle", properties: "x" }, undefined, fresh())
    expect(moment).toEqual({ kind: "bus", event: { type: "session.idle", properties: {} } })
  })

  test("a tool hook without ids gives nothing", () => {
    expect(trimMoment("tool.execute.before", { tool: "bash" }, {}, fresh())).toBeUndefined()
  })
})

test("what decides a session's state is not of the stream plane", () => {
  expect(planeOf("event", idle())).toBe("state")
  expect(planeOf("event", toolPart({ status: "error" }))).toBe("state")
  expect(planeOf("tool.execute.before", toolInput())).toBe("state")
  expect(planeOf("event", busEvent("file.watcher.updated", {}))).toBe("stream")
  expect(planeOf("event", busEvent("never.heard.of", {}))).toBe("stream")
})

test("trimming is told nothing by a frozen event and changes nothing", () => {
  const freeze = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  const events = [
    toolPart({ status: "error", error: "e".repeat(9000) }),
    busEvent("permission.asked", { metadata: { diff: "d".repeat(5000) } }),
    busEvent("message.updated", { info: { role: "user", summary: { diffs: [] } } }),
  ]
  events.forEach(freeze)
  expect(events.map((event) => trimMoment("event", event, undefined, fresh())?.kind)).toEqual([
    "bus",
    "bus",
    "bus",
  ])
})
