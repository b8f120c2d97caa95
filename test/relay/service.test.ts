/**
 * The whole service behind its plugin door, with a relay that has every fault there is and a kill -9 in the middle: 50,000
 * events of 200 sessions go in as moments, and each reaches the relay at least once and in order, in bounded memory, while the
 * door answers all the time. The service's own time limits, nothing shortened. Prints its figures.
 */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { waitFor } from "../agent/wait.ts"
import { type Home, openHome, type Running, startService, textOf } from "../crash/service.ts"
import { instanceOf } from "../house.ts"
import { suitePort } from "../ports.ts"
import { type FaultRelay, RELAY_TOKEN, Reception, startFaultRelay } from "./fault-relay.ts"
import { compare } from "./stage.ts"

const SESSIONS = 200
const EACH = 250
const BATCH = 50
const KEY = "relay-suite-key-0123456789"
const TOKEN = "relay-suite-token-0123456789"
const CREDENTIAL = createHmac("sha256", KEY).update("door/1").digest("hex")
/** It is some 165 MB, with 16 MB of logs. That no texts are kept is for `flapping.test.ts` to show, which says longer ones. */
const MOST_RSS_BYTES = 220 * 1024 * 1024
/** How often `misbehave` kills the service. */
const KILLS = 2
/** What a post may take; the plugin gives up on it after five seconds. */
const MOST_POST_MS = 2_000
const PATIENCE_MS = 120_000

const servicePort = suitePort("relay", 4)
const relayPort = suitePort("relay", 5)

let home: Home
let reception: Reception
let service: Running
let relay: FaultRelay | undefined
beforeEach(async () => {
  home = openHome()
  reception = new Reception()
  service = await start()
})
afterEach(async () => {
  await service?.child.stop()
  await relay?.kill()
  reception.remove()
  home.remove()
})

const start = (): Promise<Running> =>
  startService(home.path, servicePort, {
    AEP_OPENCODE_KEY: KEY,
    AEP_TOKEN: TOKEN,
    AEP_RELAY_URL: `ws://127.0.0.1:${relayPort}`,
    AEP_RELAY_TOKEN: RELAY_TOKEN,
  })

/** The plugin's side: batches in order, each sent again with the same indexes until it is acknowledged. */
class Feeder {
  readonly counts = { posts: 0, failed: 0, slowestMs: 0 }
  mostRssBytes = 0
  /** While the service is killed: settles when it is there again. A post that fails meanwhile is no fault. */
  back: Promise<void> | undefined
  private readonly instance = instanceOf("i-feeder")
  private next = 0
  private allowed = 0
  private wake: () => void = () => undefined

  /** Lets so many more moments go, so that each fault has something of its own to spoil. */
  allow(count: number): void {
    this.allowed = Math.min(SESSIONS * EACH, this.allowed + count)
    this.wake()
  }

  /** Feeds what is allowed, until that was everything. */
  async run(): Promise<void> {
    while (this.next < SESSIONS * EACH) {
      if (this.next >= this.allowed) {
        await new Promise<void>((resolve) => {
          this.wake = resolve
        })
        continue
      }
      const first = this.next
      const moments = Array.from({ length: BATCH }, (_, at) => momentAt(first + at))
      if (await this.post(JSON.stringify({ instance: this.instance, first, moments }))) this.next += BATCH
      if ((first / BATCH) % 20 === 0) this.mostRssBytes = Math.max(this.mostRssBytes, rssOf(service.pid))
    }
  }

  /** Whether it was acknowledged. */
  private async post(body: string): Promise<boolean> {
    const began = performance.now()
    const { back } = this
    const answer = await this.answerTo(body).catch((error: unknown) => error)
    if (answer instanceof Error) {
      const again = back ?? this.back
      if (again === undefined) throw answer
      this.counts.failed += 1
      await again
      return false
    }
    expect(answer).toEqual({ status: 202, next: this.next + BATCH, rejected: [] })
    this.counts.posts += 1
    this.counts.slowestMs = Math.max(this.counts.slowestMs, performance.now() - began)
    return true
  }

  private async answerTo(body: string): Promise<unknown> {
    const answer = await fetch(`${service.url}/opencode/moments`, {
      method: "POST",
      headers: { authorization: `Bearer ${CREDENTIAL}`, "content-type": "application/json" },
      body,
    })
    return { status: answer.status, ...((await answer.json()) as object) }
  }
}

/** One moment that makes one event, the sessions in turn. */
function momentAt(n: number): unknown {
  const sessionID = `ses_${String(n % SESSIONS).padStart(3, "0")}`
  const event = { type: "session.compacted", properties: { sessionID } }
  return { kind: "bus", event, n, at: Date.now() }
}

/** Resident memory; 0 of a process that is gone. */
function rssOf(pid: number): number {
  const status = textOf(`/proc/${pid}/status`) ?? ""
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024
}

/** Whether the service says that the relay is there. */
async function isRelayed(): Promise<boolean> {
  const answer = await fetch(`${service.url}/healthz`)
  return ((await answer.json()) as { relay: boolean }).relay
}

async function metric(name: string): Promise<number> {
  const answer = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return Number(new RegExp(`^${name} (\\d+)`, "m").exec(await answer.text())?.[1] ?? Number.NaN)
}

const until = (what: string, holds: () => Promise<boolean>) =>
  waitFor(what, PATIENCE_MS, holds, () => service.child.stderr())

/** Every fault in turn, each until it was felt; the service is killed amid two of them. */
async function misbehave(feeder: Feeder): Promise<void> {
  feeder.allow(5_000)
  expect(await isRelayed()).toBe(false)
  relay = await startFaultRelay(relayPort, "good", reception)
  feeder.allow(10_000)
  await relay.received(2_000)
  await relay.kill()
  relay = await startFaultRelay(relayPort, "short", reception)
  feeder.allow(5_000)
  await relay.seen("closed", 3)
  await relay.kill()
  feeder.allow(5_000)
  relay = await startFaultRelay(relayPort, "late", reception)
  await relay.received(500)
  feeder.allow(5_000)
  await again(feeder)
  await relay.received(1_000)
  await relay.kill()
  relay = await startFaultRelay(relayPort, "mute", reception)
  feeder.allow(5_000)
  await relay.seen("upgrade", 1)
  expect(await isRelayed()).toBe(false)
  await again(feeder)
  await relay.kill()
  relay = await startFaultRelay(relayPort, "refusing", reception)
  feeder.allow(5_000)
  await relay.seen("refused", 1)
  await relay.kill()
  relay = await startFaultRelay(relayPort, "good", reception)
  await until("the relay found again", isRelayed)
  const before = await metric("aep_relay_reconnects_total")
  relay.freeze()
  feeder.allow(SESSIONS * EACH)
  await until("a frozen relay left", async () => (await metric("aep_relay_reconnects_total")) > before)
  relay.thaw()
  await relay.kill()
}

async function again(feeder: Feeder): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  feeder.back = promise
  await service.kill()
  service = await start()
  feeder.back = undefined
  resolve()
}

test("everything that plugins tell reaches a relay that flaps, over kill -9, and their door answers all the while", async () => {
  const feeder = new Feeder()
  await Promise.all([feeder.run(), misbehave(feeder)])
  relay = await startFaultRelay(relayPort, "good", reception)
  await until("everything confirmed", async () => (await metric("aep_relay_behind_bytes")) === 0)
  expect(await isRelayed()).toBe(true)
  await service.end("SIGTERM")

  const { logged, logBytes, arrivals, ...rest } = compare(home.path, reception)
  const { posts, failed, slowestMs } = feeder.counts
  process.stdout.write(
    `through the service: ${logged} events, ${Math.round(logBytes / 1e6)} MB of logs, ${arrivals} arrivals; ` +
      `${posts} posts, slowest ${Math.round(slowestMs)} ms, ${failed} failed in ${KILLS} kills; ` +
      `highest RSS ${Math.round(feeder.mostRssBytes / 1e6)} MB\n`,
  )
  expect(rest).toEqual({ missing: 0, foreign: 0, disordered: [] })
  expect(logged).toBeGreaterThanOrEqual(SESSIONS * EACH)
  // The one that was under way at each kill.
  expect(failed).toBeLessThanOrEqual(KILLS)
  expect(slowestMs).toBeLessThan(MOST_POST_MS)
  expect(feeder.mostRssBytes).toBeLessThan(MOST_RSS_BYTES)
}, 300_000)
