/**
 * The consumers of the fan-out bench, in a process of their own: `bun bench/fanout/consumers.ts <port> <count> [from]`.
 * Says `ready` when all are subscribed. Reads the number of events to expect, one number a line, and answers each with
 * `{seconds, delays}`: when the last consumer had the last event, and how late events that carry `benchat` came.
 */
import { createInterface } from "node:readline"
import { BENCH_TOKEN } from "./server.ts"

const [port, count, from] = process.argv.slice(2)
const STAMP = /"benchat":(\d+)/
/** One event in so many is asked for its time, so that parsing does not become the bench. */
const SAMPLED = 64

let expected = Number.POSITIVE_INFINITY
let finished = 0
let delays: number[] = []
let tell: () => void = () => undefined

const micros = (): number => (performance.timeOrigin + performance.now()) * 1000
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)

const seen = new Array<number>(Number(count)).fill(0)
const open = (index: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`, {
      headers: { authorization: `Bearer ${BENCH_TOKEN}` },
    } as never)
    socket.onerror = () => reject(new Error("a consumer could not connect"))
    socket.onopen = () => {
      socket.send('{"type":"hello","versions":["0.1"],"role":"consumer"}')
      const resume = from === undefined ? "" : `,"from":${from}`
      socket.send(`{"type":"subscribe","id":"s","filter":{}${resume}}`)
    }
    socket.onmessage = ({ data }) => {
      const text = String(data)
      if (!text.startsWith('{"aep"')) {
        if (text.includes('"subscribed"')) resolve()
        return
      }
      const nth = (seen[index] ?? 0) + 1
      seen[index] = nth
      if (nth % SAMPLED === 0 || expected - nth < 2) {
        const stamp = STAMP.exec(text)?.[1]
        if (stamp !== undefined) delays.push(micros() - Number(stamp))
      }
      if (nth === expected) {
        finished += 1
        if (finished === seen.length) tell()
      }
    }
  })

await Promise.all(seen.map((_, index) => open(index)))
say("ready")
for await (const line of createInterface({ input: process.stdin })) {
  expected = Number(line)
  finished = seen.filter((nth) => nth >= expected).length
  if (finished < seen.length) {
    await new Promise<void>((resolve) => {
      tell = resolve
    })
  }
  say({ at: micros(), delays })
  delays = []
}
process.exit(0)
