/**
 * What a service that is absent, refuses, hangs or dies costs the agent: pairs of real `opencode run`, one with our
 * plugin and one with an empty plugin, in alternating order: `bun bench/starve.ts [--quick] [fault...]`. Told are the
 * median of the pairs' differences from start to exit, and that of the fastest runs, which a busy machine disturbs
 * least. What the agent shows meanwhile is held by `test/starve`.
 */
import { join } from "node:path"
import { type Child, startChild } from "../test/agent/child.ts"
import type { Sandbox } from "../test/agent/sandbox.ts"
import { startService } from "../test/agent/service.ts"
import { suitePort } from "../test/ports.ts"
import { type Failure, startPeer } from "../test/starve/peer.ts"
import { emptyHome, firstLines, openStage, pointTo, SCRIPT, takeLocks } from "../test/starve/stage.ts"
import { median, quantile, row, say } from "./sample.ts"

/** Milliseconds of a whole run that the worst fault may add, in the median. */
const TARGET_MS = 250

const modelPort = suitePort("bench", 6)
const servicePort = suitePort("bench", 7)
const closedPort = suitePort("bench", 9)
const url = `http://127.0.0.1:${servicePort}`
const quick = process.argv.includes("--quick")
const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"))
const pairs = quick ? 3 : 20
const WIDTHS = [10, 10, 10, 10, 14, 10, 10]

const stage = openStage(modelPort)
const socket = join(stage.ours.aepHome, "opencode.sock")

/** Prepares one run with our plugin; what it returns is called at the run's end. */
type Fault = () => Promise<{ during?: () => Promise<void>; after?: () => Promise<void> }>

const peer = (failure: Failure): Fault => {
  return async () => {
    const failing = await startPeer(failure, servicePort, socket)
    pointTo(stage.ours, url, socket)
    return { after: () => failing.stop() }
  }
}

const FAULTS: Readonly<Record<string, Fault>> = {
  absent: async () => {
    pointTo(stage.ours, `http://127.0.0.1:${closedPort}`)
    return {}
  },
  refusing: peer("busy"),
  hanging: peer("silent"),
  killed: async () => {
    const service = await startService(stage.ours, servicePort)
    const during = async () => {
      await firstLines(stage.ours)
      process.kill(service.pid, "SIGKILL")
    }
    return { during }
  },
  up: async () => {
    const service = await startService(stage.ours, servicePort)
    return { after: async () => void (await service.stop()) }
  },
}

async function timeRun(sandbox: Sandbox, during?: () => Promise<void>): Promise<number> {
  const started = performance.now()
  const child: Child = startChild({
    command: [sandbox.binary, "run"],
    cwd: sandbox.project,
    env: sandbox.env,
    input: SCRIPT,
  })
  try {
    await during?.()
    const code = await child.exited
    const spent = performance.now() - started
    if (code !== 0) throw new Error(`the agent ended with ${code}\n${child.stderr()}`)
    return spent
  } finally {
    await child.stop()
  }
}

async function timeOurs(fault: Fault): Promise<number> {
  emptyHome(stage.ours)
  const { during, after } = await fault()
  try {
    return await timeRun(stage.ours, during)
  } finally {
    await after?.()
  }
}

try {
  for (const sandbox of [stage.empty, stage.ours]) {
    await timeRun(sandbox)
    takeLocks(sandbox)
  }
  say(`real runs with our plugin against an empty one, ${pairs} alternating pairs a fault`)
  say(row(["service", "empty ms", "ours ms", "extra ms", "middle half", "fastest", "locks left"], WIDTHS))
  const faults = Object.entries(FAULTS).filter(([name]) => named.length === 0 || named.includes(name))
  for (const [name, fault] of faults) {
    const empty: number[] = []
    const ours: number[] = []
    let locks = 0
    for (let pair = 0; pair < pairs; pair += 1) {
      const runEmpty = async () => void empty.push(await timeRun(stage.empty))
      const runOurs = async () => void ours.push(await timeOurs(fault))
      for (const run of pair % 2 === 0 ? [runEmpty, runOurs] : [runOurs, runEmpty]) await run()
      // A lock that the agent left would be the next run's wait, and no cost of this one.
      locks += takeLocks(stage.ours)
      takeLocks(stage.empty)
    }
    const extra = ours.map((spent, pair) => spent - (empty[pair] ?? Number.NaN))
    const middle = [quantile(extra, 0.25), quantile(extra, 0.75)]
      .map((value) => value.toFixed(0))
      .join(" to ")
    const cost = median(extra)
    const cells = [name, median(empty), median(ours), cost].map((cell) =>
      typeof cell === "number" ? cell.toFixed(0) : cell,
    )
    const verdict = name === "up" ? "" : `  target <= ${TARGET_MS}: ${cost <= TARGET_MS ? "held" : "MISSED"}`
    const fastest = (Math.min(...ours) - Math.min(...empty)).toFixed(0)
    say(row([...cells, middle, fastest, `${locks}`], WIDTHS) + verdict)
  }
} finally {
  await stage.close()
}
