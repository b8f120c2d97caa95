/**
 * The real agent with the real plugin, and a service that is absent, refuses, hangs or dies: what the agent prints
 * and how it ends is what it prints and how it ends with an empty plugin. Set-up, once: `bun test/agent/fetch.ts`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { startService } from "../agent/service.ts"
import { suitePort } from "../ports.ts"
import { type Failure, startPeer } from "./peer.ts"
import {
  emptyHome,
  firstLines,
  openStage,
  pointTo,
  type Shown,
  type Stage,
  show,
  takeLocks,
  tornLines,
} from "./stage.ts"

const modelPort = suitePort("starve", 0)
const servicePort = suitePort("starve", 1)
const closedPort = suitePort("starve", 9)
const url = `http://127.0.0.1:${servicePort}`
const TEST_MS = 120_000

let stage: Stage
let expected: Shown
const requests: string[] = []
const locks: string[] = []

/** One run with the shipped plugin; what it shows. `fault` names the service's fault in the report. */
async function play(fault: string, env: Record<string, string | undefined> = {}): Promise<Shown> {
  const shown = await show(stage.ours, env)
  if (takeLocks(stage.ours) > 0) locks.push(fault)
  return shown
}

beforeAll(async () => {
  stage = openStage(modelPort)
  // The first run of a sandbox migrates the agent's database and says so.
  await show(stage.empty)
  expected = await show(stage.empty)
  await show(stage.ours, { AEP_OPENCODE_OFF: "1" })
}, TEST_MS)

afterAll(async () => {
  process.stdout.write(`requests of the plugin: ${requests.join(", ")}\n`)
  // Absent when it could not be opened, which is the fault to be seen then.
  await stage?.close()
}, TEST_MS)

test("the empty plugin's run ends with 0 and shows both calls", () => {
  expect(expected.code).toBe(0)
  expect(expected.stdout + expected.stderr).toContain("all is well here")
  expect(expected.stderr).toContain("notes.txt")
})

test(
  "without AEP_HOME and without a home of the service the agent shows the same",
  async () => {
    emptyHome(stage.ours)
    expect(await play("no home", { AEP_HOME: undefined })).toEqual(expected)
  },
  TEST_MS,
)

test.each(["port alone", "port and socket"] as const)(
  "a plugin.json that names a closed %s changes nothing the agent shows",
  async (road) => {
    emptyHome(stage.ours)
    const socket = join(stage.ours.aepHome, "opencode.sock")
    pointTo(stage.ours, `http://127.0.0.1:${closedPort}`, road === "port alone" ? undefined : socket)
    expect(await play(`closed ${road}`)).toEqual(expected)
  },
  TEST_MS,
)

const FAILURES: readonly (readonly [Failure, "tcp" | "socket"])[] = [
  ["busy", "tcp"],
  ["stranger", "socket"],
  ["reset", "tcp"],
  ["reset", "socket"],
  ["silent", "tcp"],
  ["silent", "socket"],
  ["half", "tcp"],
  ["half", "socket"],
  ["garbage", "tcp"],
]

test.each(FAILURES)(
  "a service that is %s over %s changes nothing the agent shows",
  async (failure, road) => {
    emptyHome(stage.ours)
    const socket = join(stage.ours.aepHome, "opencode.sock")
    const peer = await startPeer(failure, servicePort, socket)
    try {
      pointTo(stage.ours, url, road === "socket" ? socket : undefined)
      expect(await play(`${failure} over ${road}`)).toEqual(expected)
      requests.push(`${failure}/${road} ${peer.requests()}`)
      expect(peer.requests()).toBeGreaterThan(0)
    } finally {
      await peer.stop()
    }
  },
  TEST_MS,
)

test.each(["SIGKILL", "SIGSTOP"] as const)(
  "a service that gets %s while the agent works changes nothing the agent shows, and its log stays whole",
  async (signal) => {
    emptyHome(stage.ours)
    const service = await startService(stage.ours, servicePort)
    try {
      const shown = play(signal)
      await firstLines(stage.ours)
      process.kill(service.pid, signal)
      expect(await shown).toEqual(expected)
      expect(tornLines(stage.ours)).toEqual([])
    } finally {
      if (signal === "SIGSTOP") {
        process.kill(service.pid, "SIGCONT")
        await service.stop()
      }
    }
  },
  TEST_MS,
)

test("no run left the agent's own lock behind, on which the next one would wait", () => {
  expect(locks).toEqual([])
})
