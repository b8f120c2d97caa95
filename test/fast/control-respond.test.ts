/**
 * Answering over the protocol (AEP-0004 §3, §5): the decision that goes down, what each report and event makes of the command, its
 * deadlines, and one acknowledgement a command whatever happens.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import type { AepEvent } from "../../shared/aep.ts"
import type { CommandTag, Decision, DeliveryStatus, DownMessage, MomentBody } from "../../shared/moments.ts"
import { Clock } from "../clock.ts"
import { bus, House, instanceOf, PROOF_KEY } from "../house.ts"

const I = instanceOf("i-1", { answers: true })
const S = "ses_1"
const NONCE = "nonce-0123456789abcdef"
const WINDOWS = { hookMs: 55_000, askMs: 60_000 }

let house: House
beforeEach(() => {
  house = new House(new Clock(), undefined, undefined, WINDOWS)
})
afterEach(() => house.remove())

const ASKS: Readonly<Record<string, MomentBody>> = {
  reply: bus("permission.asked", {
    id: "per_1",
    sessionID: S,
    permission: "bash",
    patterns: ["x"],
    always: ["x"],
  }),
  legacy: bus("permission.updated", { id: "per_1", type: "bash", sessionID: S, title: "x", metadata: {} }),
  hook: {
    kind: "permission.ask",
    permission: { id: "per_1", type: "bash", sessionID: S, title: "x", metadata: {} },
    held: true,
  },
  question: bus("question.asked", {
    id: "per_1",
    sessionID: S,
    questions: [{ question: "Q?", header: "Q", options: [{ label: "red" }, { label: "blue" }] }],
  }),
}
const replied = (reply: string, by?: CommandTag): MomentBody => ({
  kind: "bus",
  event: { type: "permission.replied", properties: { sessionID: S, requestID: "per_1", reply } },
  ...(by === undefined ? {} : { by }),
})

/** One poll of the plugin. */
async function poll(): Promise<DownMessage[]> {
  if (!house.intake.renew(I.id)) house.tell(I)
  return house.commands.downlink.poll(I.id, NONCE, AbortSignal.abort())
}

/** Has an ask open, and the plugin listen. */
async function asking(family = "reply"): Promise<AepEvent> {
  house.tell(I)
  await poll()
  house.tell(I, ASKS[family] as MomentBody)
  const request = house.events(S).findLast(({ type }) => type === "attention.requested")
  if (request === undefined) throw new Error("nothing was asked")
  return request
}

/** Time passes, in which the plugin polls. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 4_000) {
    house.clock.advance(Math.min(left, 4_000))
    await poll()
  }
}

let made = 0
/** A command; members may be replaced. */
function command(
  subject: string | undefined,
  answer: unknown,
  members: Record<string, unknown> = {},
): AepEvent {
  made += 1
  return {
    ...{ aep: "0.1", id: `C${made}`, type: "control.attention.respond", time: "2026-12-01T00:00:00Z" },
    ...{ source: "aep://host/agent/phone", agent: "phone", session: S, data: { answer } },
    ...(subject === undefined ? {} : { subject }),
    ...members,
  } as AepEvent
}
const take = (event: AepEvent): AepEvent => {
  house.commands.control.take({ event, text: JSON.stringify(event) })
  return event
}
const answer = (request: AepEvent, given: unknown = { option: "once" }) => take(command(request.id, given))

/** The decisions that came down and are about answers. */
async function decisions(): Promise<{ request: string; decision: Extract<Decision, { by: CommandTag }> }[]> {
  return (await poll()).flatMap(({ request, decision }) => {
    const read = JSON.parse(decision) as Decision
    return "by" in read ? [{ request, decision: read }] : []
  })
}
async function down() {
  const [first] = await decisions()
  if (first === undefined) throw new Error("nothing came down")
  return first
}
const report = (request: string, status: DeliveryStatus, by?: CommandTag): MomentBody => ({
  ...{ kind: "delivery", request, status, session: S, ask: "per_1" },
  ...(by === undefined ? {} : { by }),
})

/** What the record says of a command: accepted, or reason and why. */
const said = (event: AepEvent): string[] =>
  house.events(S).flatMap(({ type, cause, data }) => {
    if (cause !== event.id || !type.startsWith("control.")) return []
    return [type === "control.accepted" ? "accepted" : [data?.reason, data?.why].filter(Boolean).join(" ")]
  })
/** Types from the request on. */
const story = (): string[] => {
  const types = house.events(S).map(({ type }) => type)
  return types.slice(types.lastIndexOf("attention.requested") + 1)
}
const ANSWERED = ["control.accepted", "attention.answered", "attention.resolved"]

describe("the decision that goes down", () => {
  const rows: [string, unknown, object][] = [
    ["reply", { option: "once" }, { kind: "reply", reply: "once" }],
    ["reply", { option: "reject", text: "no" }, { kind: "reply", reply: "reject", message: "no" }],
    ["legacy", { option: "reject", text: "no" }, { kind: "reply", reply: "reject" }],
    ["hook", { option: "allow" }, { kind: "hook", status: "allow" }],
    ["question", { values: { 1: "2" } }, { kind: "answers", answers: [[2]] }],
    ["question", { text: "green" }, { kind: "answers", answers: [["green"]] }],
    ["question", { option: "reject" }, { kind: "dismiss" }],
  ]
  test.each(rows)("to %s for %j, with the proof for this poll", async (family, given, expected) => {
    const event = answer(await asking(family), given)
    const messages = (await poll()).filter(({ decision }) => decision.includes('"by"'))
    const [message] = messages
    expect(messages).toHaveLength(1)
    expect(JSON.parse(message?.decision ?? "")).toEqual({
      ...expected,
      ...{
        session: S,
        ask: "per_1",
        by: { command: event.id, mark: expect.stringMatching(/^respond:[0-9a-f]+$/) },
      },
    })
    const signed = [NONCE, I.id, message?.request, message?.decision].join("\0")
    expect(message?.proof).toBe(createHmac("sha256", PROOF_KEY).update(signed).digest("hex"))
    // Nothing is claimed before the agent said so.
    expect(said(event)).toEqual([])
  })
})

describe("an answer", () => {
  test("that the agent confirms before its route returns is accepted and applied, by whom and caused by what", async () => {
    const request = await asking()
    const event = answer(request, { option: "once" })
    const { request: name, decision } = await down()
    house.tell(I, replied("once", decision.by))
    expect(story()).toEqual(ANSWERED)
    house.tell(I, report(name, "done", decision.by))
    house.clock.advance(20_000)
    expect(story()).toEqual(ANSWERED)
    const answered = house.events(S).find(({ type }) => type === "attention.answered")
    expect(answered).toMatchObject({
      subject: request.id,
      cause: event.id,
      data: { answer: { option: "once" }, via: "control", by: "phone" },
    })
  })

  test("that the agent took and confirms later is accepted first", async () => {
    const event = answer(await asking())
    const { request, decision } = await down()
    house.tell(I, report(request, "done", decision.by))
    expect(said(event)).toEqual(["accepted"])
    house.clock.advance(2_000)
    house.tell(I, replied("once", decision.by))
    expect(story()).toEqual(ANSWERED)
  })

  test("to a held hook is applied when the plugin reports it, which is all that is ever heard", async () => {
    answer(await asking("hook"), { option: "deny", text: "no" })
    const { request, decision } = await down()
    house.tell(I, report(request, "done", decision.by))
    expect(story()).toEqual(ANSWERED)
    expect(house.events(S).find(({ type }) => type === "attention.answered")?.data?.answer).toMatchObject({
      option: "deny",
    })
  })

  const refusals: [string, DeliveryStatus, MomentBody[], string][] = [
    ["that the plugin found void", "stale", [], "refused stale"],
    ["that the agent knew nothing of any more", "gone", [], "refused answered"],
    ["that the agent did not take", "failed", [], "refused failed"],
    ["that somebody at the terminal was faster than", "gone", [replied("reject")], "refused answered"],
    ["that an abort was faster than", "stale", [bus("session.idle", { sessionID: S })], "refused withdrawn"],
  ]
  test.each(refusals)("%s is refused", async (_, status, before, expected) => {
    const event = answer(await asking())
    const { request, decision } = await down()
    house.tell(I, ...before, report(request, status, decision.by))
    house.clock.advance(0)
    expect(said(event)).toEqual([expected])
    expect(await decisions()).toEqual([])
  })

  test("is never sent once its request has ended, and is refused at once", async () => {
    const event = answer(await asking())
    house.tell(I, replied("reject"))
    expect(await decisions()).toEqual([])
    house.clock.advance(0)
    expect(said(event)).toEqual(["refused answered"])
  })

  test("of another command while one is on its way is busy, and can be given after it", async () => {
    const request = await asking()
    answer(request)
    const second = answer(request, { option: "reject" })
    expect(said(second)).toEqual(["busy underway"])
    const { request: name, decision } = await down()
    house.tell(I, report(name, "failed", decision.by))
    const third = answer(request, { option: "reject" })
    const again = await down()
    house.tell(I, replied("reject", again.decision.by))
    expect(said(third)).toEqual(["accepted"])
  })

  test("that was sent down and never reported of is accepted after 8 s: it was tried", async () => {
    const event = answer(await asking())
    await down()
    house.clock.advance(7_900)
    expect(said(event)).toEqual([])
    house.clock.advance(200)
    expect(said(event)).toEqual(["accepted"])
  })

  test("that was never sent down is busy after 8 s, and never sent after that", async () => {
    const event = answer(await asking())
    house.clock.advance(8_000)
    expect(said(event)).toEqual(["busy offline"])
    expect(await decisions()).toEqual([])
  })

  test("for a plugin that does not listen is busy at once", async () => {
    const request = await asking()
    house.clock.advance(6_000)
    expect(said(answer(request))).toEqual(["busy offline"])
  })

  test("of an instance that says goodbye is refused while it can still be said", async () => {
    const event = answer(await asking())
    house.tell(I, { kind: "dispose" })
    expect(said(event)).toEqual([expect.stringMatching(/^refused/)])
    house.clock.advance(30_000)
    expect(said(event)).toHaveLength(1)
  })
})

describe("an answer that the agent does not confirm", () => {
  test("is given once more, and then said to be unconfirmed; the request stays open, and is ended by the agent", async () => {
    const request = await asking()
    const event = answer(request)
    const first = await down()
    house.tell(I, report(first.request, "done", first.decision.by))
    house.clock.advance(3_000)
    const second = await down()
    expect(second.request).not.toBe(first.request)
    expect(second.decision).toEqual(first.decision)
    house.tell(I, report(second.request, "done", second.decision.by))
    house.clock.advance(3_000)
    expect(story()).toEqual(["control.accepted", "x.opencode.attention.unconfirmed"])
    expect(house.events(S).at(-1)).toMatchObject({
      severity: "warning",
      cause: event.id,
      subject: request.id,
    })
    house.clock.advance(10_000)
    expect(await decisions()).toEqual([])
    house.tell(I, replied("once", first.decision.by))
    expect(story().slice(2)).toEqual(["attention.answered", "attention.resolved"])
  })

  test("and is voided meanwhile has ended like any other", async () => {
    const first = answer(await asking())
    const { request, decision } = await down()
    house.tell(I, report(request, "done", decision.by), bus("session.idle", { sessionID: S }))
    house.clock.advance(30_000)
    expect(said(first)).toEqual(["accepted"])
    expect(story()).not.toContain("x.opencode.attention.unconfirmed")
    expect(story()).toContain("attention.resolved")
  })
})

describe("a deadline", () => {
  test("an answer 100 ms before it acts", async () => {
    const request = await asking()
    await pass(WINDOWS.askMs - 100)
    answer(request)
    const { request: name, decision } = await down()
    house.tell(I, replied("once", decision.by), report(name, "done", decision.by))
    house.clock.advance(10_000)
    expect(story()).toEqual(ANSWERED)
  })

  test("an answer on its way at that moment is waited for, and the record does not say that nobody answered", async () => {
    const request = await asking()
    await pass(WINDOWS.askMs - 100)
    answer(request)
    const { request: name, decision } = await down()
    house.clock.advance(1_500)
    expect(story()).not.toContain("attention.timeout")
    house.tell(I, replied("once", decision.by), report(name, "done", decision.by))
    expect(story().filter((type) => type.startsWith("attention."))).toEqual([
      "attention.answered",
      "attention.resolved",
    ])
  })

  test("what was not sent down by then never is", async () => {
    const request = await asking()
    await pass(WINDOWS.askMs - 1_000)
    const event = answer(request)
    house.clock.advance(3_000)
    expect(await decisions()).toEqual([])
    expect(story()).toContain("attention.timeout")
    expect(said(event)).toEqual([expect.stringMatching(/^(busy offline|refused expired)$/)])
  })
})

describe("a command that cannot be done", () => {
  const rows: [string, (request: AepEvent) => AepEvent, string][] = [
    ["without a subject", () => command(undefined, { option: "once" }), "invalid subject"],
    ["about what was never asked", () => command("nobody", { option: "once" }), "invalid subject"],
    ["without an answer", ({ id }) => command(id, undefined), "invalid answer"],
    ["without data", ({ id }) => command(id, undefined, { data: undefined }), "invalid answer"],
    ["with an option that is not offered", ({ id }) => command(id, { option: "allow" }), "invalid option"],
    ["with a text that names nothing", ({ id }) => command(id, { text: "yes" }), "invalid text"],
  ]
  test.each(rows)("%s says why, and leaves the request open", async (_, make, expected) => {
    const request = await asking()
    const event = take(make(request))
    expect(said(event)).toEqual([expected])
    expect(await decisions()).toEqual([])
    answer(request)
    expect(await decisions()).toHaveLength(1)
  })

  const ended: [string, MomentBody, string][] = [
    ["was answered", replied("once"), "refused answered"],
    ["was withdrawn", bus("session.idle", { sessionID: S }), "refused withdrawn"],
  ]
  test.each(ended)("to a request that %s says so", async (_, end, expected) => {
    const request = await asking()
    house.tell(I, end)
    expect(said(answer(request))).toEqual([expected])
  })

  test("to a request that has lapsed says so", async () => {
    const request = await asking()
    await pass(WINDOWS.askMs)
    expect(said(answer(request))).toEqual(["refused expired"])
  })

  test("to one that only the agent's own dialog answers says so", async () => {
    house.tell({ ...I, mode: "run" }, ASKS.reply as MomentBody)
    const request = house.events(S).findLast(({ type }) => type === "attention.requested") as AepEvent
    await poll()
    expect(said(answer(request))).toEqual(["refused oob"])
  })
})

describe("one decision a command", () => {
  test("that comes again while it is undecided is one command", async () => {
    const event = answer(await asking())
    take(event)
    take(event)
    const all = await decisions()
    expect(all).toHaveLength(1)
    house.tell(I, replied("once", all[0]?.decision.by))
    expect(said(event)).toEqual(["accepted"])
  })

  test("is told again with the same bytes, accepted or not, also after a restart and a crash", async () => {
    const request = await asking()
    const accepted = answer(request)
    const { decision } = await down()
    house.tell(I, replied("once", decision.by))
    const rejected = answer(request)
    const lines = () => house.events(S).filter(({ cause }) => cause === accepted.id || cause === rejected.id)
    const acks = lines().filter(({ type }) => type.startsWith("control."))
    for (const stop of ["none", "restart", "crash"] as const) {
      if (stop !== "none") house = house[stop]()
      house.tell(I)
      const before = lines().length
      take(accepted)
      take(rejected)
      expect(house.repeated.slice(-2).map((text) => JSON.parse(text))).toEqual(acks)
      expect(new Set(house.repeated).size).toBe(2)
      expect(lines()).toHaveLength(before)
    }
  })

  test("of another sender with the same id is another command", async () => {
    const request = await asking()
    const first = answer(request)
    const { decision } = await down()
    house.tell(I, replied("once", decision.by))
    take({ ...first, source: "aep://host/agent/tablet" })
    expect(said(first)).toEqual(["accepted", "refused answered"])
  })
})

describe("a plugin that tells its asks again", () => {
  test("gets what was decided once more, as long as the agent did not confirm it", async () => {
    answer(await asking())
    const first = await down()
    house.tell(I, report(first.request, "done", first.decision.by))
    house.tell(I, ASKS.reply as MomentBody)
    const second = await down()
    expect(second.decision).toEqual(first.decision)
    house.tell(I, replied("once", second.decision.by), ASKS.reply as MomentBody)
    expect(await decisions()).toEqual([])
  })

  test("after a restart of the service gets a new command's answer", async () => {
    const request = await asking()
    house = house.restart()
    house.tell(I)
    await poll()
    const event = answer(request, { option: "reject" })
    const { decision } = await down()
    house.tell(I, replied("reject", decision.by))
    expect(said(event)).toEqual(["accepted"])
    expect(house.events(S).find(({ type }) => type === "attention.answered")?.data).toMatchObject({
      via: "control",
      by: "phone",
    })
  })
})
