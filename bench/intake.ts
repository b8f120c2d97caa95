/**
 * Moments a second through the real service (checked, mapped, logged, answered), beside a bare Hono route and a
 * bare `Bun.serve` that only parse the same body: `bun bench/intake.ts [--quick]`. Client and server share the
 * machine, so the server's processor time a moment is told as well.
 */
import { join } from "node:path"
import { suitePort } from "../test/ports.ts"
import { drive, writeScript } from "./intake/drive.ts"
import { SERVERS, type ServerName, startServer } from "./intake/server.ts"
import { alternate, median, row, say } from "./sample.ts"

/** Share of the bare Hono route's moments a second that the service is to reach with one moment a request. */
const TARGET = 0.4
/** Moments a second in batches that the service is to take with redaction on, on the machine of the README. */
const BATCHED_TARGET = 100_000
const CONNECTIONS = 4
// Warm until the compiler is done, which for the service takes some ten thousand moments.
const SHAPES = [
  { name: "one a request", size: 1, requests: 5_000, warm: 5_000 },
  { name: "100 a request", size: 100, requests: 200, warm: 50 },
] as const

const quick = process.argv.includes("--quick")
const rounds = quick ? 3 : 7
const port = suitePort("bench", 5)
const WIDTHS = [14, 10, 12, 16, 14, 16]

interface Sample {
  perSecond: number[]
  cpuMicros: number[]
}

say(
  `moments through the service, ${CONNECTIONS} connections, recorded mix, median of ${rounds} processes each`,
)
say(row(["", "", "moments/s", "of bare Hono", "CPU us/moment", "of bare Hono"], WIDTHS))
for (const { name, size, requests, warm } of SHAPES) {
  const results = new Map<ServerName, Sample>(SERVERS.map((each) => [each, { perSecond: [], cpuMicros: [] }]))
  const scripts = Array.from({ length: CONNECTIONS }, (_, index) =>
    writeScript(`c${index}`, port, warm + requests, size),
  )
  await alternate(rounds, SERVERS, async (server) => {
    const running = await startServer(server, port)
    try {
      await drive(
        port,
        scripts.map((script) => script.slice(0, warm)),
      )
      const cpuBefore = running.cpuMs()
      const started = performance.now()
      await drive(
        port,
        scripts.map((script) => script.slice(warm)),
      )
      const seconds = (performance.now() - started) / 1000
      const moments = requests * size * CONNECTIONS
      results.get(server)?.perSecond.push(moments / seconds)
      results.get(server)?.cpuMicros.push(((running.cpuMs() - cpuBefore) * 1000) / moments)
    } finally {
      await running.stop()
    }
  })
  const figure = (server: ServerName, member: keyof Sample) => median(results.get(server)?.[member] ?? [])
  for (const server of SERVERS) {
    const speed = figure(server, "perSecond")
    const cpu = figure(server, "cpuMicros")
    const [ofSpeed, ofCpu] = [speed / figure("hono", "perSecond"), cpu / figure("hono", "cpuMicros")]
    const verdict = verdictOn(server, size, speed, ofSpeed)
    const cells = [
      name,
      server,
      speed.toFixed(0),
      `${ofSpeed.toFixed(2)}x`,
      cpu.toFixed(1),
      `${ofCpu.toFixed(1)}x`,
    ]
    say(row(cells, WIDTHS) + verdict)
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
