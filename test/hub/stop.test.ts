/** The end of the real service as its readers meet it: everybody is told, and nobody can hold it up. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { RawClient } from "../fast/hub-socket-client.ts"
import { suitePort } from "../ports.ts"
import { eventOf, HELLO, newSession, Party } from "./client.ts"
import { Stage, TOKEN } from "./stage.ts"

/** Within this time a stop is over, whoever is connected. */
const STOP_MS = 3000

let stage: Stage
let party: Party
beforeEach(async () => {
  stage = await Stage.open(suitePort("hub", 6), { AEP_TOKEN: TOKEN })
  party = new Party(stage.url, TOKEN)
})
afterEach(() => stage.close())

/** Ends the service and returns its exit code, once it ended in time. */
async function stopInTime(): Promise<number> {
  const began = performance.now()
  const code = await stage.service.end("SIGTERM")
  expect(performance.now() - began).toBeLessThan(STOP_MS)
  return code
}

test("SIGTERM tells sockets how far they were served, and streams by a last comment", async () => {
  const session = newSession()
  const filter = { session }
  const socket = await party.greeted()
  await socket.ask({ type: "subscribe", id: "a", filter })
  const stream = await party.stream({ filter })
  const events = [0, 1].map((seq) => eventOf(session, "progress.status", { seq, data: { text: "on" } }))
  await party.told(events)
  for (const event of events) {
    expect(await socket.next()).toEqual(event)
    expect((await stream.event()).data).toBe(JSON.stringify(event))
  }
  const [code, closing, end, rest] = await Promise.all([
    stopInTime(),
    socket.next(),
    socket.closed,
    stream.rest(),
  ])
  expect(closing).toEqual({
    type: "closing",
    reason: "the service stops",
    delivered: [{ sub: "a", session, epoch: 0, seq: 1 }],
  })
  expect(end).toEqual({ code: 1001, reason: "the service stops" })
  expect(rest).toEqual([{ kind: "comment", text: "closing the service stops" }])
  expect([code, stage.service.child.stderr()]).toEqual([0, ""])
})

test("SIGTERM is over in time although readers have stopped reading amid a backlog", async () => {
  const session = newSession()
  const pad = "x".repeat(100_000)
  const stuck = await RawClient.open(party.socketUrl)
  stuck.send(HELLO, { type: "subscribe", id: "a", filter: { session } })
  // Answered behind the subscription of the one that reads nothing.
  const reader = await party.greeted()
  await reader.ask({ type: "subscribe", id: "a", filter: { session } })
  const stream = await party.ask(`/stream?filter=${encodeURIComponent(JSON.stringify({ session }))}`)
  for (let seq = 0; seq < 100; seq += 1) {
    await party.told([eventOf(session, "progress.status", { seq, severity: "notice", data: { text: pad } })])
    await reader.next()
  }
  expect(await stopInTime()).toBe(0)
  expect(stage.service.child.stderr()).toBe("")
  stuck.vanish()
  await stream.body?.cancel()
})
