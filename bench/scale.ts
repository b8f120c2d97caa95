/**
 * What the service holds after a million moments in ten thousand sessions: memory and descriptors, sampled on the
 * way, everything told at `redacted`. `bun bench/scale.ts [--quick]`; quick is a tenth of it. Linux only.
 */
import { readdirSync, readFileSync } from "node:fs"
import { suitePort } from "../test/ports.ts"
import { continueScript, drive } from "./intake/drive.ts"
import { createMix } from "./intake/mix.ts"
import { startServer } from "./intake/server.ts"
import { row, say } from "./sample.ts"

const quick = process.argv.includes("--quick")
const STEPS = 20
const SIZE = 100
const MOMENTS = quick ? 100_000 : 1_000_000
/** Times round the recordings, some 75 sessions each, before sessions are taken up again. */
const SESSION_ROUNDS = quick ? 14 : 135
const WIDTHS = [9, 10, 12, 12]

const port = suitePort("bench", 9)
const service = await startServer("service", port, { AEP_CAPTURE: "redacted" })
const mix = createMix("scale", SESSION_ROUNDS)
const memory: number[] = []
const started = performance.now()
let cpuMs = 0
try {
  say(`${MOMENTS.toLocaleString("en")} moments in batches of ${SIZE}, everything told at \`redacted\``)
  say(row(["moments", "memory MB", "descriptors", "CPU us each"], WIDTHS))
  const requests = MOMENTS / STEPS / SIZE
  for (let step = 1; step <= STEPS; step += 1) {
    const script = continueScript(mix, "scale", port, (step - 1) * requests * SIZE, requests, SIZE)
    const before = service.cpuMs()
    await drive(port, [script])
    cpuMs += service.cpuMs() - before
    memory.push(residentMb(service.pid))
    if (step % 2 === 0) {
      const done = step * requests * SIZE
      const cpu = ((cpuMs * 1000) / done).toFixed(1)
      say(row([`${done}`, (memory.at(-1) ?? 0).toFixed(0), `${descriptors(service.pid)}`, cpu], WIDTHS))
    }
  }
  const half = memory.slice(STEPS / 2)
  const growth = (half.at(-1) ?? 0) / (half[0] ?? 1)
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  say(
    `memory over the second half: ${growth.toFixed(2)}x (flat is 1), at most ${Math.max(...memory).toFixed(0)} MB; ${seconds} s`,
  )
} finally {
  await service.stop()
}

function residentMb(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
  return Number(found?.[1] ?? Number.NaN) / 1024
}

function descriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}
