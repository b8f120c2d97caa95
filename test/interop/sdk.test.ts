/**
 * The AEP Python SDK, which we did not write, against the real service: it emits, reads, resumes, asks the roster and
 * commands. What it saw comes as lines of JSON from `sdk/talk.py`. Set-up: `bun test/interop/fetch.ts`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { startChild } from "../agent/child.ts"
import { conversationOf, Stage, TOKEN } from "../hub/stage.ts"
import { suitePort } from "../ports.ts"
import { sdkPython } from "./fetch.ts"

const OURS = "ses_ours"
const saw = new Map<string, unknown>()
let stage: Stage
let said = ""

beforeAll(async () => {
  const python = sdkPython()
  stage = await Stage.open(suitePort("relay", 8), { AEP_TOKEN: TOKEN })
  await stage.converse(conversationOf("1.18.33-tool-success", OURS))
  const child = startChild({
    command: [python, join(import.meta.dir, "sdk/talk.py"), stage.url, TOKEN, OURS],
    cwd: import.meta.dir,
    env: { PATH: process.env.PATH ?? "", NO_PROXY: "127.0.0.1" },
  })
  const code = await child.exited
  said = `exit ${code}\n${child.stdout()}${child.stderr()}`
  for (const line of child.stdout().split("\n").slice(0, -1)) {
    const { saw: what, value } = JSON.parse(line) as { saw: string; value: unknown }
    saw.set(what, value)
  }
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
  ["accepted", ["control.accepted", "sdk-owned", true]],
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

test.each(["not declared", "to nobody"])("the SDK saw a command %s refused by the endpoint", (what) => {
  const [reason, isLocal] = (saw.get(what) ?? []) as [string, boolean]
  expect(isLocal, said).toBe(false)
  expect(reason).not.toBe("timeout")
})
