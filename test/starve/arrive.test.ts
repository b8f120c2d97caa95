/**
 * The other side of starving: with the service up, everything up to the agent's last word is in the record when the
 * agent has left, also where a proxy would swallow what goes over TCP.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type LoggedEvent, type Service, startService } from "../agent/service.ts"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { emptyHome, openStage, type Stage, show, takeLocks } from "./stage.ts"

const modelPort = suitePort("starve", 2)
const servicePort = suitePort("starve", 3)
const deadPort = suitePort("starve", 9)
const RUNS = 20
const TEST_MS = 120_000

let stage: Stage
let service: Service

beforeAll(async () => {
  stage = openStage(modelPort)
  await show(stage.ours, { AEP_OPENCODE_OFF: "1" })
}, TEST_MS)
beforeEach(async () => {
  emptyHome(stage.ours)
  service = await startService(stage.ours, servicePort)
}, TEST_MS)
afterEach(() => service.stop(), TEST_MS)
afterAll(() => stage.close(), TEST_MS)

const count = (events: readonly LoggedEvent[], type: string) =>
  events.filter((event) => event.type === type).length

/** Logs of the agent's sessions: neither an instance's own nor the agent's. */
const agentSessions = () => service.sessions().filter((session) => session.startsWith("ses_"))

function isWhole(events: readonly LoggedEvent[]): boolean {
  return count(events, "tool.completed") === 2 && count(events, "run.finished") === 1
}

/** The instance's own session was ended by its goodbye, the last moment there is. */
function goodbyes(): number {
  return [...service.lines()].filter(([name, lines]) => {
    const last = JSON.parse(lines.at(-1) ?? "{}") as LoggedEvent
    return name.startsWith("instance-") && last.type === "session.ended" && last.data?.reason === "normal"
  }).length
}

test(
  `with the service up, ${RUNS} of ${RUNS} runs have their last events in the log`,
  async () => {
    const known = new Set<string>()
    const missing: string[] = []
    let farewells = 0
    let locks = 0
    for (let run = 1; run <= RUNS; run += 1) {
      expect((await show(stage.ours)).code).toBe(0)
      const session = agentSessions().find((each) => !known.has(each))
      if (session === undefined) {
        missing.push(`run ${run}: no log`)
        continue
      }
      known.add(session)
      await waitFor("last events", 2_000, () => isWhole(service.events(session))).catch(() => {
        missing.push(`run ${run}: ${service.events(session).map(({ type }) => type)}`)
      })
      farewells = goodbyes()
      locks += takeLocks(stage.ours)
    }
    process.stdout.write(
      `${known.size - missing.length} of ${RUNS} runs whole in the log, ${farewells} goodbyes, ${locks} locks left\n`,
    )
    expect(missing).toEqual([])
    expect([farewells, locks]).toEqual([RUNS, 0])
  },
  RUNS * 60_000,
)

/** The model under a name that the proxy is not used for; the service keeps the address that it would be used for. */
async function runBehindProxy(): Promise<number> {
  const file = join(stage.ours.project, "opencode.json")
  const text = readFileSync(file, "utf8")
  const proxy = `http://127.0.0.1:${deadPort}`
  writeFileSync(file, text.replaceAll("127.0.0.1", "localhost"))
  try {
    const shown = await show(stage.ours, {
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      HTTPS_PROXY: proxy,
      https_proxy: proxy,
      NO_PROXY: "localhost",
      no_proxy: "localhost",
      npm_config_registry: stage.ours.env.npm_config_registry?.replace("127.0.0.1", "localhost"),
    })
    return shown.code
  } finally {
    writeFileSync(file, text)
  }
}

test(
  "behind a dead proxy the socket carries every event",
  async () => {
    expect(await runBehindProxy()).toBe(0)
    const [session = ""] = agentSessions()
    await service.until(session, "last events", 2_000, isWhole)
    expect(goodbyes()).toBe(1)
  },
  TEST_MS,
)

test(
  "behind a dead proxy without the socket nothing arrives, and the agent ends as ever",
  async () => {
    const file = join(stage.ours.aepHome, "plugin.json")
    const { socket: _socket, ...rest } = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>
    writeFileSync(file, JSON.stringify(rest))
    expect(await runBehindProxy()).toBe(0)
    expect(agentSessions()).toEqual([])
  },
  TEST_MS,
)
