/**
 * Moments a second through the real service (checked, mapped, logged, answered), beside a bare Hono route and a
 * bare `Bun.serve` that only parse the same body: `bun bench/intake.ts [--quick]`. Client and server share the
 * machine, so the server's processor time a moment is told as well.
 */
import { join } from "node:path"
import { suitePort } from "../test/ports.ts"
import { drive, type Script, writeScript } from "./intake/drive.ts"
import { SERVERS, type ServerName, startServer } from "./intake/server.ts"
import { median, row, say } from "./sample.ts"
import type { Server } from "./server.ts"

/** Share of the bare Hono route's moments a second that the service is to reach with one moment a request. */
const TARGET = 0.4
/** Moments a second in batches that the service is to take with redaction on, on the machine of the README. */
const BATCHED_TARGET = 100_000
const CONNECTIONS = 4
// The measured requests of a process are cut in pieces and the servers take turns piece by piece, so that what else runs
// on the machine hits all of them alike. Warm until the compiler is done: a service runs for days, and behind 5,000 a
// connection the next 20,000 moments still cost a fifth more than those after them.
const SHAPES = [
  { name: "one a request", size: 1, requests: 5_000, warm: 10_000, pieces: 10 },
  { name: "100 a request", size: 100, requests: 400, warm: 100, pieces: 4 },
] as const

const quick = process.argv.includes("--quick")
const rounds = quick ? 2 : 5
const WIDTHS = [14, 10, 12, 16, 14, 16]

/** What was seen of one server: of each piece, and of each process. */
interface Sample {
  perSecond: number[]
  ofHono: number[]
  cpuMicros: number[]
}

interface Subject {
  name: ServerName
  server: Server
  port: number
  scripts: readonly Script[]
}

say(
  `moments through the service, ${CONNECTIONS} connections, recorded mix, ${rounds} processes each, all alive and taking turns; medians of all pieces`,
)
say(row(["", "", "moments/s", "of bare Hono", "CPU us/moment", "of bare Hono"], WIDTHS))
for (const shape of SHAPES) {
  const samples = new Map<ServerName, Sample>(
    SERVERS.map((name) => [name, { perSecond: [], ofHono: [], cpuMicros: [] }]),
  )
  const written = SERVERS.map((name, index) => ({
    name,
    ...scriptsFor(suitePort("bench", 5 + index), shape),
  }))
  for (let round = 0; round < rounds; round += 1) await measureRound(written, shape, samples)
  for (const name of SERVERS) {
    const { perSecond, ofHono, cpuMicros } = samples.get(name) ?? { perSecond: [], ofHono: [], cpuMicros: [] }
    const [speed, ratio, cpu] = [median(perSecond), median(ofHono), median(cpuMicros)]
    const ofCpu = cpu / median(samples.get("hono")?.cpuMicros ?? [])
    const cells = [
      shape.name,
      name,
      speed.toFixed(0),
      `${ratio.toFixed(2)}x`,
      cpu.toFixed(1),
      `${ofCpu.toFixed(1)}x`,
    ]
    say(row(cells, WIDTHS) + verdictOn(name, shape.size, speed, ratio))
  }
}

function scriptsFor(port: number, { size, requests, warm }: (typeof SHAPES)[number]) {
  const scripts = Array.from({ length: CONNECTIONS }, (_, index) =>
    writeScript(`c${index}`, port, warm + requests, size),
  )
  return { port, scripts }
}

async function measureRound(
  written: readonly Omit<Subject, "server">[],
  { size, requests, warm, pieces }: (typeof SHAPES)[number],
  samples: ReadonlyMap<ServerName, Sample>,
): Promise<void> {
  const subjects: Subject[] = []
  try {
    for (const each of written) {
      subjects.push({ ...each, server: await startServer(each.name, each.port) })
      await drive(
        each.port,
        each.scripts.map((script) => script.slice(0, warm)),
      )
    }
    const cpuBefore = new Map(subjects.map(({ name, server }) => [name, server.cpuMs()]))
    const piece = requests / pieces
    for (let at = 0; at < pieces; at += 1) {
      const speeds = new Map<ServerName, number>()
      for (const { name, port, scripts } of at % 2 === 0 ? subjects : [...subjects].reverse()) {
        const from = warm + at * piece
        const part = scripts.map((script) => script.slice(from, from + piece))
        const started = performance.now()
        await drive(port, part)
        speeds.set(name, (piece * size * CONNECTIONS * 1000) / (performance.now() - started))
      }
      for (const [name, speed] of speeds) {
        samples.get(name)?.perSecond.push(speed)
        samples.get(name)?.ofHono.push(speed / (speeds.get("hono") ?? Number.NaN))
      }
    }
    for (const { name, server } of subjects) {
      const spentMs = server.cpuMs() - (cpuBefore.get(name) ?? 0)
      samples.get(name)?.cpuMicros.push((spentMs * 1000) / (requests * size * CONNECTIONS))
    }
  } finally {
    for (const { server } of subjects) await server.stop()
  }
}

function verdictOn(server: ServerName, size: number, speed: number, ofHono: number): string {
  const held = (isHeld: boolean) => (isHeld ? "held" : "MISSED")
  if (server === "service" && size === 1) return `  target >= ${TARGET}x: ${held(ofHono >= TARGET)}`
  if (server === "redacting" && size > 1) {
    return `  target >= ${BATCHED_TARGET / 1000} k/s: ${held(speed >= BATCHED_TARGET)}`
  }
  return ""
}

const appends: { append: number; write: number }[] = []
for (let round = 0; round < rounds; round += 1) {
  const child = Bun.spawnSync([process.execPath, join(import.meta.dir, "intake/append.ts")])
  appends.push(JSON.parse(child.stdout.toString()))
}
const append = median(appends.map((sample) => sample.append))
const write = median(appends.map((sample) => sample.write))
say(
  `one log append ${append.toFixed(1)} us, ${(append / write).toFixed(2)}x the bare write (${write.toFixed(1)} us)`,
)
