/**
 * The AEP Python SDK, which we did not write, against the real service: it emits, reads, resumes, asks the roster and
 * commands. What it saw comes as lines of JSON from `sdk/talk.py` and `sdk/follow.py`. Set-up: `bun test/interop/fetch.ts`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { type Child, startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"
import { conversationOf, eventsOf, runsEnded, Stage, TOKEN } from "../hub/stage.ts"
import { suitePort } from "../ports.ts"
import { sdkPython } from "./fetch.ts"

const OURS = "ses_ours"
const WAIT_MS = 20_000
const saw = new Map<string, unknown>()
let stage: Stage
let said = ""

/** One of the scripts of `sdk/`, at the service that runs. */
const startPython = (script: string, session: string): Child =>
  startChild({
    command: [sdkPython(), join(import.meta.dir, "sdk", script), stage.url, TOKEN, session],
    cwd: import.meta.dir,
    env: { PATH: process.env.PATH ?? "", NO_PROXY: "127.0.0.1" },
  })

/** What a script printed so far. */
const linesOf = (child: Child): { saw: string; value: unknown }[] =>
  child
    .stdout()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))

beforeAll(async () => {
  stage = await Stage.open(suitePort("relay", 8), { AEP_TOKEN: TOKEN })
  await stage.converse(conversationOf("1.18.33-tool-success", OURS))
  const child = startPython("talk.py", OURS)
  const code = await child.exited
  said = `exit ${code}\n${child.stdout()}${child.stderr()}`
  for (const line of linesOf(child)) saw.set(line.saw, line.value)
  await child.stop()
}, 60_000)
afterAll(() => stage?.close())

const sights: [string, unknown][] = [
  ["live", true],
  ["resumed", true],
  ["live behind the replay", true],
  ["emitter errors", []],
  ["reader errors", []],
  ["ours in order", true],
  ["violations", []],
  ["runs of ours", ["finished"]],
  ["under a ceiling", ["metadata", { trigger: "user" }]],
  ["hello", ["0.1"]],
  ["subscribed", { type: "subscribed", id: "w" }],
  ["over the socket", ["session.started", 0, true]],
  ["accepted", ["control.accepted", "sdk-owned", true]],
  // The endpoint's code, and whether the SDK made it up for want of an answer.
  ["not declared", ["unsupported", false]],
  ["to nobody", ["no-route", false]],
  ["claim after the end", "gone"],
]
test.each(sights)("the SDK saw %j as %j", (what, expected) => {
  expect(saw.get(what), said).toEqual(expected)
})

test("the SDK saw our own session as it stands in the log", () => {
  const logged = stage.logged(OURS).map((line) => (JSON.parse(line) as { type: string }).type)
  expect(logged.length).toBeGreaterThan(5)
  expect(saw.get("ours"), said).toEqual(logged)
})

test("the SDK saw the claims of both, with what each declared", () => {
  expect(saw.get("roster"), said).toEqual([
    ["sdk-owned", "sdk-target", { accepts: ["control.cancel"], ack_window_ms: 10_000 }],
    [OURS, "opencode", expect.objectContaining({ accepts: expect.any(Array) })],
  ])
})

test("the SDK goes on by itself over a kill -9 of the service, and misses nothing of our session", async () => {
  const { session, steps, runs } = conversationOf("1.18.33-two-turns", "ses_followed")
  const child = startPython("follow.py", session)
  const seen = (what: string): unknown[] =>
    linesOf(child).flatMap((line) => (line.saw === what ? [line.value] : []))
  const print = () => child.stdout() + child.stderr()
  try {
    await waitFor("a reader", WAIT_MS, () => seen("open").length > 0, print)
    const cut = Math.floor(steps.length / 2)
    await stage.tell(steps.slice(0, cut))
    await waitFor("the first events", WAIT_MS, () => seen("event").length >= 2, print)
    // It stands still until all is over, so that nothing but the replay can tell it.
    process.kill(child.pid, "SIGSTOP")
    await stage.service.kill()
    await stage.startAgain()
    await stage.tell(steps.slice(cut))
    await waitFor("the log", WAIT_MS, () => runsEnded(stage.logged(session)) === runs)
    process.kill(child.pid, "SIGCONT")
    const logged = eventsOf(stage.logged(session)).map(({ id }) => id)
    await waitFor("all events", WAIT_MS, () => seen("event").length >= logged.length, print)
    expect(seen("event")).toEqual(logged)
    expect(seen("open").length).toBeGreaterThan(1)
    expect(seen("exhausted")).toEqual([])
  } finally {
    await child.stop()
  }
}, 60_000)
