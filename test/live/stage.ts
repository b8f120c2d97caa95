/**
 * One agent on one stage: sandbox, scripted model, real service and the agent's server, started together and ended
 * together, and the check of a scenario against the service's log.
 */
import { expect } from "bun:test"
import type { Client } from "../agent/client.ts"
import { type Model, startModel } from "../agent/model.ts"
import { openSandbox, type Sandbox } from "../agent/sandbox.ts"
import type { Roles, Scenario } from "../agent/scenario.ts"
import { type Served, startServe } from "../agent/serve.ts"
import { type Service, startService } from "../agent/service.ts"
import type { AgentVersion } from "../agent/versions.ts"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { digestRoles, expectedRoles, instancesApart } from "./digest.ts"
import { faultsOfLog } from "./log-rules.ts"

const PORT = { model: suitePort("live", 0), agent: suitePort("live", 1), service: suitePort("live", 2) }

export interface Stage {
  /** Drives a scenario and holds the log against what it expects. */
  play: (scenario: Scenario) => Promise<void>
  /** Holds all logs against the rules of any log, and the played scenarios against what they expect once more. */
  check: () => void
  close: () => Promise<void>
}

/** What stands on a stage. */
export interface Parts {
  sandbox: Sandbox
  /** The service as it runs now. */
  service: () => Service
  served: Served
  /** Starts the service anew, once it was stopped, with that much more in its environment. */
  restart: (extra: Record<string, string>) => Promise<void>
  close: () => Promise<void>
}

/** Starts all parts, service and agent with that much more in their environment. Throws, with nothing left running. */
export async function openParts(
  agent: AgentVersion,
  copies: "project" | "both",
  extra: Record<string, string> = {},
  agentExtra: Record<string, string> = {},
): Promise<Parts> {
  const ends: (() => unknown)[] = []
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    const model: Model = startModel(PORT.model)
    ends.push(model.stop)
    const sandbox = openSandbox({ agent, model, copies })
    ends.push(sandbox.remove)
    Object.assign(sandbox.env, agentExtra)
    let service = await startService(sandbox, PORT.service, extra)
    ends.push(() => service.stop())
    const served = await startServe(sandbox, PORT.agent)
    ends.push(served.stop)
    const restart: Parts["restart"] = async (next) => {
      service = await startService(sandbox, PORT.service, next)
    }
    return { sandbox, service: () => service, served, restart, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A stage for scenarios. Throws, with nothing left running, when a part does not start. */
export async function openStage(agent: AgentVersion, copies: "project" | "both"): Promise<Stage> {
  const parts = await openParts(agent, copies)
  return { ...createPlays(agent, parts), close: parts.close }
}

function createPlays(agent: AgentVersion, { sandbox, service: running, served }: Parts) {
  const service = running()
  const played: { scenario: Scenario; roles: Roles }[] = []
  const places = new Map<string, { client: Client; sandbox: Sandbox }>()
  const digests = (scenario: Scenario, roles: Roles) => digestRoles(scenario, agent, roles, service.events)

  /** The project with the scenario's configuration; loaded when the first one wants it. */
  const placeOf = async ({ setup }: Scenario) => {
    if (setup === undefined) return { client: served, sandbox }
    const known = places.get(setup.name)
    if (known !== undefined) return known
    const other = sandbox.other(setup)
    const made = { client: await served.at(other), sandbox: other }
    places.set(setup.name, made)
    return made
  }

  const drive = async (scenario: Scenario): Promise<Roles> => {
    const place = await placeOf(scenario)
    if (scenario.mode === "serve") return scenario.drive(place.client, place.sandbox)
    const before = new Set(service.sessions())
    await scenario.drive(place.sandbox)
    const made = await waitFor("log of the process's session", scenario.budgetMs, () => {
      const sessions = service.sessions().filter((session) => !before.has(session))
      return sessions.length > 0 ? sessions : undefined
    })
    return Object.fromEntries(
      made.map((session, index) => [index === 0 ? "main" : `other-${index}`, session]),
    )
  }

  const play = async (scenario: Scenario) => {
    const expected = expectedRoles(scenario, agent)
    const roles = await drive(scenario)
    const isComplete = () => {
      const seen = digests(scenario, roles)
      return Object.entries(expected).every(([role, lines]) => (seen[role] ?? []).length >= lines.length)
    }
    let late = ""
    // When lines are missing the comparison below shows which; the timeout alone would not.
    await waitFor("complete log", scenario.budgetMs, isComplete).catch((error) => {
      late = String(error)
    })
    expect(digests(scenario, roles), late).toEqual(expected)
    const instances = instancesApart(scenario, roles, service.events)
    expect(new Set(instances).size).toBe(instances.length)
    played.push({ scenario, roles })
  }

  const check = () => {
    for (const { scenario, roles } of played) {
      expect(digests(scenario, roles), scenario.name).toEqual(expectedRoles(scenario, agent))
    }
    const faults = [...service.lines()].flatMap(([name, lines]) => faultsOfLog(name, lines))
    expect(faults).toEqual([])
  }
  return { play, check }
}
