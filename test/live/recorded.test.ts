/**
 * The recordings against the scenarios they were made from: one for each, none besides, and the mapping makes the
 * expected log of it. Needs no agent; it stands here because recordings and scenarios change together.
 */
import { describe, expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import type { Instance } from "../../shared/moments.ts"
import { MOMENTS, readRecording, recordingName } from "../agent/recorded.ts"
import { isOn, type Scenario } from "../agent/scenario.ts"
import { SCENARIOS } from "../agent/scenarios.ts"
import { AGENTS, type AgentVersion } from "../agent/versions.ts"
import { replaySteps } from "../replay.ts"
import { digestRoles, expectedRoles, instancesApart } from "./digest.ts"

const pairs = AGENTS.flatMap((agent) =>
  SCENARIOS.filter((scenario) => isOn(scenario, agent)).map((scenario): [string, AgentVersion, Scenario] => [
    recordingName(agent, scenario),
    agent,
    scenario,
  ]),
)

test("there is a recording for every scenario and agent, and no other file", () => {
  expect(readdirSync(MOMENTS).sort()).toEqual(pairs.map(([name]) => name).sort())
})

describe("a recording replayed gives the log that its scenario expects", () => {
  test.each(pairs)("%s", (_, agent, scenario) => {
    const { header, moments } = readRecording(agent, scenario)
    const speakers = new Map(header.instances.map((instance): [string, Instance] => [instance.id, instance]))
    const steps = moments.flatMap((moment) => {
      const instance = speakers.get(moment.instance)
      return instance === undefined ? [] : [{ instance, moment }]
    })
    expect(steps.length).toBe(moments.length)
    const { events, refused } = replaySteps(steps)
    expect(refused).toEqual([])
    const eventsOf = (session: string) => events.get(session) ?? []
    expect(digestRoles(scenario, agent, header.sessions, eventsOf)).toEqual(expectedRoles(scenario, agent))
    const instances = instancesApart(scenario, header.sessions, eventsOf)
    expect(new Set(instances).size).toBe(instances.length)
  })
})
