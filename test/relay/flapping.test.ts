/**
 * A relay with every fault there is, while 50,000 events of 200 sessions are said: each arrives at least
 * once, each session's in order, and the memory of the speaker does not grow with what waits. Prints its
 * figures.
 */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { suitePort } from "../ports.ts"
import { type FaultRelay, Reception, startFaultRelay } from "./fault-relay.ts"
import { compare, type Speaker, startSpeaker } from "./stage.ts"

const SESSIONS = 200
const EACH = 250
const TOTAL = SESSIONS * EACH
/** The process needs some 80 MB with or without a backlog; the logs come to 70 MB, and texts kept would
 *  show. */
const MOST_RSS_BYTES = 140 * 1024 * 1024

let home: string
let reception: Reception
let relay: FaultRelay | undefined
let speaker: Speaker | undefined
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "aep-relay-"))
  reception = new Reception()
})
afterEach(async () => {
  await speaker?.stop()
  await relay?.kill()
  reception.remove()
  rmSync(home, { recursive: true, force: true })
})

/** Every fault in turn, each until it was felt. */
async function misbehave(port: number, felt: () => Speaker): Promise<void> {
  relay = await startFaultRelay(port, "good", reception)
  await relay.received(2000)
  await relay.kill()
  relay = await startFaultRelay(port, "mute", reception)
  await relay.seen("upgrade", 2)
  await relay.kill()
  relay = await startFaultRelay(port, "refusing", reception)
  await relay.seen("refused", 3)
  await relay.kill()
  relay = await startFaultRelay(port, "short", reception)
  await relay.seen("closed", 6)
  await relay.kill()
  relay = await startFaultRelay(port, "late", reception)
  await relay.received(1000)
  const before = await felt().fresh()
  relay.freeze()
  await felt().until(
    "a frozen relay left and tried again",
    ({ status }) => status.reconnects > before.status.reconnects && status.behindBytes > 0,
  )
  relay.thaw()
  await relay.seen("hello", 2)
  await relay.kill()
}

test("50,000 events of 200 sessions reach a relay that flaps, in order and in bounded memory", async () => {
  const port = suitePort("relay", 0)
  const speak = startSpeaker({ home, port, sessions: SESSIONS, each: EACH, burst: 20 })
  speaker = speak
  await speak.until("events said to nobody", ({ said }) => said > 1000)
  await misbehave(port, () => speak)
  relay = await startFaultRelay(port, "good", reception)
  const done = await speak.until(
    "everything confirmed",
    ({ said, status }) => said === TOTAL && status.behindBytes === 0,
  )
  expect(await speak.stop()).toBe(0)

  const { logBytes, arrivals, ...rest } = compare(home, reception)
  process.stdout.write(
    `flapping: ${TOTAL} events, ${Math.round(logBytes / 1e6)} MB of logs, ${arrivals} arrivals, ` +
      `${done.status.reconnects} reconnects, highest RSS ${Math.round(done.mostRssBytes / 1e6)} MB\n`,
  )
  expect(rest).toEqual({ logged: TOTAL, missing: 0, foreign: 0, disordered: [] })
  expect(done.status).toMatchObject({ isReady: true, behindLogs: 0, cut: 0, skipped: 0, dropped: 0 })
  expect(done.mostRssBytes).toBeLessThan(MOST_RSS_BYTES)
  expect(speak.child.stderr()).toContain("AEP_RELAY_TOKEN")
  expect(speak.child.stderr()).not.toContain("fault-relay-token")
})

test("the same with kill -9 of the speaker in the middle of each fault", async () => {
  const port = suitePort("relay", 1)
  const speech = { home, port, sessions: SESSIONS, each: EACH, burst: 20 }
  let kills = 0
  const again = async (): Promise<void> => {
    await speaker?.kill()
    kills += 1
    speaker = startSpeaker(speech)
    await speaker.until("the logs taken up", ({ said }) => said > 0)
  }
  const current = (): Speaker => speaker ?? startSpeaker(speech)
  speaker = startSpeaker(speech)
  await speaker.until("events said to nobody", ({ said }) => said > 1000)
  await again()
  for (const manner of ["good", "short", "late", "good", "mute", "good", "refusing", "short"] as const) {
    relay = await startFaultRelay(port, manner, reception)
    if (manner === "mute") await relay.seen("upgrade", 1)
    else if (manner === "refusing") await relay.seen("refused", 1)
    else await relay.received(500)
    await again()
    if (manner !== "mute" && manner !== "refusing") await relay.received(1000)
    await relay.kill()
  }
  relay = await startFaultRelay(port, "good", reception)
  const done = await current().until(
    "everything confirmed",
    ({ said, status }) => said === TOTAL && status.behindBytes === 0,
  )
  expect(await current().stop()).toBe(0)

  const { logBytes, arrivals, ...rest } = compare(home, reception)
  process.stdout.write(
    `${kills} kills: ${TOTAL} events, ${Math.round(logBytes / 1e6)} MB of logs, ${arrivals} arrivals, ` +
      `highest RSS of the last process ${Math.round(done.mostRssBytes / 1e6)} MB\n`,
  )
  expect(rest).toEqual({ logged: TOTAL, missing: 0, foreign: 0, disordered: [] })
  expect(done.mostRssBytes).toBeLessThan(MOST_RSS_BYTES)
})
