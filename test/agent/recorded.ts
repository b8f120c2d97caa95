/** Reads what the recorder wrote. A missing file is a failure that says how to make it. */
import { existsSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import type { Instance } from "../../shared/moments.ts"
import type { Heard } from "./receiver.ts"
import type { Roles, Scenario } from "./scenario.ts"
import type { AgentVersion } from "./versions.ts"

/** Folder of the recorded moments. */
export const MOMENTS = resolve(import.meta.dir, "../../fixtures/moments")

/** First line of a recording. */
export interface RecordingHeader {
  scenario: string
  agent: string
  version: string
  plugin: string
  mode: string
  sessions: Roles
  instances: Instance[]
}

export interface Recording {
  header: RecordingHeader
  moments: Heard[]
}

/** Name of the file of a scenario on an agent. */
export function recordingName(agent: AgentVersion, scenario: Scenario): string {
  return `${agent.label}-${scenario.name}.jsonl`
}

/** The recording of a scenario on an agent. Throws with the remedy when there is none. */
export function readRecording(agent: AgentVersion, scenario: Scenario): Recording {
  const file = resolve(MOMENTS, recordingName(agent, scenario))
  if (!existsSync(file)) {
    throw new Error(`${file} is missing: run \`bun test/agent/record.ts ${scenario.name} ${agent.label}\``)
  }
  const [header, ...moments] = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown)
  return { header: header as RecordingHeader, moments: moments as Heard[] }
}
