/**
 * What a scenario is: how the agent is driven, on which agents, in how much time, and what the log must say
 * afterwards. The live suite runs it against the service, the recorder against a receiver; neither is seen here.
 */
import type { Client } from "./client.ts"
import type { Sandbox } from "./sandbox.ts"
import type { Setup } from "./setup.ts"
import type { AgentVersion } from "./versions.ts"

/** The sessions a drive made, by role: `main`, and others where there are any. */
export type Roles = Record<string, string>

/**
 * What a log must say, by role: one line an event (`digest.ts`), in order, nothing left out, nothing more. The role
 * `instance of main` is the session of the plugin instance that told `main`.
 */
export type Expected = Record<string, readonly string[]>

interface Plan {
  /** Short and unique; part of a fixture's name. */
  name: string
  /** Condition and consequence, as a test's name. */
  title: string
  /** From the prompt to the last expected event; the start of a server is not in it, that of a process is. */
  budgetMs: number
  /** The agents that can show it; all when absent. */
  on?: (agent: AgentVersion) => boolean
  /** The agent's configuration, in a project of its own; what every project has when absent. */
  setup?: Setup
  expected: (agent: AgentVersion) => Expected
  /**
   * The calls of `main` begin side by side: the agent takes them in no fixed order, so the lines up to the first
   * answer are compared as a set.
   */
  isParallel?: boolean
  /** Roles whose sessions were told by plugin instances of their own. */
  apart?: readonly string[]
}

/** Driven over the API of a server that is up. */
export interface ServeScenario extends Plan {
  mode: "serve"
  /** Where the plugin lies: the project's folder alone, or the user's as well. */
  copies: "project" | "both"
  drive: (agent: Client, sandbox: Sandbox) => Promise<Roles>
}

/** A process of its own, which starts, works and ends; its one session is found in what it left behind. */
export interface ProcessScenario extends Plan {
  mode: "run" | "tui"
  drive: (sandbox: Sandbox) => Promise<void>
}

export type Scenario = ServeScenario | ProcessScenario

/** Whether the agent can show it. */
export function isOn(scenario: Scenario, agent: AgentVersion): boolean {
  return scenario.on === undefined || scenario.on(agent)
}
