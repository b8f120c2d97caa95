/**
 * What `opencode-aep tail` does in time, on a clock that stands until it is moved, and how far it remembers: waits between
 * attempts, silence, positions and ids. Connections are plain values here; `cli-tail.test.ts` has the real ones.
 */
import { describe, expect, test } from "bun:test"
import type { OpenedStream, StreamRequest } from "../../service/cli/connection.ts"
import { Progress } from "../../service/cli/progress.ts"
import { tail } from "../../service/cli/tail.ts"
import { readMessage } from "../../service/hub/message.ts"
import type { From } from "../../service/hub/resume.ts"
import type { AepEvent } from "../../shared/aep.ts"
import { Clock } from "../clock.ts"
import { eventAt } from "./cli-tail-house.ts"

const away: OpenedStream = { kind: "unreachable", code: "ECONNREFUSED" }

/** Opens a stream with this text; with `isOpen` it says no more until it is aborted. */
function streamOf(text: string, isOpen: boolean, signal: AbortSignal): OpenedStream {
  const chunks = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text))
      if (!isOpen) controller.close()
      signal.addEventListener("abort", () => isOpen && controller.error(signal.reason))
    },
  })
  return { kind: "open", chunks }
}

/** A tail whose connections a test answers one by one. */
class Follower {
  readonly clock = new Clock()
  readonly complaints: string[] = []
  readonly shown: string[] = []
  readonly froms: (string | undefined)[] = []
  readonly wish = new AbortController()
  readonly end: ReturnType<typeof tail>
  private asked = Promise.withResolvers<Attempt>()

  constructor(from: From = { kind: "live" }, retries = true) {
    this.end = tail({
      open: (request, signal) => this.open(request, signal),
      request: { filter: undefined, capture: undefined, live: true },
      retries,
      progress: new Progress(from),
      show: async ({ event }) => void this.shown.push(event.id),
      complain: (line) => void this.complaints.push(line),
      explain: () => "explained",
      timers: this.clock.timers,
      random: () => 1,
      signal: this.wish.signal,
    })
  }

  /** The next request, once it is made. */
  async next(): Promise<Attempt> {
    const attempt = await this.asked.promise
    this.asked = Promise.withResolvers()
    return attempt
  }

  private open({ from }: StreamRequest, signal: AbortSignal): Promise<OpenedStream> {
    this.froms.push(from)
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve({ kind: "unreachable", code: "TimeoutError" }))
      this.asked.resolve({
        answer: (opened) => resolve(opened),
        stream: (text, isOpen) => resolve(streamOf(text, isOpen, signal)),
      })
    })
  }
}

interface Attempt {
  answer: (opened: OpenedStream) => void
  stream: (text: string, isOpen: boolean) => void
}

/** Lets everything run that waits for no clock. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe("time", () => {
  test("passes between attempts twice as long each time, up to ten seconds, and little after an event", async () => {
    const follower = new Follower()
    ;(await follower.next()).stream(": open\n\n", false)
    for (const ms of [500, 1000, 2000, 4000, 8000, 10_000, 10_000]) {
      await turn()
      follower.clock.advance(ms - 1)
      await turn()
      const { length } = follower.froms
      follower.clock.advance(1)
      const attempt = await follower.next()
      expect({ ms, attempts: follower.froms.length }).toEqual({ ms, attempts: length + 1 })
      attempt.answer(away)
    }
    await turn()
    follower.clock.advance(10_000)
    ;(await follower.next()).stream(`data: ${eventAt("s", 1)}\n\n`, false)
    await turn()
    follower.clock.advance(500)
    ;(await follower.next()).stream(": open\n\n", true)
    await turn()
    expect(follower.shown).toEqual(["s-1"])
    expect(follower.complaints).toEqual([
      "the connection is lost (the service ended it); trying to connect again",
      "the connection is back",
      "the connection is lost (the service ended it); trying to connect again",
      "the connection is back",
    ])
    follower.wish.abort()
    expect(await follower.end).toEqual({ kind: "ended", events: 1 })
    expect(follower.clock.waiting).toBe(0)
  })

  test("is short after a ping, too, since the service was well", async () => {
    const follower = new Follower()
    ;(await follower.next()).stream(": open\n\n", false)
    await turn()
    follower.clock.advance(500)
    ;(await follower.next()).stream(": ping\n\n", false)
    await turn()
    follower.clock.advance(500)
    await follower.next()
    expect(follower.froms.length).toBe(3)
    follower.wish.abort()
    await follower.end
  })

  test("without a word for 90 seconds ends a connection, and pings do not let it come to that", async () => {
    const follower = new Follower()
    ;(await follower.next()).stream(": ping\n\n", true)
    await turn()
    follower.clock.advance(89_999)
    await turn()
    expect(follower.complaints).toEqual([])
    follower.clock.advance(1)
    await turn()
    expect(follower.complaints).toEqual(["the connection is lost (TimeoutError); trying to connect again"])
    follower.wish.abort()
    await follower.end
    expect(follower.clock.waiting).toBe(0)
  })

  test("without an answer for 15 seconds is a failure, at the first attempt the last", async () => {
    const follower = new Follower()
    await follower.next()
    follower.clock.advance(15_000)
    expect(await follower.end).toEqual({ kind: "failed", detail: "explained" })
    expect(follower.clock.waiting).toBe(0)
  })

  test("of an unanswered request ends with the reader's wish", async () => {
    const follower = new Follower()
    await follower.next()
    follower.wish.abort()
    expect(await follower.end).toEqual({ kind: "ended", events: 0 })
    expect(follower.clock.waiting).toBe(0)
  })
})

test("a connection that is lost is the end where none is to be taken up again", async () => {
  const follower = new Follower({ kind: "live" }, false)
  ;(await follower.next()).stream(`data: ${eventAt("s", 1)}\n\n`, false)
  expect(await follower.end).toEqual({
    kind: "failed",
    detail:
      "the connection is lost (the service ended it); next: the same call, which goes on over an outage without --no-retry",
  })
  expect({ shown: follower.shown, told: follower.complaints }).toEqual({ shown: ["s-1"], told: [] })
  expect([follower.froms.length, follower.clock.waiting]).toEqual([1, 0])
})

describe("progress", () => {
  const event = (session: string, seq: number, members: Record<string, unknown> = {}): AepEvent => {
    const read = readMessage(eventAt(session, seq, members))
    if (read.kind === "invalid") throw new Error(read.detail)
    return read.message.event
  }
  const bounds = { sessions: 3, ids: 5, characters: 1000 }
  const command = (id: string): AepEvent => event("s", 0, { id, type: "control.cancel", seq: undefined })

  test("without a session begins where it was asked to begin", () => {
    expect(new Progress({ kind: "live" }).first()).toEqual({ text: undefined, left: 0 })
    expect(new Progress({ kind: "live" }).resume()).toEqual({ text: undefined, left: 0 })
    expect(new Progress({ kind: "all" }).first()).toEqual({ text: "all", left: 0 })
    const asked = new Progress({ kind: "positions", positions: new Map([["s:x", { epoch: 0, seq: 0 }]]) })
    const text = '[{"session":"s:x","epoch":0,"seq":0}]'
    expect([asked.first(), asked.resume()]).toEqual([
      { text, left: 0 },
      { text, left: 0 },
    ])
  })

  test("is the highest position of a session, an epoch above every count", () => {
    const progress = new Progress({ kind: "live" })
    for (const each of [event("s", 5), event("s", 9), event("s", 7), event("s", 1, { epoch: 1, id: "e" })]) {
      expect(progress.take(each)).toBe(true)
    }
    expect(progress.resume().text).toBe('[{"session":"s","epoch":1,"seq":1}]')
  })

  test("keeps the sessions seen last, and sends of them what fits", () => {
    const progress = new Progress({ kind: "live" }, bounds)
    for (const [seq, session] of [..."abcad"].entries()) progress.take(event(session, seq))
    const sent = (): unknown =>
      JSON.parse(progress.resume().text ?? "[]").map(({ session }: { session: string }) => session)
    expect(sent()).toEqual(["c", "a", "d"])
    expect(progress.shrink()).toBe(true)
    expect([sent(), progress.resume().left]).toEqual([["d"], 2])
    expect(progress.shrink()).toBe(false)
    const narrow = new Progress({ kind: "live" }, { ...bounds, characters: 150 })
    for (const session of ["ä".repeat(5), "b", "c"]) narrow.take(event("x", 1, { session, id: session }))
    const { text, left } = narrow.resume()
    expect(left).toBe(1)
    expect(encodeURIComponent(text ?? "").length).toBeLessThanOrEqual(150)
  })

  test("takes an event of a source once, as long as its id is remembered", () => {
    const progress = new Progress({ kind: "live" }, bounds)
    expect(progress.take(event("s", 1))).toBe(true)
    expect(progress.take(event("s", 1))).toBe(false)
    expect(progress.take(event("s", 1, { source: "aep://host-t/agent/second" }))).toBe(true)
    for (const seq of [2, 3, 4]) progress.take(event("s", seq))
    expect(progress.take(event("s", 1))).toBe(false)
    progress.take(event("s", 5))
    expect(progress.take(event("s", 1))).toBe(true)
  })

  test("passes over what was shown when all is replayed, and over nothing that came since", () => {
    const progress = new Progress({ kind: "all" }, bounds)
    for (let seq = 0; seq < 20; seq += 1) progress.take(event("s", seq))
    progress.take(command("c1"))
    expect(progress.resume()).toEqual({ text: "all", left: 0 })
    const taken = (events: AepEvent[]): unknown[] =>
      events.filter((each) => progress.take(each)).map(({ id }) => id)
    const replay = [0, 1, 18, 19].map((seq) => event("s", seq))
    expect(taken([...replay, command("c1"), command("c2")])).toEqual(["c2"])
    expect(taken([event("new", 0), event("s", 20), event("s", 12, { id: "late" })])).toEqual([
      "new-0",
      "s-20",
      "late",
    ])
  })
})
