/**
 * Sessions of our own at the embedded endpoint: what readers get is what stands in the log, and stood there before;
 * over a `kill -9` of the service too, since what is held comes from the logs again. And nobody else speaks in them.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { suitePort } from "../ports.ts"
import type { Step } from "../replay.ts"
import { type At, EMITTER, eventOf, Party } from "./client.ts"
import { conversationOf, eventsOf, runsEnded, Stage, TOKEN } from "./stage.ts"

const SESSION = "ses_own"
const conversation = conversationOf("1.18.33-two-turns", SESSION)
const { steps, runs } = conversation
/** Somewhere in the middle of the second turn. */
const CUT = Math.floor(steps.length * 0.7)

let stage: Stage
let party: Party
beforeEach(async () => {
  stage = await Stage.open(suitePort("hub", 6), { AEP_TOKEN: TOKEN })
  party = new Party(stage.url, TOKEN)
})
afterEach(() => stage.close())

/** Takes texts until there are enough; each must stand in the log when it comes. */
async function followLog(next: () => Promise<string>, isDone: (got: readonly string[]) => boolean) {
  const got: string[] = []
  while (!isDone(got)) {
    const text = await next()
    expect(stage.logged(SESSION)).toContain(text)
    got.push(text)
  }
  return got
}

/** One moment a request, so that a reader is given events while others are still to come. */
async function tellSlowly(moments: readonly Step[]): Promise<void> {
  for (const step of moments) await stage.tell([step])
}

/** Whether this is the whole conversation. */
const isWhole = (got: readonly string[]): boolean => runsEnded(got) === runs

describe("events of a session of ours", () => {
  test("arrive at stream and socket as they stand in the log, in its order, and never before they stand there", async () => {
    const filter = { session: SESSION }
    const stream = await party.stream({ filter })
    const socket = await party.greeted()
    await socket.ask({ type: "subscribe", id: "a", filter })
    const [streamed, sent] = await Promise.all([
      followLog(async () => (await stream.event()).data, isWhole),
      followLog(() => socket.nextText(), isWhole),
      tellSlowly(steps),
    ])
    expect(streamed).toEqual(stage.logged(SESSION))
    expect(sent).toEqual(stage.logged(SESSION))
    await Promise.all([stream.cancel(), socket.close()])
  })

  test("are held for whoever comes late, under a ceiling without what is above it", async () => {
    await stage.converse(conversation)
    const filter = { session: SESSION }
    const { texts } = await party.held({ filter, from: "all" })
    expect(texts).toEqual(stage.logged(SESSION))
    const low = await party.held({ filter, from: "all", capture: "none" })
    expect(low.events.map(({ seq }) => seq)).toEqual(eventsOf(texts).map(({ seq }) => seq))
    expect(low.events.filter(({ data }) => data !== undefined)).toEqual([])
  })
})

describe("over a kill -9 and a new start", () => {
  /** Reads so many events of the first process, and returns where it stands. */
  async function standing(count: number): Promise<{ at: At; got: string[] }> {
    const reader = await party.stream({ filter: { session: SESSION } })
    await stage.tell(steps.slice(0, CUT))
    const got: string[] = []
    while (got.length < count) got.push((await reader.event()).data)
    const [last] = eventsOf(got).slice(-1)
    await stage.service.kill()
    if (last?.seq === undefined) throw new Error("an event without a position")
    return { at: { session: SESSION, epoch: last.epoch ?? 0, seq: last.seq }, got }
  }

  test("a reader goes on where it stood, with all it missed, and then live: the log, once, in order", async () => {
    const { at, got } = await standing(3)
    const missed = stage.logged(SESSION).slice(3)
    expect(missed.length).toBeGreaterThan(3)
    await stage.startAgain()

    const filter = { session: SESSION }
    const stream = await party.stream({ filter, from: [at] })
    const socket = await party.greeted()
    await socket.ask({ type: "subscribe", id: "a", filter, from: [at] })
    const isAll = (more: readonly string[]): boolean => isWhole([...got, ...more])
    const [streamed, sent] = await Promise.all([
      followLog(async () => (await stream.event()).data, isAll),
      followLog(() => socket.nextText(), isAll),
      tellSlowly(steps.slice(CUT)),
    ])
    expect(streamed.slice(0, missed.length)).toEqual(missed)
    expect([...got, ...streamed]).toEqual(stage.logged(SESSION))
    expect([...got, ...sent]).toEqual(stage.logged(SESSION))
    await Promise.all([stream.cancel(), socket.close()])
  })

  test("a browser's Last-Event-ID finds its place again, without a mark", async () => {
    const { at, got } = await standing(2)
    await stage.startAgain()
    const answer = await party.ask(
      `/stream?live=0&filter=${encodeURIComponent(JSON.stringify({ session: SESSION }))}`,
      {
        headers: { "last-event-id": `${SESSION}:${at.epoch}:${at.seq}` },
      },
    )
    const body = await answer.text()
    expect(body).not.toContain("replay-exhausted")
    const texts = [...body.matchAll(/^data: (.*)$/gm)].map(([, text]) => text ?? "")
    expect([...got, ...texts]).toEqual(stage.logged(SESSION))
  })

  test("a session is claimed again once its instance speaks, and not before", async () => {
    await standing(1)
    await stage.startAgain()
    const reader = await party.greeted()
    const claimed = async (): Promise<unknown[]> => {
      const { entries } = await reader.ask({ type: "roster", id: "q" })
      return Array.isArray(entries) ? entries.map(({ session }) => session) : []
    }
    expect(await claimed()).toEqual([])
    await tellSlowly(steps.slice(CUT))
    expect(await claimed()).toContain(SESSION)
    await reader.close()
  })
})

describe("an outsider", () => {
  test("speaks in no session of ours, by post or socket, claimed or only logged", async () => {
    await stage.converse(conversation)
    const forged = eventOf(SESSION, "run.finished", { run: "r9", seq: 900 })
    const refusedOnBoth = async (): Promise<void> => {
      const before = stage.logged(SESSION)
      const answer = await party.post([forged])
      expect([answer.status, (await answer.json()).error]).toEqual([403, "unauthorized"])
      const emitter = await party.greeted(EMITTER)
      expect(await emitter.ask(forged)).toMatchObject({
        type: "error",
        code: "unauthorized",
        cause: forged.id,
      })
      await emitter.close()
      expect((await party.held({ filter: { session: SESSION }, from: "all" })).texts).toEqual(before)
    }
    await refusedOnBoth()
    await stage.service.kill()
    await stage.startAgain()
    await refusedOnBoth()
  })
})
