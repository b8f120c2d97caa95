/**
 * One fresh process of `bench/enqueue.ts`: calls a hook many times, as an agent would, and prints what each call
 * cost as one line of JSON. `floor` is an empty async hook in place of the drop-in's.
 */
import { DROP_IN } from "../../plugin/build.ts"

/** What one process measured, in microseconds. */
export interface Sample {
  /** Median and 99th percentile until the hook has returned its promise: what the publisher of an event waits. */
  call: number
  callP99: number
  /** Median until the promise was awaited: what an awaited hook such as `tool.execute.before` costs. */
  awaited: number
  /** CPU of the whole process per call, sending included. */
  cpu: number
}

type Hook = (input: unknown, output: unknown) => Promise<void>

const [scenario = "floor", size = "1024", count = "2000"] = process.argv.slice(2)
const content = "x".repeat(Number(size) - 200)

async function hookOf(): Promise<Hook> {
  if (scenario === "floor") return async () => undefined
  const { OpencodeAep } = await import(DROP_IN)
  const hooks = await OpencodeAep({ directory: "/bench" })
  return hooks["tool.execute.before"]
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const middle = (sorted: number[], at: number) => sorted[Math.floor(sorted.length * at)] ?? Number.NaN

const hook = await hookOf()
const input = (n: number) => ({ tool: "write", sessionID: "ses_bench", callID: `call_${n}` })

for (let n = 0; n < 300; n += 1) {
  await hook(input(n), { args: { filePath: "/bench/a.txt", content } })
  await turn()
}
// Long enough for the second failure, after which a service never seen is taken for absent.
if (scenario === "dead" || scenario === "never") await Bun.sleep(700)

const calls: number[] = []
const awaits: number[] = []
const cpuBefore = process.cpuUsage()
for (let n = 0; n < Number(count); n += 1) {
  const given = input(n)
  const output = { args: { filePath: "/bench/a.txt", content } }
  const started = Bun.nanoseconds()
  const promise = hook(given, output)
  const returned = Bun.nanoseconds()
  await promise
  const settled = Bun.nanoseconds()
  calls.push((returned - started) / 1000)
  awaits.push((settled - started) / 1000)
  await turn()
}
const cpu = process.cpuUsage(cpuBefore)
calls.sort((a, b) => a - b)
awaits.sort((a, b) => a - b)
const sample: Sample = {
  call: middle(calls, 0.5),
  callP99: middle(calls, 0.99),
  awaited: middle(awaits, 0.5),
  cpu: (cpu.user + cpu.system) / Number(count),
}
await Bun.write(Bun.stdout, JSON.stringify(sample))
process.exit(0)
