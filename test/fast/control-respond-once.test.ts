/**
 * One acknowledgement a command, whatever it says and however often the command comes (AEP-0004 §3): the same bytes from memory,
 * from the log after a restart or a kill, and when nobody speaks for the session any more.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { AepEvent } from "../../shared/aep.ts"
import { instanceOf } from "../house.ts"
import * as asks from "./asks-house.ts"
import { asked, command, I, idle, replied, report, S } from "./asks-house.ts"

let at: asks.AskHouse
beforeEach(() => {
  // The requests outlive all waits.
  at = new asks.AskHouse({ hookMs: 55_000, askMs: 600_000 })
})
afterEach(() => at.remove())

/** Acknowledgements of a command, as they stand in the log. */
const acksOf = ({ id, session = S }: AepEvent): string[] =>
  at.house
    .events(session)
    .filter(({ type, cause }) => cause === id && /^control\.(accepted|rejected)$/.test(type))
    .map((event) => JSON.stringify(event))
/** What came once more for a command, byte for byte. */
const repeats = (): string[] => at.house.repeated.splice(0)

type Story = [said: string, play: () => Promise<AepEvent>]
const STORIES: Story[] = [
  [
    "accepted",
    async () => {
      const event = at.answer(await at.asking())
      const { decision } = await at.order()
      at.tell(replied("per_1", "once", decision.by))
      return event
    },
  ],
  [
    "accepted",
    async () => {
      const event = at.answer(await at.asking())
      at.tell(report(await at.order(), "done"))
      return event
    },
  ],
  [
    "accepted",
    async () => {
      const event = at.answer(await at.asking(asks.held()), { option: "allow" })
      at.tell(report(await at.order(), "done"))
      return event
    },
  ],
  ["invalid option", async () => at.answer(await at.asking(), { option: "allow" })],
  ["invalid answer", async () => at.take(command((await at.asking()).id, undefined))],
  [
    "invalid subject",
    async () => {
      await at.asking()
      return at.take(command("per_1", { option: "once" }))
    },
  ],
  [
    "refused answered",
    async () => {
      const request = await at.asking()
      at.tell(replied())
      return at.answer(request)
    },
  ],
  [
    "refused withdrawn",
    async () => {
      const request = await at.asking()
      at.tell(idle())
      return at.answer(request)
    },
  ],
  [
    "refused oob",
    async () => {
      at.house.tell(instanceOf(I.id), asked())
      return at.answer(at.last("attention.requested"))
    },
  ],
  [
    "refused failed",
    async () => {
      const event = at.answer(await at.asking())
      at.tell(report(await at.order(), "failed"))
      return event
    },
  ],
  [
    "busy underway",
    async () => {
      const request = await at.asking()
      at.answer(request)
      return at.answer(request)
    },
  ],
  [
    "busy offline",
    async () => {
      const request = await at.asking()
      at.wait(6_000)
      return at.answer(request)
    },
  ],
]

describe.each(STORIES)("%s (%#)", (said, play) => {
  test("is said once, and again with the same bytes, also after a restart and a kill", async () => {
    const event = await play()
    expect(at.said(event)).toEqual([said])
    const acks = acksOf(event)
    for (const stop of [undefined, "restart", "crash"] as const) {
      if (stop !== undefined) at.again(stop)
      at.tell()
      await at.poll()
      repeats()
      at.take(event)
      at.take(event)
      expect(repeats()).toEqual([...acks, ...acks])
      expect(await at.orders()).toEqual([])
      expect(acksOf(event)).toEqual(acks)
    }
  })
})

describe("a command that comes again", () => {
  test("undecided gets no acknowledgement of its own, and is brought down once", async () => {
    const event = at.answer(await at.asking())
    at.take(event)
    const orders = await at.orders()
    at.take(event)
    expect(orders).toHaveLength(1)
    expect(repeats()).toEqual([])
    expect(at.said(event)).toEqual([])
    for (const order of orders) at.tell(report(order, "done"))
    expect(at.said(event)).toEqual(["accepted"])
  })

  test("unconfirmed is not brought down by that", async () => {
    const event = at.answer(await at.asking())
    at.tell(report(await at.order(), "done"))
    at.take(event)
    expect(await at.orders()).toEqual([])
    expect(repeats()).toEqual(acksOf(event))
  })

  test("with another answer under its id is still the first one", async () => {
    const request = await at.asking()
    const event = at.answer(request, { option: "allow" })
    at.take({ ...event, data: { answer: { option: "once" } } })
    expect(await at.orders()).toEqual([])
    expect(at.said(event)).toEqual(["invalid option"])
  })

  test("of another sender under the same id is another one", async () => {
    const request = await at.asking()
    const event = at.answer(request, { option: "allow" })
    at.take({ ...event, source: "aep://host/agent/tablet" })
    at.take({ ...event, source: "aep://host/agent/tablet" })
    expect(at.said(event)).toEqual(["invalid option", "invalid option"])
    expect(repeats()).toHaveLength(1)
  })

  test.each(["restart", "crash"] as const)("undecided before a %s is new after it", async (how) => {
    const event = at.answer(await at.asking())
    const first = await at.order()
    at.again(how)
    at.tell()
    await at.poll()
    at.take(event)
    const again = await at.order()
    expect(again.decision).toEqual(first.decision)
    at.tell(replied("per_1", "once", again.decision.by))
    expect(at.said(event)).toEqual(["accepted"])
  })

  test.each(["restart", "crash"] as const)(
    "after its answer was confirmed to a service that was meanwhile gone (%s) finds its acknowledgement",
    async (how) => {
      const event = at.answer(await at.asking())
      const { decision } = await at.order()
      at.again(how)
      at.tell(replied("per_1", "once", decision.by))
      at.take(event)
      expect(at.tale()).toEqual([
        "attention.requested R1",
        "control.accepted <C1",
        'attention.answered R1 answer={"option":"once"} via=control <C1',
        "attention.resolved R1 resolution=answered <attention.answered",
      ])
      expect(repeats()).toEqual(acksOf(event))
    },
  )
})

describe("an agent that is gone", () => {
  test("takes its undecided commands with it, refused while it can still be said", async () => {
    const request = await at.asking()
    const event = at.answer(request)
    await at.order()
    at.tell({ kind: "dispose" })
    expect(at.tale()).toEqual([
      "attention.requested R1",
      "attention.resolved R1 resolution=dismissed <R1",
      "control.rejected reason=refused why=gone <C1",
    ])
    at.take(event)
    expect(repeats()).toEqual(acksOf(event))
  })

  test("by silence leaves the commands of its last seconds decided", async () => {
    const request = await at.asking()
    await at.poll()
    at.wait(4_000)
    const event = at.answer(request)
    await at.house.commands.downlink.poll(I.id, asks.NONCE, AbortSignal.abort())
    at.wait(60_000)
    expect(at.said(event)).toHaveLength(1)
    expect(at.house.presence()).toEqual(["online", "offline"])
  })

  test("leaves nobody to answer for its session: a new command is counted, and told nowhere", async () => {
    const request = await at.asking()
    at.wait(60_000)
    const before = at.house.events(S).length
    const event = at.answer(request)
    expect(at.house.commands.control.counts).toMatchObject({ commands: 1, unroutable: 1 })
    expect(at.house.events(S)).toHaveLength(before)
    expect(repeats()).toEqual([])
    // It was not decided on, so its sender may try again once somebody is there.
    at.tell(asked())
    await at.poll()
    at.take(event)
    expect(await at.orders()).toHaveLength(1)
  })
})
