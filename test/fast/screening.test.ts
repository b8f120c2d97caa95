/**
 * Holds `docs/screening.md` and the product together: whatever the service offers to a person was judged there, and whatever is
 * said to be supported is offered, taken, and goes down as exactly that. What is offered is taken from the service itself, over
 * every way in which the agents ask.
 */
import { afterEach, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { createEndpoint } from "../../service/endpoint.ts"
import { PROFILES } from "../../service/map/profile.ts"
import type { AepEvent } from "../../shared/aep.ts"
import type { Instance, MomentBody } from "../../shared/moments.ts"
import { Clock } from "../clock.ts"
import { bus, House, instanceOf } from "../house.ts"
import { posture } from "../posture.ts"

// --- the page ---

interface Row {
  affordance: string
  ways: string[]
  /** The cell that says what names it; words in code marks. */
  id: string
  named: string[]
  marks: string[]
  verdict: "supported" | "unsupported" | undefined
  /** Criteria that the verdict names, with a reason each. */
  because: number[]
}

const page = readFileSync(join(resolve(import.meta.dir, "../.."), "docs/screening.md"), "utf8")
const rows: Row[] = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| affordance"))
  .map((line) => {
    const [, affordance = "", ways = "", id = "", decision = "", information = "", ...rest] = line
      .split("|")
      .map((cell) => cell.trim())
    const [verdict = ""] = rest.slice(6)
    expect([decision, information]).not.toContain("")
    return {
      affordance,
      ways: ways.split(", "),
      id,
      named: [...id.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word),
      marks: rest.slice(0, 6),
      verdict: (["supported", "unsupported"] as const).find((word) => word === verdict.split(" (")[0]),
      because: [...verdict.matchAll(/[(\s](\d): \S/g)].map(([, digit]) => Number(digit)),
    }
  })

const isOffered = ({ verdict }: Row): boolean => verdict === "supported"
const options = rows.filter((row) => isOffered(row) && row.id.startsWith("option"))
const verbs = rows.filter(({ id }) => id.startsWith("verb"))

// --- the product ---

const S = "ses_1"
const ask = (id: string) => ({ id, sessionID: S, permission: "bash", patterns: ["x y"], always: ["x *"] })
const legacy = (id: string) => ({
  ...{ id, sessionID: S, type: "bash", pattern: ["x *"], title: "x y", callID: "c", metadata: {} },
})
const questions = [
  { question: "Which?", header: "Q", options: [{ label: "red" }, { label: "blue" }] },
  { question: "Which ones?", header: "M", multiple: true, options: [{ label: "red" }, { label: "blue" }] },
]
/** How the agents ask: at least one moment a way. */
const ASKS: readonly MomentBody[] = [
  bus("permission.asked", ask("per_1")),
  { kind: "permission.ask", permission: legacy("per_2"), held: true },
  bus("permission.updated", legacy("per_3")),
  bus("question.asked", { id: "que_1", sessionID: S, questions }),
]
const AGENTS = Object.values(PROFILES).map(({ agent }) => agent)

const houses: House[] = []
afterEach(() => {
  for (const house of houses.splice(0)) house.remove()
})

/** A service in which an agent asks in every way, and its requests by way. */
function asking(members: Partial<Instance> = {}): {
  house: House
  instance: Instance
  requests: Map<string, AepEvent>
} {
  const house = new House(new Clock(), undefined, posture("redacted"))
  houses.push(house)
  const instance = instanceOf("i-1", { answers: true, ...members })
  house.tell(instance, ...ASKS)
  const { namespace } = PROFILES[instance.agent] ?? { namespace: "" }
  const requests = new Map<string, AepEvent>()
  for (const event of house.events(S, instance.agent)) {
    if (event.type === "attention.requested") {
      requests.set(String((event as unknown as Record<string, unknown>)[`${namespace}way`]), event)
    }
  }
  return { house, instance, requests }
}

const listOf = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value : [])

/** Options as `way id`, from the requests of every agent. */
function offered(): Set<string> {
  const found = new Set<string>()
  for (const agent of AGENTS) {
    for (const [way, { data }] of asking({ agent }).requests) {
      for (const { id } of listOf(data?.options)) found.add(`${way} ${id}`)
    }
  }
  return found
}

/** The verbs that discovery, hello and roster promise for sessions of ours. */
function accepted(): unknown {
  const endpoint = createEndpoint({
    bounds: { auth: "all", buffer: 10, maxSessions: 10, maxFrom: 10 },
    maxFrameBytes: 1024,
    timers: new Clock().timers,
    history: [],
    take: () => undefined,
    isLogged: () => false,
    onAnswerable: () => undefined,
    onFault: () => undefined,
  })
  const { control } = endpoint.capabilities()
  endpoint.close("test over")
  return (control as Record<string, unknown>).accepts
}

let made = 0
/** A command, given to the service; what it said of it at once, and what then goes down to the plugin. */
async function send(
  { house, instance }: { house: House; instance: Instance },
  members: Record<string, unknown>,
): Promise<{ said: unknown[]; down: Record<string, unknown>[] }> {
  made += 1
  const event = {
    ...{ aep: "0.1", id: `C${made}`, time: "2026-12-01T00:00:00Z", source: "aep://phone/agent/phone" },
    ...{ agent: "phone", session: S, ...members },
  } as AepEvent
  const poll = () =>
    house.commands.downlink.poll(instance.id, `nonce-${made}-0123456789`, AbortSignal.abort())
  await poll()
  house.commands.control.take({ event, text: JSON.stringify(event) })
  const messages = await poll()
  return {
    said: house
      .events(S, instance.agent)
      .flatMap(({ type, cause, data }) => (cause === event.id ? [[type, data?.reason]] : [])),
    down: messages.flatMap(({ decision }) => {
      const read = JSON.parse(decision) as Record<string, unknown>
      // What the hook is told of its wait is no command's doing.
      return read.kind === "pending" || read.kind === "lapse" ? [] : [read]
    }),
  }
}

/** What an answer sends down, to a request of this way. */
async function answered(agent: string, way: string, answer: object): Promise<Record<string, unknown>[]> {
  const at = asking({ agent })
  const request = at.requests.get(way)
  const { down } = await send(at, {
    ...{ type: "control.attention.respond", subject: request?.id, data: { answer } },
  })
  return down
}

// --- both ---

test("every way in which the agents ask is looked at", () => {
  for (const agent of AGENTS)
    expect([...asking({ agent }).requests.keys()].sort()).toEqual(["hook", "legacy", "question", "reply"])
})

test("every option that is offered has its row, and every row an option that is offered, in its ways", () => {
  const judged = options.flatMap(({ ways, named: [id] }) => ways.map((way) => `${way} ${id}`))
  expect([...offered()].sort()).toEqual([...new Set(judged)].sort())
})

test("every verb that is accepted has its row, and every row a verb that is accepted", () => {
  const judged = new Set(verbs.filter(isOffered).map(({ named: [verb = ""] }) => verb))
  expect([...(accepted() as string[])].sort()).toEqual([...judged].sort())
})

test("fields say of several choices and own words what their rows say", () => {
  const members = new Set<string>()
  for (const field of listOf(asking().requests.get("question")?.data?.fields)) {
    for (const name of ["multi", "other", "required"]) if (field[name] === true) members.add(name)
  }
  expect([...members].sort()).toEqual(["multi", "other", "required"])
  for (const name of members) expect(page).toContain(`\`${name}\` on `)
})

test("what the control loop was to judge is there", () => {
  const named = [
    ...["allow this call", "allow always", "refuse", "refuse with a reason", "allow in the held hook (1.0)"],
    ...["refuse in the held hook (1.0)", "answer a question, several choices", "answer in own words"],
    ...["dismiss a question", "stop a run", "stop a session", "pause", "resume", "hold the hook (1.0)"],
    ...["asks of `opencode run` (1.18 on)"],
  ]
  expect(named.filter((name) => !rows.some(({ affordance }) => affordance === name))).toEqual([])
})

describe.each(rows.map((row) => [row.affordance, row] as const))("%s", (_, row) => {
  const failed = row.marks.flatMap((mark, at) => (mark === "-" ? [at + 1] : []))

  test("is judged on all six criteria, in ways that there are", () => {
    expect(row.marks.filter((mark) => mark === "+" || mark === "-")).toHaveLength(6)
    const known = ["reply", "legacy", "hook", "question", "command", "none"]
    expect(row.ways.filter((way) => !known.includes(way))).toEqual([])
  })

  test("has a verdict that names exactly the criteria that it fails, and why", () => {
    expect(row.because).toEqual(failed)
    if (failed.length === 0) expect(row.verdict).toBe("supported")
    else expect(row.verdict).toBe("unsupported")
  })
})

describe.each(options.map((row) => [row.affordance, row] as const))("%s goes down", (_, { named, ways }) => {
  const [option = "", extra] = named
  test.each(ways)("as what it is, by way of %s", async (way) => {
    for (const agent of AGENTS) {
      const [decision, ...more] = await answered(agent, way, {
        option,
        ...(extra === "text" ? { text: "use the target" } : {}),
      })
      expect(more).toEqual([])
      if (way === "question") expect(decision).toMatchObject({ kind: "dismiss" })
      else expect(decision?.reply ?? decision?.status).toBe(option)
      expect(decision?.message).toBe(extra === "text" ? "use the target" : undefined)
    }
  })
})

test("choices and own words go down as they were given", async () => {
  const [decision] = await answered("opencode", "question", { values: { 1: "2", 2: ["1", "my own"] } })
  expect(decision).toMatchObject({ kind: "answers", answers: [[2], [1, "my own"]] })
})

test("a question left out sends nothing down", async () => {
  expect(await answered("opencode", "question", { values: { 1: "2" } })).toEqual([])
})

test("words that no road carries go nowhere", async () => {
  for (const [way, option] of [
    ["legacy", "reject"],
    ["hook", "deny"],
    ["reply", "once"],
    ["legacy", "always"],
    ["hook", "allow"],
  ] as const) {
    const down = await answered("opencode", way, { option, text: "carry-me" })
    expect(down).toHaveLength(1)
    expect(JSON.stringify(down)).not.toContain("carry-me")
  }
})

test.each(verbs.map((row) => [row.affordance, row] as const))("the verb to %s", async (_, row) => {
  const [type = "", scope] = row.named
  const at = asking()
  // A run to be stopped.
  at.house.tell(at.instance, {
    kind: "chat.message",
    input: { sessionID: S },
    output: { message: { id: "msg_1", sessionID: S, role: "user" }, parts: [] },
  })
  const { said, down } = await send(at, {
    ...(type === "control.cancel"
      ? { type, data: { scope } }
      : { type, data: { answer: { option: "once" } }, subject: at.requests.get("reply")?.id }),
  })
  if (isOffered(row)) {
    expect(said).toEqual([])
    expect(down).toHaveLength(1)
  } else {
    expect(said).toEqual([["control.rejected", scope === undefined ? "unsupported" : "refused"]])
    expect(down).toEqual([])
  }
})

test("respond_via says of the held hook and of the agent's run what their rows say", () => {
  const { requests } = asking()
  expect(requests.get("hook")?.data?.respond_via).toEqual(["control"])
  expect(asking({ mode: "run" }).requests.get("reply")?.data?.respond_via).toEqual(["oob"])
})

describe("what an option covers stands in its label", () => {
  const label = (way: string, option: string): unknown =>
    listOf(asking().requests.get(way)?.data?.options).find(({ id }) => id === option)?.label

  test("of always", () => {
    expect(label("reply", "always")).toContain("x *")
  })

  test("of a refusal that takes others along, and of one that does not", () => {
    expect(label("reply", "reject")).toContain("other asks")
    expect(label("legacy", "reject")).not.toContain("other asks")
  })

  // 1.0 remembers the ask's `pattern` (recording 1.0.185-permission-always: a second call of the pattern is not asked for).
  test("of always on 1.0", () => {
    expect(label("legacy", "always")).toContain("x *")
  })
})
