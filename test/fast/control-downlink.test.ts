/** The way down (design §3): one poll an instance, signed for that poll, sent again until settled, never late. */
import { beforeEach, describe, expect, test } from "bun:test"
import { Downlink, POLL_MS } from "../../service/control/downlink.ts"
import type { Decision, DownMessage } from "../../shared/moments.ts"
import { Clock } from "../clock.ts"

const CANCEL: Decision = { kind: "cancel", session: "ses_1", run: "msg_1" }
const TEXT = JSON.stringify(CANCEL)

let clock: Clock
let downlink: Downlink
beforeEach(() => {
  clock = new Clock()
  downlink = new Downlink({
    sign: (...parts) => parts.join("|"),
    now: clock.now,
    timers: clock.timers,
  })
})

const soon = (): number => clock.now() + 8_000

/** A poll and what it was answered, once it was. */
function poll(nonce: string, instance = "i-1") {
  const controller = new AbortController()
  const seen: { messages?: DownMessage[] } = {}
  const answered = downlink.poll(instance, nonce, controller.signal).then((messages) => {
    seen.messages = messages
  })
  return { seen, answered, hangUp: () => controller.abort() }
}

/** A decision as a poll with this nonce gets it. */
const signed = (nonce: string, request = "R1", instance = "i-1"): DownMessage => ({
  request,
  decision: TEXT,
  proof: [nonce, instance, request, TEXT].join("|"),
})

describe("a decision", () => {
  test("goes to the poll that waits, at once, proven for it", async () => {
    const { seen, answered } = poll("nonce-a")
    expect(downlink.push("i-1", "R1", CANCEL, soon())).toBe(true)
    await answered
    expect(seen.messages).toEqual([signed("nonce-a")])
  })

  test("waits for the next poll when none is there", async () => {
    const first = poll("nonce-0")
    first.hangUp()
    await first.answered
    downlink.push("i-1", "R1", CANCEL, soon())
    const { seen, answered } = poll("nonce-b")
    await answered
    expect(seen.messages).toEqual([signed("nonce-b")])
  })

  test("comes again after a while with another proof, until it is settled", async () => {
    const first = poll("nonce-a")
    downlink.push("i-1", "R1", CANCEL, soon())
    await first.answered
    const second = poll("nonce-b")
    clock.advance(6_000)
    second.hangUp()
    await second.answered
    const third = poll("nonce-c")
    await third.answered
    expect(third.seen.messages).toEqual([signed("nonce-c")])
    expect([downlink.settle("i-1", "R1"), downlink.settle("i-1", "R1")]).toEqual([true, false])
    clock.advance(1_000)
    const fourth = poll("nonce-d")
    clock.advance(POLL_MS)
    await fourth.answered
    expect(fourth.seen.messages).toEqual([])
  })

  test("is not repeated to the poll right behind the one that took it", async () => {
    const first = poll("nonce-a")
    downlink.push("i-1", "R1", CANCEL, soon())
    await first.answered
    const second = poll("nonce-b")
    downlink.push("i-1", "R2", CANCEL, soon())
    await second.answered
    expect(second.seen.messages).toEqual([signed("nonce-b", "R2")])
  })

  test("is not brought down once its time is over", async () => {
    const first = poll("nonce-0")
    first.hangUp()
    await first.answered
    downlink.push("i-1", "R1", CANCEL, soon())
    clock.advance(8_000)
    const late = poll("nonce-a")
    clock.advance(POLL_MS)
    await late.answered
    expect(late.seen.messages).toEqual([])
  })

  test("for an instance that never polled, or that takes none, is not taken", async () => {
    expect(downlink.push("i-9", "R1", CANCEL, soon())).toBe(false)
    const first = poll("nonce-0")
    first.hangUp()
    await first.answered
    const taken = Array.from({ length: 1_001 }, (_, at) => downlink.push("i-1", `R${at}`, CANCEL, soon()))
    expect(taken.filter((isTaken) => isTaken)).toHaveLength(1_000)
  })

  test("reaches its own instance and no other", async () => {
    const [ours, theirs] = [poll("nonce-a"), poll("nonce-b", "i-2")]
    downlink.push("i-2", "R1", CANCEL, soon())
    await theirs.answered
    expect(theirs.seen.messages).toEqual([signed("nonce-b", "R1", "i-2")])
    expect(ours.seen.messages).toBeUndefined()
  })
})

describe("a poll", () => {
  test("without news is answered with nothing after its time", async () => {
    const { seen, answered } = poll("nonce-a")
    clock.advance(POLL_MS - 1)
    await Promise.resolve()
    expect(seen.messages).toBeUndefined()
    clock.advance(1)
    await answered
    expect(seen.messages).toEqual([])
  })

  test("is ended by a younger one, which gets what comes", async () => {
    const [older, younger] = [poll("nonce-a"), poll("nonce-b")]
    await older.answered
    expect(older.seen.messages).toEqual([])
    downlink.push("i-1", "R1", CANCEL, soon())
    await younger.answered
    expect(younger.seen.messages).toEqual([signed("nonce-b")])
  })

  test("whose plugin hung up takes nothing with it", async () => {
    const gone = poll("nonce-a")
    gone.hangUp()
    await gone.answered
    downlink.push("i-1", "R1", CANCEL, soon())
    const next = poll("nonce-b")
    await next.answered
    expect(next.seen.messages).toEqual([signed("nonce-b")])
  })

  test("shows that somebody listens, and so does one that ended a moment ago", async () => {
    expect(downlink.isListening("i-1")).toBe(false)
    const { answered, hangUp } = poll("nonce-a")
    expect(downlink.isListening("i-1")).toBe(true)
    hangUp()
    await answered
    expect(downlink.isListening("i-1")).toBe(true)
    clock.advance(5_000)
    expect(downlink.isListening("i-1")).toBe(false)
  })

  test("ends with its instance, and with the service", async () => {
    const one = poll("nonce-a")
    downlink.forget("i-1")
    await one.answered
    const other = poll("nonce-b", "i-2")
    downlink.close()
    downlink.close()
    await other.answered
    const late = poll("nonce-c", "i-2")
    await late.answered
    expect([one.seen.messages, other.seen.messages, late.seen.messages]).toEqual([[], [], []])
    expect(clock.waiting).toBe(0)
  })
})
