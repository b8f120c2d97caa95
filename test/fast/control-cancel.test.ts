/** Cancelling a run over the protocol (AEP-0004 §3, §5): one decision a command, its outcome, and the same again after a restart. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { judgeCancel, type Target } from "../../service/control/cancel.ts"
import { Control } from "../../service/control/control.ts"
import type { Told } from "../../service/control/decisions.ts"
import { findLine } from "../../service/emit/acks.ts"
import type { AepEvent } from "../../shared/aep.ts"
import type { Decision, MomentBody } from "../../shared/moments.ts"
import { bus, House, instanceOf } from "../house.ts"

const I = instanceOf("i-1")
const S = "ses_1"

let made = 0
/** A command to stop a run; members may be replaced. */
function command(members: Partial<Record<string, unknown>> = {}): Told {
  made += 1
  const event = {
    aep: "0.1",
    id: `C${made}`,
    type: "control.cancel",
    time: "2026-12-01T00:00:00Z",
    source: "aep://host/agent/phone",
    agent: "phone",
    session: S,
    data: { scope: "run" },
    ...members,
  } as AepEvent
  return { event, text: JSON.stringify(event) }
}

describe("the verdict", () => {
  const open: Target = { instance: "i-1", run: "msg_1", isListening: true }
  const verdicts: [string, Partial<Record<string, unknown>>, Target | undefined, unknown][] = [
    ["the open run", { run: "msg_1" }, open, { kind: "dispatch", instance: "i-1", run: "msg_1" }],
    ["no run named", {}, open, { kind: "dispatch", instance: "i-1", run: "msg_1" }],
    ["another run", { run: "msg_0" }, open, { kind: "reject", reason: "refused" }],
    ["no open run", {}, { ...open, run: undefined }, { kind: "reject", reason: "refused" }],
    ["nobody there", {}, undefined, { kind: "reject", reason: "refused" }],
    [
      "an agent that does not listen",
      {},
      { ...open, isListening: false },
      { kind: "reject", reason: "busy" },
    ],
    ["the session", { data: { scope: "session" } }, open, { kind: "reject", reason: "refused" }],
    ["another scope", { data: { scope: "all" } }, open, { kind: "reject", reason: "invalid" }],
    ["no scope", { data: {} }, open, { kind: "reject", reason: "invalid" }],
    ["no payload", { data: undefined }, open, { kind: "reject", reason: "invalid" }],
  ]
  test.each(verdicts)("over a cancel of %s", (_, members, target, expected) => {
    expect(judgeCancel(command(members).event, target)).toEqual(expected as never)
  })
})

describe("a cancel", () => {
  let house: House
  let control: Control
  let pushed: { instance: string; request: string; decision: Decision; until: number }[]
  let settled: string[]
  let repeated: string[]
  let isListening: boolean
  let isSent: boolean

  /** Control on the house's intake and logs, as `main.ts` puts it together. */
  function build(): Control {
    pushed = []
    settled = []
    repeated = []
    isListening = true
    isSent = true
    const made = new Control({
      speak: (session, act) => {
        const from = house.said.length
        const isSaid = house.intake.speak(session, act)
        for (const { messages } of house.said.slice(from)) made.said(messages)
        return isSaid
      },
      target: (session) => {
        const target = house.intake.targetOf(session)
        return target === undefined ? undefined : { ...target, isListening }
      },
      ask: () => ({ kind: "unknown" }),
      earlier: (session, mark) => {
        const file = house.ledger.find({ agent: "opencode", session })?.file
        const line = file === undefined ? undefined : findLine(house.ledger.path(file), JSON.stringify(mark))
        return line === undefined ? undefined : { event: JSON.parse(line), text: line }
      },
      repeat: ({ text }) => repeated.push(text),
      push: (instance, request, decision, until) => pushed.push({ instance, request, decision, until }) > 0,
      settle: (_, request) => {
        settled.push(request)
        return isSent
      },
      digest: (value) => Bun.hash(String(value)).toString(16),
      newId: () => `R${++requests}`,
      now: house.clock.now,
      timers: house.clock.timers,
    })
    return made
  }
  let requests = 0

  beforeEach(() => {
    house = new House()
    control = build()
    house.tell(I, prompt("msg_1"), bus("session.status", { sessionID: S, status: { type: "busy" } }))
  })
  afterEach(() => {
    control.close()
    house.remove()
  })

  const prompt = (message: string): MomentBody => ({
    kind: "chat.message",
    input: { sessionID: S },
    output: { message: { id: message, role: "user" }, parts: [] },
  })
  const aborted = (): MomentBody[] => [
    bus("session.error", { sessionID: S, error: { name: "MessageAbortedError" } }),
    bus("session.idle", { sessionID: S }),
  ]
  const acks = (): [string, unknown, string | undefined][] =>
    house
      .events(S)
      .flatMap(({ type, data, cause }) =>
        type.startsWith("control.")
          ? [[type, data?.reason, cause] as [string, unknown, string | undefined]]
          : [],
      )
  const ended = (): AepEvent | undefined =>
    house.events(S).find(({ type }) => type === "run.cancelled" || type === "run.finished")

  test("goes down to the instance, is accepted once the agent took it, and its outcome is its doing", () => {
    const told = command({ run: "msg_1" })
    control.take(told)
    expect(pushed).toEqual([
      {
        instance: "i-1",
        request: expect.any(String),
        decision: { kind: "cancel", session: S, run: "msg_1" },
        until: house.clock.now() + 8_000,
      },
    ])
    expect(acks()).toEqual([])
    house.tell(I, ...aborted())
    control.delivered(pushed[0]?.request ?? "", "done")
    house.clock.advance(600)
    expect(acks()).toEqual([["control.accepted", undefined, told.event.id]])
    expect(ended()).toMatchObject({
      type: "run.cancelled",
      run: "msg_1",
      cause: told.event.id,
      data: { by: "control" },
    })
    expect(settled).toEqual([pushed[0]?.request ?? ""])
  })

  test("that the agent does not report of is accepted before the window closes", () => {
    const told = command()
    control.take(told)
    house.clock.advance(7_999)
    expect(acks()).toEqual([])
    house.clock.advance(1)
    expect(acks()).toEqual([["control.accepted", undefined, told.event.id]])
    control.delivered(pushed[0]?.request ?? "", "failed")
    expect(acks()).toHaveLength(1)
  })

  test("that was never sent down is busy, and what ends the run later is not its doing", () => {
    isSent = false
    const told = command()
    control.take(told)
    house.clock.advance(8_000)
    expect(acks()).toEqual([["control.rejected", "busy", told.event.id]])
    house.tell(I, ...aborted())
    house.clock.advance(600)
    expect(ended()).toMatchObject({ type: "run.cancelled", data: { by: "user" } })
  })

  test.each(["stale", "failed"] as const)(
    "that came %s is refused, and what ends the run later is not its doing",
    (status) => {
      const told = command()
      control.take(told)
      control.delivered(pushed[0]?.request ?? "", status)
      expect(acks()).toEqual([["control.rejected", "refused", told.event.id]])
      house.tell(I, ...aborted())
      house.clock.advance(600)
      expect(ended()).toMatchObject({ type: "run.cancelled", data: { by: "user" } })
      expect(ended()?.cause).not.toBe(told.event.id)
    },
  )

  test("of a run that finishes all the same leaves it finished", () => {
    control.take(command())
    house.tell(
      I,
      bus("message.updated", { sessionID: S, info: { id: "msg_2", role: "assistant", finish: "stop" } }),
      bus("session.idle", { sessionID: S }),
    )
    control.delivered(pushed[0]?.request ?? "", "done")
    house.clock.advance(600)
    expect(ended()?.type).toBe("run.finished")
  })

  test("that comes again while it is undecided is served by the one decision", () => {
    const told = command()
    control.take(told)
    control.take(told)
    expect(pushed).toHaveLength(1)
    control.delivered(pushed[0]?.request ?? "", "done")
    expect(acks()).toHaveLength(1)
    expect(repeated).toEqual([])
  })

  test("that comes again is answered with the same bytes, also after a restart of the service", () => {
    const told = command()
    control.take(told)
    control.delivered(pushed[0]?.request ?? "", "done")
    const line = house.said
      .flatMap(({ messages }) => messages)
      .find(({ event }) => event.type === "control.accepted")
    control.take(told)
    expect(repeated).toEqual([line?.text ?? ""])
    house = house.restart()
    control = build()
    house.tell(I)
    control.take(told)
    expect(repeated).toEqual([line?.text ?? ""])
    expect(acks()).toHaveLength(1)
    expect(pushed).toEqual([])
  })

  test("of the same id by another sender is another command", () => {
    const told = command()
    control.take(told)
    control.delivered(pushed[0]?.request ?? "", "stale")
    control.take(command({ id: told.event.id, source: "aep://host/agent/desk" }))
    expect(pushed).toHaveLength(2)
  })

  test("while the agent does not listen is busy, and may be tried again", () => {
    isListening = false
    control.take(command())
    expect(acks().map(([type, reason]) => [type, reason])).toEqual([["control.rejected", "busy"]])
    isListening = true
    control.take(command())
    expect(pushed).toHaveLength(1)
  })

  test("is outlived by its effect: a service that is restarted still knows whose doing the end was", () => {
    const told = command()
    control.take(told)
    control.delivered(pushed[0]?.request ?? "", "done")
    house = house.crash()
    control = build()
    house.tell(I, ...aborted())
    house.clock.advance(600)
    expect(ended()).toMatchObject({ type: "run.cancelled", cause: told.event.id, data: { by: "control" } })
  })

  test.each(["control.pause", "control.resume", "x.acme.control.restart"])(
    "is all that is taken: %s is unsupported",
    (type) => {
      const told = command({ type, data: {} })
      control.take(told)
      expect(acks()).toEqual([["control.rejected", "unsupported", told.event.id]])
      expect(pushed).toEqual([])
    },
  )

  test("for a session that nobody speaks for leaves no trace in any record", () => {
    control.take(command({ session: "ses_nobody" }))
    expect(control.counts).toMatchObject({ commands: 1, unroutable: 1 })
    expect(house.events("ses_nobody")).toEqual([])
  })
})
