/** What the live suite saw hold, as a table of scenario by agent, and as lines a machine can count. */
import type { Scenario } from "../agent/scenario.ts"
import { isOn } from "../agent/scenario.ts"
import type { AgentVersion } from "../agent/versions.ts"

export interface Tally {
  /** A scenario held on that agent, in that time. */
  held: (agent: AgentVersion, scenario: Scenario, durationMs: number) => void
  /** `live {label}: {n} scenarios` an agent, `live total: ...`, and the table above them. */
  print: () => string
}

/** An empty tally. Scenarios that do not apply show as `-`, those that did not hold or were left out as `not held`. */
export function createTally(agents: readonly AgentVersion[], scenarios: readonly Scenario[]): Tally {
  const times = new Map<string, number>()
  const keyOf = (agent: AgentVersion, scenario: Scenario) => `${agent.label}/${scenario.name}`
  const cell = (agent: AgentVersion, scenario: Scenario) => {
    const time = times.get(keyOf(agent, scenario))
    if (time !== undefined) return `${Math.round(time)} ms`
    return isOn(scenario, agent) ? "not held" : "-"
  }
  const count = (agent: AgentVersion) =>
    scenarios.filter((scenario) => times.has(keyOf(agent, scenario))).length
  return {
    held: (agent, scenario, durationMs) => void times.set(keyOf(agent, scenario), durationMs),
    print: () => {
      const rows = [
        ["scenario", ...agents.map(({ label }) => label)],
        ...scenarios.map((scenario) => [scenario.name, ...agents.map((agent) => cell(agent, scenario))]),
      ]
      const table = rows.map((row) =>
        row
          .map((text) => text.padEnd(20))
          .join("")
          .trimEnd(),
      )
      const counts = agents.map((agent) => `live ${agent.label}: ${count(agent)} scenarios`)
      return [...table, ...counts, `live total: ${times.size} scenarios on ${agents.length} agents`].join(
        "\n",
      )
    },
  }
}
