/**
 * Fan-out of the embedded endpoint beside a bare `Bun.serve` publish: `bun bench/fanout.ts [--quick]`. Events a second
 * to 1, 10 and 100 consumers, the delay from door to consumer at a quiet pace, resuming over 10,000 events, and what a
 * consumer that never reads costs. Both endpoints are alive and take turns.
 */
import { suitePort } from "../test/ports.ts"
import { type Crowd, startCrowd } from "./fanout/crowd.ts"
import { BENCH_TOKEN, type Endpoint, startEndpoint } from "./fanout/server.ts"
import { startStuck } from "./fanout/stuck.ts"
import { median, quantile, row, say } from "./sample.ts"

/** Share of the floor's events a second that is to be reached with 100 consumers. */
const TARGET = 0.5
const quick = process.argv.includes("--quick")
const rounds = quick ? 3 : 9
const BATCH = 100
const WIDTHS = [22, 12, 12, 12, 12, 12]

const micros = (): number => (performance.timeOrigin + performance.now()) * 1000

let posted = 0

/** A tool event as agents make them, some 600 bytes. */
function eventLine(session: string, seq: number): string {
  posted += 1
  return JSON.stringify({
    aep: "0.1",
    id: `01J${String(posted).padStart(23, "0")}`,
    type: "tool.completed",
    subject: "bash",
    time: new Date().toISOString(),
    source: `aep://bench/agent/bench/session/${session}`,
    agent: "bench",
    session,
    run: "run-1",
    seq,
    epoch: 0,
    cause: `01J${String(posted - 1).padStart(23, "0")}`,
    severity: "notice",
    capture: "metadata",
    benchat: Math.round(micros()),
    data: {
      tool: { name: "bash", call_id: `call-${posted}` },
      duration_ms: 12,
      status: "success",
      result_digest: "9623cdc86ee0e1f01e338bc35845417f",
      output_lines: Array.from({ length: 8 }, (_, index) => index * 1000),
    },
  })
}

async function post(port: number, lines: readonly string[]): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/events`, {
    method: "POST",
    headers: {
      "aep-version": "0.1",
      "content-type": "application/x-ndjson",
      authorization: `Bearer ${BENCH_TOKEN}`,
    },
    body: `${lines.join("\n")}\n`,
  })
  if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}

interface Stream {
  endpoint: Endpoint
  crowd: Crowd
  session: string
  seq: number
  seen: number
}

/** Posts `count` events as fast as they are taken; events a second until the last consumer had the last one. */
async function flood(stream: Stream, count: number): Promise<number> {
  const { endpoint, crowd, session } = stream
  const bodies = Array.from({ length: count / BATCH }, () =>
    Array.from({ length: BATCH }, () => eventLine(session, stream.seq++)),
  )
  const started = micros()
  for (const lines of bodies) await post(endpoint.port, lines)
  stream.seen += count
  const { at } = await crowd.until(stream.seen)
  return (count * 1_000_000) / (at - started)
}

/** Delays in microseconds from just before the post to the consumer, one event a post, at a pace far from full. */
async function stroll(stream: Stream, count: number): Promise<number[]> {
  const delays: number[] = []
  for (let sent = 0; sent < count; sent += 1) {
    await post(stream.endpoint.port, [eventLine(stream.session, stream.seq++)])
    stream.seen += 1
    delays.push(...(await stream.crowd.until(stream.seen)).delays.slice(-1))
  }
  return delays
}

const port = (index: number): number => suitePort("bench", index)
const endpoints = [await startEndpoint("floor", port(5)), await startEndpoint("service", port(6))]
try {
  say(row(["", "", "events/s", "of floor", "p50 us", "p99 us"], WIDTHS))
  for (const consumers of [1, 10, 100]) await fanOut(consumers)
  await resume()
  await beside()
} finally {
  for (const endpoint of endpoints) await endpoint.stop()
}

async function fanOut(consumers: number): Promise<void> {
  const count = (quick ? 10_000 : 20_000) / (consumers === 100 ? 5 : 1)
  const streams: Stream[] = []
  for (const endpoint of endpoints) {
    const crowd = await startCrowd(endpoint.port, consumers)
    streams.push({ endpoint, crowd, session: `fan-${consumers}`, seq: 0, seen: 0 })
  }
  // The compilers first.
  for (const stream of streams) for (let at = 0; at < 3; at += 1) await flood(stream, count)
  const speeds = new Map<string, number[]>(streams.map(({ endpoint }) => [endpoint.name, []]))
  const shares: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const seen = new Map<string, number>()
    for (const stream of round % 2 === 0 ? streams : [...streams].reverse()) {
      const speed = await flood(stream, count)
      seen.set(stream.endpoint.name, speed)
      speeds.get(stream.endpoint.name)?.push(speed)
    }
    shares.push((seen.get("service") ?? Number.NaN) / (seen.get("floor") ?? Number.NaN))
  }
  for (const stream of streams) {
    const { name } = stream.endpoint
    const delays = await stroll(stream, quick ? 200 : 1_000)
    const share = name === "floor" ? 1 : median(shares)
    const verdict =
      consumers === 100 && name === "service"
        ? `  target >= ${TARGET}x: ${share >= TARGET ? "held" : "MISSED"}`
        : ""
    const cells = [
      `${consumers} consumer(s)`,
      name,
      median(speeds.get(name) ?? []).toFixed(0),
      `${share.toFixed(2)}x`,
      median(delays).toFixed(0),
      quantile(delays, 0.99).toFixed(0),
    ]
    say(row(cells, WIDTHS) + verdict)
  }
  for (const { crowd } of streams) await crowd.stop()
}

async function resume(): Promise<void> {
  const count = 10_000
  const session = "resume"
  const spent = new Map<string, number[]>(endpoints.map(({ name }) => [name, []]))
  const shares: number[] = []
  const lines = Array.from({ length: count }, (_, seq) => eventLine(session, seq))
  const fresh = [await startEndpoint("floor", port(7)), await startEndpoint("service", port(8))]
  try {
    for (const endpoint of fresh) {
      for (let at = 0; at < count; at += BATCH) await post(endpoint.port, lines.slice(at, at + BATCH))
    }
    for (let round = 0; round < rounds; round += 1) {
      const seen = new Map<string, number>()
      for (const endpoint of round % 2 === 0 ? fresh : [...fresh].reverse()) {
        const started = micros()
        const crowd = await startCrowd(endpoint.port, 1, JSON.stringify([{ session, epoch: 0, seq: 0 }]))
        // The service leaves out the position that is named; the floor knows no positions.
        const { at } = await crowd.until(endpoint.name === "floor" ? count : count - 1)
        seen.set(endpoint.name, (at - started) / 1000)
        spent.get(endpoint.name)?.push((at - started) / 1000)
        await crowd.stop()
      }
      shares.push((seen.get("service") ?? Number.NaN) / (seen.get("floor") ?? Number.NaN))
    }
  } finally {
    for (const endpoint of fresh) await endpoint.stop()
  }
  const [floor, ours] = [median(spent.get("floor") ?? []), median(spent.get("service") ?? [])]
  say(
    `resuming over ${count} events, start of the consumer's process included: ${ours.toFixed(0)} ms, ${median(shares).toFixed(2)}x the floor (${floor.toFixed(0)} ms)`,
  )
}

/** The same flood to ten consumers, alone and beside one that never reads. */
async function beside(): Promise<void> {
  const service = endpoints.find(({ name }) => name === "service")
  if (service === undefined) return
  const count = quick ? 10_000 : 20_000
  const stream: Stream = {
    endpoint: service,
    crowd: await startCrowd(service.port, 10),
    session: "beside",
    seq: 0,
    seen: 0,
  }
  for (let at = 0; at < 2; at += 1) await flood(stream, count)
  const shares: number[] = []
  let grownMb = 0
  for (let round = 0; round < rounds; round += 1) {
    const alone = await flood(stream, count)
    const before = await service.rss()
    const stuck = await startStuck(service.port)
    const together = await flood(stream, count)
    grownMb = Math.max(grownMb, ((await service.rss()) - before) / 1024 / 1024)
    stuck.end()
    shares.push(together / alone)
  }
  say(
    `ten consumers beside one that never reads: ${median(shares).toFixed(2)}x of their events/s alone; resident memory grew by at most ${grownMb.toFixed(0)} MB`,
  )
  await stream.crowd.stop()
}
