/**
 * One agent on one stage: sandbox, scripted model, real service and the agent's server, started together and ended
 * together, and the check of a scenario against the service's log.
 */
import { expect } from "bun:test"
import { type Model, startModel } from "../agent/model.ts"
import { openSandbox, type Sandbox } from "../agent/sandbox.ts"
import type { Expected, Roles, Scenario } from "../agent/scenario.ts"
import { type Served, startServe } from "../agent/serve.ts"
import { type Service, startService } from "../agent/service.ts"
import type { AgentVersion } from "../agent/versions.ts"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { digestLog } from "./digest.ts"
import { faultsOfLog } from "./log-rules.ts"

const PORT = { model: suitePort("live", 0), agent: suitePort("live", 1), service: suitePort("live", 2) }

export interface Stage {
  /** Drives a scenario and holds the log against what it expects. */
  play: (scenario: Scenario) => Promise<void>
  /** Holds all logs against the rules of any log, and the played scenarios against what they expect once more. */
  check: () => void
  close: () => Promise<void>
}

/** Starts all parts. Throws, with nothing left running, when one does not start. */
export async function openStage(agent: AgentVersion, copies: "project" | "both"): Promise<Stage> {
  const ends: (() => unknown)[] = []
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    const model: Model = startModel(PORT.model)
    ends.push(model.stop)
    const sandbox = openSandbox({ agent, model, copies })
    ends.push(sandbox.remove)
    const service = await startService(sandbox, PORT.service)
    ends.push(service.stop)
    const served = await startServe(sandbox, PORT.agent)
    ends.push(served.stop)
    return { ...createPlays(agent, sandbox, service, served), close }
  } catch (error) {
    await close()
    throw error
  }
}

function createPlays(agent: AgentVersion, sandbox: Sandbox, service: Service, served: Served) {
  const played: { roles: Roles; expected: Expected }[] = []
  const digests = (roles: Roles): Expected =>
    Object.fromEntries(
      Object.entries(roles).map(([role, session]) => [role, digestLog(service.events(session), roles)]),
    )

  const drive = async (scenario: Scenario): Promise<Roles> => {
    if (scenario.mode === "serve") return scenario.drive(served, sandbox)
    const before = new Set(service.sessions())
    await scenario.drive(sandbox)
    const made = await waitFor("log of the process's session", scenario.budgetMs, () => {
      const sessions = service.sessions().filter((session) => !before.has(session))
      return sessions.length > 0 ? sessions : undefined
    })
    return Object.fromEntries(
      made.map((session, index) => [index === 0 ? "main" : `other-${index}`, session]),
    )
  }

  const play = async (scenario: Scenario) => {
    const expected = scenario.expected(agent)
    const roles = await drive(scenario)
    const isComplete = () => {
      const seen = digests(roles)
      return Object.entries(expected).every(([role, lines]) => (seen[role] ?? []).length >= lines.length)
    }
    let late = ""
    // When lines are missing the comparison below shows which; the timeout alone would not.
    await waitFor("complete log", scenario.budgetMs, isComplete).catch((error) => {
      late = String(error)
    })
    expect(digests(roles), late).toEqual(expected)
    played.push({ roles, expected })
  }

  const check = () => {
    for (const { roles, expected } of played) expect(digests(roles)).toEqual(expected)
    const faults = [...service.lines()].flatMap(([name, lines]) => faultsOfLog(name, lines))
    expect(faults).toEqual([])
  }
  return { play, check }
}
