/** One real agent in which many asks are open at once: how long its prompts take with them and without, and whether all can be answered. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { startModel } from "../../test/agent/model.ts"
import { openSandbox } from "../../test/agent/sandbox.ts"
import { begin, idle } from "../../test/agent/scenarios/steps.ts"
import { startServe } from "../../test/agent/serve.ts"
import { startService } from "../../test/agent/service.ts"
import { AGENTS } from "../../test/agent/versions.ts"
import { suitePort } from "../../test/ports.ts"
import { openCommandSocket } from "./socket.ts"

/** Asks of one answer of the model, which the agent raises side by side. */
const EACH = 3

/** What was measured; milliseconds. */
export interface AgentFigures {
  label: string
  open: number
  prompts: number
  without: number[]
  withAsks: number[]
  answered: number
}

/** Measures. Throws, with nothing left running, when a part does not start. */
export async function agentWithAsks({
  asks,
  prompts,
}: {
  asks: number
  prompts: number
}): Promise<AgentFigures> {
  const [agent] = AGENTS
  if (agent === undefined) throw new Error("no agent")
  const ends: (() => unknown)[] = []
  try {
    const model = startModel(suitePort("bench", 0))
    ends.push(model.stop)
    const sandbox = openSandbox({ agent, model })
    ends.push(sandbox.remove)
    const service = await startService(sandbox, suitePort("bench", 2))
    ends.push(() => service.stop())
    const served = await startServe(sandbox, suitePort("bench", 1))
    ends.push(served.stop)
    const token = readFileSync(join(sandbox.aepHome, "token"), "utf8").trim()
    const commander = await openCommandSocket(service.url, token)
    ends.push(() => commander.close())

    const timed = async (count: number): Promise<number[]> => {
      const times: number[] = []
      for (let nth = 0; nth < count; nth += 1) {
        const began = performance.now()
        await idle(served, await begin(served, "timed", "SAY: hello"))
        times.push(performance.now() - began)
      }
      return times
    }
    await timed(5)
    const without = await timed(prompts)
    const vendorIds: string[] = []
    const line = (nth: number, of: number) => `bash {"command":"true ${nth} ${of}","description":"nothing"}`
    for (let nth = 0; nth < asks / EACH; nth += 1) {
      const calls = Array.from({ length: EACH }, (_, of) => `${of === 0 ? "RUN" : "AND"}: ${line(nth, of)}`)
      const session = await begin(served, "asks", calls.join("\n"))
      for (let of = 1; of <= EACH; of += 1) vendorIds.push(await served.ask(session, 20_000, of))
    }
    await commander.requests(vendorIds.length)
    const withAsks = await timed(prompts)
    for (const ask of vendorIds) commander.answer(ask)
    await Promise.race([commander.applied(vendorIds.length), Bun.sleep(60_000)])
    const answered = service
      .sessions()
      .flatMap((session) => service.events(session))
      .filter(({ type, data }) => type === "attention.answered" && data?.via === "control").length
    return { label: agent.label, open: vendorIds.length, prompts, without, withAsks, answered }
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
