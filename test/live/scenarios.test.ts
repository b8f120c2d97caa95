/**
 * Real agents, the real drop-in and the real service, with a scripted model on loopback: every scenario on every
 * agent that can show it. Set-up, once: `bun test/agent/fetch.ts`. What is missing is a failure that says what to
 * do, never a skip.
 */
import { afterAll, beforeAll, describe, test } from "bun:test"
import { isOn, type Scenario } from "../agent/scenario.ts"
import { PROCESS_SCENARIOS, SCENARIOS, SERVE_SCENARIOS } from "../agent/scenarios.ts"
import { AGENTS, type AgentVersion } from "../agent/versions.ts"
import { openStage, type Stage } from "./stage.ts"
import { createTally } from "./tally.ts"

const START_MS = 120_000
/** Longer than any wait of a drive: a test that runs out of time loses the servers of all that follow. */
const DRIVE_MS = 60_000
const tally = createTally(AGENTS, SCENARIOS)

function playAll(agent: AgentVersion, copies: "project" | "both", scenarios: readonly Scenario[]): void {
  let stage: Stage | undefined
  let fault: unknown
  beforeAll(async () => {
    // Kept for the tests: a fault in here alone would leave them out without a word.
    stage = await openStage(agent, copies).catch((error: unknown) => {
      fault = error
      return undefined
    })
  }, START_MS)
  afterAll(async () => stage?.close(), START_MS)
  const ready = () => {
    if (stage === undefined) throw fault
    return stage
  }

  for (const scenario of scenarios.filter((each) => isOn(each, agent))) {
    const play = async () => {
      const started = performance.now()
      await ready().play(scenario)
      tally.held(agent, scenario, performance.now() - started)
    }
    test(`${scenario.name}: ${scenario.title}`, play, scenario.budgetMs * 2 + DRIVE_MS)
  }
  test("every log of the stage holds line by line, and nothing came after its end", () => ready().check())
}

for (const agent of AGENTS) {
  describe(agent.label, () => {
    describe("file in one folder", () => {
      const alone = SERVE_SCENARIOS.filter(({ copies }) => copies === "project")
      playAll(agent, "project", [...alone, ...PROCESS_SCENARIOS])
    })
    describe("file in two folders", () => {
      const doubled = SERVE_SCENARIOS.filter(({ copies }) => copies === "both")
      playAll(agent, "both", doubled)
    })
  })
}

afterAll(() => void process.stdout.write(`\n${tally.print()}\n`))
