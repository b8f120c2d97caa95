/**
 * `bun run demo`: the main job in one go. A temporary home, the service, a scripted model on this machine and the
 * real OpenCode with the plugin dropped in; one prompt with a tool call, a failing tool and a sub-agent; then the
 * record as a timeline. Cleans up after itself, also when something fails.
 */
import { timeline } from "../../service/cli/timeline.ts"
import type { AepEvent } from "../../shared/aep.ts"
import { startModel } from "../agent/model.ts"
import { runOnce } from "../agent/run.ts"
import { openSandbox } from "../agent/sandbox.ts"
import { startService } from "../agent/service.ts"
import { AGENTS } from "../agent/versions.ts"
import { suitePort } from "../ports.ts"

const HELP = `opencode-aep demo: the real OpenCode, a scripted model and the service, in a temporary home

Usage:
  bun run demo [--verbose]

  --verbose   show machinery events (severity debug) too
  -h, --help  print this

Example:
  bun run demo
`

const RUN_DEADLINE_MS = 120_000
const say = (text: string): void => void process.stdout.write(`${text}\n`)

async function demo(verbose: boolean): Promise<number> {
  const [agent] = AGENTS
  if (agent === undefined) throw new Error("no agent is listed in test/agent/versions.ts")
  say("1/3  starting the service and a scripted model in a temporary home ...")
  const model = startModel(suitePort("demo", 1))
  const sandbox = openSandbox({ agent, model })
  try {
    const service = await startService(sandbox, suitePort("demo", 0))
    try {
      say(
        `2/3  running one prompt in the real ${agent.agent} ${agent.version}, with plugin/opencode-aep.js dropped in ...`,
      )
      const result = await runOnce(sandbox, script(sandbox.project), RUN_DEADLINE_MS)
      if (result.code !== 0) {
        say(`${agent.agent} run ended with ${result.code}:\n${result.stderr.trim()}`)
        return 1
      }
      const root = await rootSession(service)
      await service.until(root, "the end of the run", 10_000, (events) =>
        events.some((event) => event.type === "run.finished"),
      )
      say("3/3  what was recorded:\n")
      const eventsOf = (session: string) => service.events(session) as unknown as AepEvent[]
      for (const line of timeline(eventsOf(root), eventsOf, { verbose })) say(line)
      const total = [...service.lines().values()].reduce((sum, lines) => sum + lines.length, 0)
      say(`\n${total} events in ${service.sessions().length} sessions; first line of the root session:`)
      say(JSON.stringify(eventsOf(root)[0]))
      return 0
    } finally {
      await service.stop()
    }
  } finally {
    sandbox.remove()
    model.stop()
  }
}

/** A read that works, one that fails, and a sub-agent that reads too. */
function script(project: string): string {
  const read = (file: string) => JSON.stringify({ filePath: `${project}/${file}` })
  const task = JSON.stringify({
    description: "look around",
    prompt: `RUN: read ${read("notes.txt")}`,
    subagent_type: "general",
  })
  return [
    `RUN: read ${read("notes.txt")}`,
    `RUN: read ${read("missing.txt")}`,
    `RUN: task ${task}`,
    "SAY: all done",
  ].join("\n")
}

/** The session that no other started. */
async function rootSession(service: Awaited<ReturnType<typeof startService>>): Promise<string> {
  const roots = service.sessions().filter((session) => {
    const [started] = service.events(session)
    return started?.session === session && started.data?.parent === undefined
  })
  const [root] = roots
  if (root === undefined) throw new Error("the run left no session in the log")
  return root
}

const args = process.argv.slice(2)
if (args.includes("-h") || args.includes("--help")) say(HELP)
else process.exitCode = await demo(args.includes("--verbose"))
