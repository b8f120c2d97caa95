/**
 * What one hook call of the drop-in costs the agent: `bun bench/enqueue.ts [processes a scenario]`. Against an
 * empty async hook as the floor, in fresh processes, in alternating order; medians of the processes' medians.
 * Client and service share the machine: the ratio to the floor and the order of magnitude are what travels.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { suitePort } from "../test/ports.ts"
import type { Sample } from "./enqueue/sample.ts"
import { startReal, startSlow } from "./enqueue/service.ts"

interface Case {
  scenario: string
  size: number
  count: number
  env: Record<string, string>
  samples: Sample[]
}

const SAMPLE = new URL("./enqueue/sample.ts", import.meta.url).pathname
const SIZES = [
  { size: 1024, count: 2000 },
  { size: 200 * 1024, count: 300 },
]
/** Medians to hold, in microseconds, for moments of 1 KB. */
const TARGETS: Record<string, number> = { up: 20, dead: 5, never: 5 }

const rounds = Number(process.argv[2] ?? 5)
const home = () => mkdtemp(join(tmpdir(), "aep-bench-"))
const say = (line: string) => Bun.write(Bun.stdout, `${line}\n`)

const up = await startReal(await home())
const slow = startSlow(1000)
const emptyHome = await home()
const deadUrl = `http://127.0.0.1:${suitePort("bench", 2)}`
const scenarios: Record<string, Record<string, string>> = {
  floor: {},
  up: up.env,
  slow: slow.env,
  dead: { AEP_OPENCODE_URL: deadUrl, AEP_OPENCODE_KEY: "bench" },
  never: { AEP_HOME: emptyHome },
}
const cases: Case[] = SIZES.flatMap(({ size, count }) =>
  Object.entries(scenarios).map(([scenario, env]) => ({ scenario, size, count, env, samples: [] })),
)

await say(
  `up = ${up.what}; slow = ${slow.what}; dead = refused; never = no plugin.json; ${rounds} processes each`,
)
for (let round = 0; round < rounds; round += 1) {
  const order = round % 2 === 0 ? cases : [...cases].reverse()
  for (const each of order) each.samples.push(await measure(each))
}
await up.stop()
await slow.stop()
await rm(emptyHome, { recursive: true })

await say("size     scenario  call µs  (x floor)  p99 µs  awaited µs  CPU µs a call")
for (const each of cases) {
  const floor = cases.find(({ scenario, size }) => scenario === "floor" && size === each.size) ?? each
  const call = median(each, "call")
  const ratio = `(${(call / median(floor, "call")).toFixed(0)}x)`
  const target = each.size === 1024 ? TARGETS[each.scenario] : undefined
  const verdict = target === undefined ? "" : `  target < ${target}: ${call < target ? "held" : "MISSED"}`
  await say(
    [
      `${each.size / 1024} KB`.padEnd(8),
      each.scenario.padEnd(9),
      call.toFixed(2).padStart(7),
      ratio.padStart(10),
      median(each, "callP99").toFixed(1).padStart(7),
      median(each, "awaited").toFixed(2).padStart(11),
      median(each, "cpu").toFixed(1).padStart(13),
    ].join(" ") + verdict,
  )
}

async function measure({ scenario, size, count, env }: Case): Promise<Sample> {
  const child = Bun.spawn([process.execPath, SAMPLE, scenario, `${size}`, `${count}`], {
    env: { PATH: process.env.PATH, HOME: "/nonexistent", ...env },
    stdout: "pipe",
    stderr: "inherit",
  })
  return JSON.parse(await new Response(child.stdout).text())
}

function median({ samples }: Case, member: keyof Sample): number {
  const sorted = samples.map((sample) => sample[member]).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
