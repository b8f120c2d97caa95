/**
 * What a scenario is: how the agent is driven, on which agents, in how much time, and what the log must say
 * afterwards. The live suite runs it against the service, the recorder against a receiver; neither is seen here.
 */
import type { Sandbox } from "./sandbox.ts"
import type { Served } from "./serve.ts"
import type { AgentVersion } from "./versions.ts"

/** The sessions a drive made, by role: `main`, and `child` where there is one. */
export type Roles = Record<string, string>

/** What a log must say, by role: one digest a line (`digest.ts`), in order, nothing left out, nothing more. */
export type Expected = Record<string, readonly string[]>

interface Plan {
  /** Short and unique; part of a fixture's name. */
  name: string
  /** Condition and consequence, as a test's name. */
  title: string
  /** From the prompt to the last expected event; starting the agent is not in it, except where it is the scenario. */
  budgetMs: number
  /** The agents that can show it; all when absent. */
  on?: (agent: AgentVersion) => boolean
  expected: (agent: AgentVersion) => Expected
}

/** Driven over the API of a server that is up. */
export interface ServeScenario extends Plan {
  mode: "serve"
  drive: (agent: Served, sandbox: Sandbox) => Promise<Roles>
}

/** A process of its own, which starts, works and ends; its session is found in what it left behind. */
export interface ProcessScenario extends Plan {
  mode: "run" | "tui"
  drive: (sandbox: Sandbox) => Promise<void>
}

export type Scenario = ServeScenario | ProcessScenario

/** Whether the agent can show it. */
export function isOn(scenario: Scenario, agent: AgentVersion): boolean {
  return scenario.on === undefined || scenario.on(agent)
}
