/**
 * `bun test/agent/record.ts [scenario] [agent]`: plays scenarios with the real drop-in against a receiver and
 * writes the moments as sent into `fixtures/moments/`, one file a scenario and agent. Run it when the plugin sends
 * something new or an agent's version changes, then read the diff.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { suitePort } from "../ports.ts"
import { startModel } from "./model.ts"
import { normalise } from "./normalise.ts"
import { type Heard, type Receiver, startReceiver } from "./receiver.ts"
import { MOMENTS, recordingName } from "./recorded.ts"
import { openSandbox, type Sandbox } from "./sandbox.ts"
import { isOn, type Roles, type Scenario } from "./scenario.ts"
import { SCENARIOS } from "./scenarios.ts"
import { startServe } from "./serve.ts"
import { AGENTS, type AgentVersion } from "./versions.ts"
import { waitFor } from "./wait.ts"

const PORT = {
  model: suitePort("record", 0),
  agent: suitePort("record", 1),
  receiver: suitePort("record", 2),
}
/** Nothing new for so long: the agent has said what it had to say. The last stragglers come 300 ms after an idle. */
const QUIET_MS = 1_000
const SETTLE_MS = 30_000

/** Plays one scenario on one agent; the file's name and how many moments it holds. */
async function record(agent: AgentVersion, scenario: Scenario): Promise<string> {
  const model = startModel(PORT.model)
  const copies = scenario.mode === "serve" ? scenario.copies : "project"
  const sandbox = openSandbox({
    agent,
    model,
    copies,
    ...(scenario.setup === undefined ? {} : { setup: scenario.setup }),
  })
  const receiver = startReceiver(PORT.receiver, sandbox.aepHome)
  try {
    const roles = await play(scenario, sandbox, receiver)
    const file = recordingName(agent, scenario)
    const lines = tidy(scenario, sandbox, receiver, roles)
    mkdirSync(MOMENTS, { recursive: true })
    writeFileSync(join(MOMENTS, file), lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
    return `${file} ${lines.length - 1} moments`
  } finally {
    await receiver.stop()
    await model.stop()
    sandbox.remove()
  }
}

async function play(scenario: Scenario, sandbox: Sandbox, receiver: Receiver): Promise<Roles> {
  const settled = () => waitFor("quiet", SETTLE_MS, () => receiver.quietMs() > QUIET_MS)
  if (scenario.mode !== "serve") {
    await scenario.drive(sandbox)
    await settled()
    return { main: firstSession(receiver.moments()) }
  }
  const served = await startServe(sandbox, PORT.agent)
  try {
    const roles = await scenario.drive(served, sandbox)
    await settled()
    // The end of the instance belongs to the record; a signal would end it without a word.
    if (!receiver.moments().some(isEnd)) await served.call("POST", "/instance/dispose")
    await waitFor("end of the instance", SETTLE_MS, () => receiver.moments().some(isEnd))
    return roles
  } finally {
    await served.stop()
  }
}

/** The hook of 1.18 and Kilo, the event of 1.0. */
function isEnd(moment: Heard): boolean {
  return (
    moment.kind === "dispose" || (moment.kind === "bus" && moment.event.type === "server.instance.disposed")
  )
}

function firstSession(moments: readonly Heard[]): string {
  for (const moment of moments) {
    if (moment.kind === "bus" && moment.event.type === "session.created") {
      const { sessionID, info } = moment.event.properties as { sessionID?: string; info?: { id?: string } }
      const session = sessionID ?? info?.id
      if (session !== undefined) return session
    }
  }
  throw new Error("no session.created was heard: did the plugin load?")
}

function tidy(scenario: Scenario, sandbox: Sandbox, receiver: Receiver, sessions: Roles): unknown[] {
  const { agent } = sandbox
  const moments = receiver.moments()
  const instances = receiver.instances()
  const [first] = moments
  if (first === undefined) throw new Error("nothing was heard: did the plugin load?")
  const header = {
    scenario: scenario.name,
    agent: agent.agent,
    version: agent.version,
    plugin: instances[0]?.plugin,
    mode: scenario.mode,
    sessions,
    instances,
  }
  return normalise([header, ...moments], first.at, {
    paths: {
      [sandbox.project]: "/home/dev/project",
      [sandbox.home]: "/home/dev",
      [dirname(sandbox.project)]: "/home",
    },
    ports: { [PORT.model]: 9999, [PORT.agent]: 4096, [PORT.receiver]: 8390 },
  })
}

if (import.meta.main) {
  const [name, label] = process.argv.slice(2)
  for (const agent of AGENTS.filter((each) => label === undefined || each.label === label)) {
    const wanted = SCENARIOS.filter((each) => isOn(each, agent) && (name === undefined || each.name === name))
    for (const scenario of wanted) process.stdout.write(`${await record(agent, scenario)}\n`)
  }
}
