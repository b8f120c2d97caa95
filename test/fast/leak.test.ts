/**
 * Nothing above the ceiling reaches any sink (AEP-0003 §9): the real service as a process, fed with planted secrets in every
 * place of every moment, at every ceiling. Looked through as raw bytes: each file in its home, the database with its
 * side files while it runs and after its end, every answer of its doors (streams and metrics too), and what it prints.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import type { MomentBatch } from "../../shared/moments.ts"
import { waitFor } from "../agent/wait.ts"
import { type Home, openHome, startService } from "../crash/service.ts"
import { instanceOf } from "../house.ts"
import { suitePort } from "../ports.ts"
import {
  BY_NAME,
  CANARY,
  HOME,
  MALFORMED,
  MOMENTS,
  NAMED,
  REFUSED,
  SECRET_NEEDLES,
  SECRETS,
  SESSION,
} from "./leak-plants.ts"

const KEY = "leak-suite-key-0123456789"
const TOKEN = "leak-suite-token-0123456789"
const CREDENTIAL = createHmac("sha256", KEY).update("door/1").digest("hex")
const INSTANCE = instanceOf("i-leak", { directory: `${HOME}/${CANARY.text}`, version: "1.18.33" })

/** Everything that left the service, by where it was found. */
interface Sinks {
  /** Raw bytes as latin1, so that any needle of ASCII is found whatever lies around it. */
  running: Map<string, string>
  stopped: Map<string, string>
  /** The stream at the ceiling `metadata` among them. */
  answers: string[]
  /** The stream without a ceiling of its own, which may hold what the log holds. */
  streamed: string
  printed: string
  rejected: number
}

const homes: Home[] = []
afterAll(() => {
  for (const home of homes.splice(0)) home.remove()
})

async function record(env: Record<string, string>): Promise<Sinks> {
  const home = openHome()
  homes.push(home)
  const service = await startService(home.path, suitePort("fast", 9), {
    HOME,
    AEP_OPENCODE_KEY: KEY,
    AEP_TOKEN: TOKEN,
    AEP_REDACT_NAMES: NAMED.name,
    [NAMED.name]: NAMED.value,
    ...env,
  })
  const answers: string[] = []
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(`${service.url}${path}`, init)
    answers.push(JSON.stringify([...response.headers]), await response.clone().text())
    return response
  }
  const post = (body: unknown) =>
    ask("/opencode/moments", {
      method: "POST",
      headers: { authorization: `Bearer ${CREDENTIAL}`, "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    })

  const at = Date.now()
  const batch: MomentBatch = {
    instance: INSTANCE,
    first: 0,
    dropped: { [CANARY.text.slice(0, 500)]: 2, ...dropped() },
    moments: MOMENTS.map((body, n) => ({ ...body, n, at: at + n })),
  }
  const told = (await (await post(batch)).json()) as { rejected: unknown[] }
  for (const body of MALFORMED) await post(body)
  await post({ instance: INSTANCE, first: MOMENTS.length, moments: REFUSED })
  for (const path of ["/healthz", "/metrics", "/events", `/${encodeURIComponent(CANARY.text)}`]) {
    await ask(path, { headers: { authorization: `Bearer ${TOKEN}` } })
  }
  const stream = async (query: string): Promise<string> => {
    const url = `${service.url}/stream?live=0&from=all${query}`
    return (await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } })).text()
  }
  const streamed = await stream("")
  if (!streamed.includes(`"session":"${SESSION}"`)) throw new Error("nothing was streamed")
  answers.push(await stream("&capture=metadata"))

  await waitFor("saved state", 5_000, () => hasSaved(home.path))
  const running = filesOf(home.path)
  await service.end("SIGTERM")
  const printed = `${service.child.stdout()}\n${service.child.stderr()}`
  return { running, stopped: filesOf(home.path), answers, streamed, printed, rejected: told.rejected.length }
}

/** Kinds of dropped moments are counted by name; a name that is no identifier is not told. */
function dropped(): Record<string, number> {
  return Object.fromEntries(Object.values(SECRETS).map(({ text }) => [text, 1]))
}

/** The state of the session stands in the database, or still in what was written ahead of it. */
function hasSaved(home: string): boolean {
  return [...filesOf(home)].some(
    ([name, bytes]) => name.includes("opencode-aep.db") && bytes.includes(SESSION),
  )
}

function filesOf(home: string): Map<string, string> {
  const names = readdirSync(home, { recursive: true, encoding: "utf8" })
  const files = names.filter((name) => statSync(join(home, name)).isFile())
  return new Map(files.map((name) => [name, readFileSync(join(home, name), "latin1")]))
}

/** Where a needle was found, in each form that it may take on the way. */
function findAll(sinks: Sinks, needles: readonly string[]): string[] {
  const places: [string, string][] = [
    ...[...sinks.running].map(([name, bytes]): [string, string] => [`running ${name}`, bytes]),
    ...[...sinks.stopped].map(([name, bytes]): [string, string] => [`stopped ${name}`, bytes]),
    ...[...sinks.running.keys()].map((name): [string, string] => ["file name", name]),
    ...sinks.answers.map((text): [string, string] => ["answer", text]),
    [" logs/opencode/ as streamed", sinks.streamed],
    ["printed", sinks.printed],
  ]
  return places.flatMap(([place, text]) =>
    needles.flatMap((needle) =>
      formsOf(needle).some((form) => text.includes(form)) ? [`${needle} in ${place}`] : [],
    ),
  )
}

function formsOf(needle: string): string[] {
  return [
    needle,
    needle.toLowerCase(),
    encodeURIComponent(needle),
    JSON.stringify(needle).slice(1, -1),
    btoa(needle),
  ]
}

/** Lines of the session's log. */
function eventsOf(sinks: Sinks): { type: string; capture: string; data?: Record<string, unknown> }[] {
  const log = [...sinks.stopped].find(([name]) => name.endsWith(`${SESSION}.jsonl`))?.[1] ?? ""
  return Buffer.from(log, "latin1")
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
}

const TYPES = [
  ...["session.started", "run.started", "run.finished", "tool.requested", "tool.completed", "tool.failed"],
  ...["attention.requested", "attention.answered", "attention.resolved", "progress.task.planned"],
  ...["progress.status", "delegation.subagent.started", "session.ended", "x.opencode.session.error"],
]

function expectWhole(sinks: Sinks): void {
  expect(sinks.rejected).toBe(0)
  const types = new Set(eventsOf(sinks).map(({ type }) => type))
  expect(TYPES.filter((type) => type !== "delegation.subagent.started" && !types.has(type))).toEqual([])
  expect([...sinks.running.keys()].filter((name) => name.includes("opencode-aep.db")).length).toBeGreaterThan(
    1,
  )
}

describe("below full no secret stands in any sink", () => {
  test.each([
    ["nothing configured", {}],
    ["everything at none", { AEP_CAPTURE: "none" }],
    ["everything at metadata", { AEP_CAPTURE: "metadata" }],
    ["everything at redacted", { AEP_CAPTURE: "redacted" }],
  ])("with %s", async (_, env: Record<string, string>) => {
    const sinks = await record(env)
    if (env.AEP_CAPTURE !== "none") expectWhole(sinks)
    expect(findAll(sinks, SECRET_NEEDLES)).toEqual([])

    const holders = findAll(sinks, [CANARY.needle])
    const level = env.AEP_CAPTURE ?? "default"
    if (level === "none" || level === "metadata") expect(holders).toEqual([])
    else {
      // Content does flow at these, so what was not found was held back and not lost on the way.
      const places = holders.map((place) => place.slice(CANARY.needle.length))
      expect(places).toContain(` in stopped logs/opencode/${SESSION}.jsonl`)
      expect(places.filter((place) => !place.includes(" logs/opencode/"))).toEqual([])
    }
  })
})

test("by default only asks are told in words, redacted", async () => {
  const events = eventsOf(await record({}))
  for (const event of events) {
    expect(event.capture).toBe(event.type.startsWith("attention.") ? "redacted" : "metadata")
  }
  const prompts = events.flatMap(({ type, data }) =>
    type === "attention.requested" ? [String(data?.prompt)] : [],
  )
  expect(prompts[0]).toContain("AWS_SECRET_ACCESS_KEY=[REDACTED:secret]")
  expect(prompts[0]).toContain("~/notes.txt")
  expect(prompts[0]).toContain(CANARY.text)
})

test("at full the content is there as it is, in the log and nowhere else; what stands for an identifier still is one", async () => {
  const sinks = await record({ AEP_CAPTURE: "full" })
  expectWhole(sinks)
  const { text } = Object.values(SECRETS)[0] ?? { text: "" }
  const log = JSON.stringify(eventsOf(sinks))
  for (const needle of [...SECRET_NEEDLES, BY_NAME.text, CANARY.needle, text]) expect(log).toContain(needle)

  expect(sinks.streamed).toContain(CANARY.text)
  const elsewhere = {
    ...sinks,
    streamed: "",
    running: withoutLogs(sinks.running),
    stopped: withoutLogs(sinks.stopped),
  }
  expect(findAll(elsewhere, [...SECRET_NEEDLES, CANARY.needle])).toEqual([])
  for (const event of eventsOf(sinks) as Record<string, unknown>[]) {
    const { data: _, ...envelope } = event
    const found = [...SECRET_NEEDLES, CANARY.needle].filter((needle) =>
      JSON.stringify(envelope).includes(needle),
    )
    expect({ type: event.type, found }).toEqual({ type: event.type, found: [] })
  }
})

function withoutLogs(files: Map<string, string>): Map<string, string> {
  return new Map([...files].filter(([name]) => !name.startsWith("logs/")))
}
