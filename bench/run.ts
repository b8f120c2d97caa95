/**
 * Every bench, one after the other, each in a process of its own: `bun bench/run.ts [--quick] [name...]`. Names:
 * intake, enqueue, fanout, asks, starve, scale. Figures are for people; nothing fails but a bench that breaks.
 */
import { join } from "node:path"
import { say } from "./sample.ts"

const BENCHES = ["intake", "enqueue", "fanout", "asks", "starve", "scale"] as const

const quick = process.argv.includes("--quick")
const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"))
const unknown = named.find((name) => !BENCHES.some((bench) => bench === name))
if (unknown !== undefined) {
  process.stderr.write(`no bench \`${unknown}\`; known: ${BENCHES.join(", ")}\n`)
  process.exit(2)
}

let broken = 0
for (const bench of BENCHES.filter((each) => named.length === 0 || named.includes(each))) {
  say(`\n== ${bench}`)
  // The one takes its number of processes, the others a flag.
  const options = quick ? (bench === "enqueue" ? ["2"] : ["--quick"]) : []
  const child = Bun.spawn([process.execPath, join(import.meta.dir, `${bench}.ts`), ...options], {
    stdout: "inherit",
    stderr: "inherit",
  })
  if ((await child.exited) !== 0) broken += 1
}
process.exitCode = broken === 0 ? 0 : 1
