/** The live checker's checks of a buffer that overflows, against the real service with one of eight events. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import type { AepEvent } from "../../shared/aep.ts"
import { suitePort } from "../ports.ts"
import { eventOf, newSession, Party, sessionOf } from "./client.ts"
import { Stage, TOKEN } from "./stage.ts"

const BUFFER = 8

let stage: Stage
let party: Party
beforeAll(async () => {
  stage = await Stage.open(suitePort("hub", 8), { AEP_TOKEN: TOKEN, AEP_BUFFER: `${BUFFER}` })
  party = new Party(stage.url, TOKEN)
})
afterAll(() => stage.close())

/** Posts eight events more than are held, with members that a careless writer would change. */
async function flood(session: string): Promise<AepEvent[]> {
  const events = Array.from({ length: BUFFER + 8 }, (_, seq) =>
    eventOf(session, "progress.status", {
      epoch: 1,
      seq,
      data: { text: `\u2028 é 😀 \ud800 ${seq}`, "10": 1, "9": { b: 1, a: 2 }, float: 1e21 },
      vendorflag: true,
    }),
  )
  await party.told(events)
  return events
}

/** What a socket and a stream are given behind a position, as text: the mark's earliest, and the events. */
async function resumeBoth(session: string, seq: number) {
  const from = [{ session, epoch: 1, seq }]
  const socket = await party.greeted()
  socket.send({ type: "subscribe", id: "late", from })
  const [subscribed, ...told] = await socket.settled()
  await socket.close()
  return { subscribed, told, held: await party.held({ from }) }
}

test("evict-replay-exhausted: the buffer is as deep as is advertised, and both bindings mark what is gone alike", async () => {
  const { capabilities } = await (await party.ask("/events")).json()
  expect(capabilities.replay).toEqual({ buffer: BUFFER, all: true })
  const [session, other] = [newSession(), newSession()]
  await party.told(sessionOf(other))
  const events = await flood(session)
  const { subscribed, told, held } = await resumeBoth(session, 0)
  expect(JSON.parse(subscribed ?? "")).toEqual({ type: "subscribed", id: "late" })
  const [mark, ...rest] = told.map((text) => JSON.parse(text))
  const earliest = { epoch: 1, seq: events.length - BUFFER }
  expect(mark).toEqual({ type: "replay-exhausted", sub: "late", session, earliest })
  expect(rest.map(({ seq }) => seq)).toEqual([8, 9, 10, 11, 12, 13, 14, 15])
  expect(rest.every((event) => event.session === session)).toBe(true)
  expect(held.comments.filter((text) => text.startsWith("replay"))).toEqual([
    `replay-exhausted ${session} 1:${earliest.seq}`,
    "replay-complete",
  ])
})

test("evict-replay-exhausted: a position behind the last event that is gone is served without a mark", async () => {
  const session = newSession()
  await flood(session)
  const { told, held } = await resumeBoth(session, BUFFER - 1)
  expect(told.map((text) => JSON.parse(text).seq)).toEqual([8, 9, 10, 11, 12, 13, 14, 15])
  expect(held.comments).not.toContainEqual(expect.stringContaining("replay-exhausted"))
})

test("evict-byte-identity: what is delivered after the overflow is byte for byte what was posted, on both bindings", async () => {
  const session = newSession()
  const posted = (await flood(session)).slice(-BUFFER).map((event) => JSON.stringify(event))
  const { told, held } = await resumeBoth(session, 0)
  expect(told.slice(1)).toEqual(posted)
  expect(held.texts).toEqual(posted)
})
