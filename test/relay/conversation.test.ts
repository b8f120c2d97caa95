/** One relay, real sockets: commands find us over reconnects and restarts, and a stop leaves nothing
 *  behind. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { type FaultRelay, Reception, startFaultRelay } from "./fault-relay.ts"
import { compare, type Speaker, startSpeaker } from "./stage.ts"

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

const QUIET = { sessions: 5, each: 4, burst: 20 }
const isDone = ({ status, said }: { status: { behindBytes: number; isReady: boolean }; said: number }) =>
  said === 20 && status.behindBytes === 0 && status.isReady
const command = (id: string) => `{"aep":"0.1", "id":"${id}","type":"control.cancel","session":"ses_3"}`

async function commanded(to: FaultRelay, from: Speaker, id: string): Promise<void> {
  await waitFor("a claim of the session", 10_000, async () => (await to.command(command(id))) === 202)
  await waitFor("the command", 10_000, () => from.commands().includes(command(id)))
}

test("a command reaches the claimed session, after the relay came back and after our restart too", async () => {
  const port = suitePort("relay", 2)
  relay = await startFaultRelay(port, "good", reception)
  speaker = startSpeaker({ home, port, ...QUIET })
  await speaker.until("all confirmed", isDone)
  await commanded(relay, speaker, "first")

  // Nothing is said any more: the claim comes with the connection.
  await relay.kill()
  relay = await startFaultRelay(port, "good", reception)
  await commanded(relay, speaker, "second")

  await speaker.kill()
  speaker = startSpeaker({ home, port, ...QUIET })
  await commanded(relay, speaker, "third")
  expect(compare(home, reception)).toMatchObject({ logged: 20, missing: 0, foreign: 0, disordered: [] })
})

test("the last turn before an orderly stop has arrived when the process ends, and is not repeated", async () => {
  const port = suitePort("relay", 3)
  const speech = { home, port, sessions: 50, each: 2000, burst: 20 }
  relay = await startFaultRelay(port, "good", reception)
  speaker = startSpeaker(speech)
  await relay.received(2000)
  expect(await speaker.stop()).toBe(0)
  const before = compare(home, reception)
  expect(before).toMatchObject({ missing: 0, foreign: 0, disordered: [] })
  expect(before.arrivals).toBe(before.logged)
})

test("a wrong token is told once with its remedy, is never quoted, and is tried again", async () => {
  const port = suitePort("relay", 4)
  relay = await startFaultRelay(port, "good", reception)
  speaker = startSpeaker({ home, port, ...QUIET, token: "some-other-token" })
  await relay.seen("refused", 3)
  const report = await speaker.until("three attempts", ({ status }) => status.reconnects >= 2)
  expect(report.status.isReady).toBe(false)
  expect(speaker.child.stderr().match(/AEP_RELAY_TOKEN/g)).toHaveLength(1)
  expect(speaker.child.stderr()).not.toContain("some-other-token")
  expect(reception.texts()).toEqual([])
})
