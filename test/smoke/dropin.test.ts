/**
 * The two halves together, without an agent binary: the shipped drop-in, loaded in a process of its own as an agent
 * loads it, beside the real service; a recorded turn goes in at the hooks, a log comes out.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { AepEvent } from "../../shared/aep.ts"
import { startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"
import { officialData, validateOfficial } from "../official.ts"
import { suitePort } from "../ports.ts"

const root = resolve(import.meta.dir, "../..")
const home = mkdtempSync(join(tmpdir(), "aep-smoke-"))
const port = suitePort("smoke", 0)
const env = { PATH: process.env.PATH ?? "", HOME: home, AEP_HOME: join(home, "aep") }
const official = officialData()

const service = startChild({
  command: [process.execPath, join(root, "service/main.ts"), "--port", String(port)],
  cwd: root,
  env,
})

beforeAll(async () => {
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      async (response) => ((await response.json()) as { relay: boolean }).relay,
      () => false,
    )
  await waitFor("the service to answer", 10_000, isUp, () => service.stderr())
})

afterAll(async () => {
  await service.stop()
  rmSync(home, { recursive: true, force: true })
})

test("a turn seen by the drop-in's hooks becomes a valid session log", async () => {
  const host = startChild({ command: [process.execPath, join(import.meta.dir, "host.ts")], cwd: root, env })
  expect(await host.exited).toBe(0)
  expect(host.stdout() + host.stderr()).toBe("")

  const logs = join(env.AEP_HOME, "logs/opencode")
  const read = (name: string): AepEvent[] =>
    readFileSync(join(logs, name), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
  const events = read("ses_smoke.jsonl")
  expect(events.filter((event) => event.severity !== "debug").map((event) => event.type)).toEqual([
    "session.started",
    "run.started",
    "tool.requested",
    "attention.requested",
    "attention.answered",
    "attention.resolved",
    "tool.completed",
    "run.finished",
  ])
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index))
  // By default words are told of asks only.
  const asks = events.filter((event) => event.type.startsWith("attention."))
  expect(JSON.stringify(events.filter((event) => !asks.includes(event)))).not.toContain("secret-of-the-user")
  expect(asks[0]?.data?.prompt).toBe("Permission requested: bash — echo secret-of-the-user")

  const own = readdirSync(logs).find((name) => name.startsWith("instance-"))
  expect(read(own ?? "").map((event) => event.type)).toEqual(["session.started", "session.ended"])
  if (official.kind === "present") {
    for (const name of readdirSync(logs)) expect(read(name).flatMap(validateOfficial)).toEqual([])
  }
})

test("the service stops cleanly on SIGTERM and leaves its home as it should", async () => {
  process.kill(Number(readFileSync(join(env.AEP_HOME, "service.pid"), "utf8")), "SIGTERM")
  expect(await service.exited).toBe(0)
  expect(readdirSync(env.AEP_HOME).sort()).toEqual([
    "logs",
    "opencode-aep.db",
    "plugin.json",
    "sound",
    "token",
  ])
})
