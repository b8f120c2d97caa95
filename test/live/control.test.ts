/**
 * Commands from elsewhere to the real agents: sent over the protocol, carried out by the agent itself, told in its session's
 * record. Set-up as in `scenarios.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { type Commander, openCommander } from "../agent/commander.ts"
import { AGENT_MS, answering, begin, call, idle, touch } from "../agent/scenarios/steps.ts"
import type { LoggedEvent } from "../agent/service.ts"
import { SECOND } from "../agent/setup.ts"
import { AGENTS, type AgentVersion } from "../agent/versions.ts"
import { waitFor } from "../agent/wait.ts"
import { faultsOfLog } from "./log-rules.ts"
import { openParts, type Parts } from "./stage.ts"

const START_MS = 120_000
const SETTLED_MS = 10_000

for (const agent of AGENTS) describe(`${agent.label} > commands`, () => commands(agent))

function commands(agent: AgentVersion): void {
  let parts: Parts
  let commander: Commander
  beforeAll(async () => {
    // What the agent asks is answered over its own API here; cancels of a held hook are in `late.test.ts`.
    parts = await openParts(agent, "project", {}, { AEP_OPENCODE_HOLD: "event" })
    commander = await openCommander(parts.service().url, parts.sandbox)
  }, START_MS)
  afterAll(async () => {
    commander?.close()
    await parts?.close()
  })

  const cancel = (session: string, members: Record<string, unknown> = {}) =>
    commander.send("control.cancel", session, { data: { scope: "run" }, ...members })
  const ended = (session: string): Promise<LoggedEvent[]> =>
    parts
      .service()
      .until(session, "end of the run", SETTLED_MS, (events) =>
        events.some(
          ({ type }) => type === "run.finished" || type === "run.failed" || type === "run.cancelled",
        ),
      )
  /** The log's words on a cancelled run: by whom, and what caused it. */
  const cancelled = async (session: string) => {
    const events = await ended(session)
    const [end, ...more] = events.filter(({ type }) => type.startsWith("run.") && type !== "run.started")
    expect(more).toEqual([])
    return { type: end?.type, by: end?.data?.by, cause: end?.cause, run: end?.run }
  }
  const runOf = (session: string): string =>
    parts
      .service()
      .events(session)
      .find(({ type }) => type === "run.started")?.run ?? ""

  test("a cancel while the model answers stops the run, and the record says whose doing it was", async () => {
    const { served } = parts
    const session = await begin(served, "cancel answer", "HANG:")
    await answering(served, session)
    const command = cancel(session, { run: runOf(session) })
    expect(await commander.ack(command)).toMatchObject({ type: "control.accepted", session })
    await idle(served, session)
    expect(await cancelled(session)).toEqual({
      type: "run.cancelled",
      by: "control",
      cause: command,
      run: runOf(session),
    })
    const order = parts
      .service()
      .events(session)
      .map(({ type }) => type)
    expect(order.indexOf("control.accepted")).toBeLessThan(order.indexOf("run.cancelled"))
  }, 60_000)

  test("a cancel while a command of the agent runs stops both", async () => {
    const { served, sandbox } = parts
    const main = await begin(
      served,
      "cancel tool",
      call("bash", { command: "echo > begun.txt; sleep 30; echo > done.txt", description: "sleeps" }),
    )
    if (await asksFor(served, main)) await served.answerAsk(main, await served.ask(main, AGENT_MS), "once")
    await waitFor("start of the command", AGENT_MS, () => existsSync(join(sandbox.project, "begun.txt")))
    const command = cancel(main)
    expect(await commander.ack(command)).toMatchObject({ type: "control.accepted" })
    await idle(served, main)
    expect(await cancelled(main)).toMatchObject({ by: "control", cause: command })
    expect(existsSync(join(sandbox.project, "done.txt"))).toBe(false)
  }, 60_000)

  test("a cancel while the agent asks takes the ask with it, and nothing is written", async () => {
    const { served, sandbox } = parts
    const session = await begin(served, "cancel ask", `${touch}\nSAY: made`)
    await served.ask(session, AGENT_MS)
    const command = cancel(session)
    expect(await commander.ack(command)).toMatchObject({ type: "control.accepted" })
    await idle(served, session)
    expect(await cancelled(session)).toMatchObject({ by: "control", cause: command })
    const events = parts.service().events(session)
    const asked = events.find(({ type }) => type === "attention.requested")
    const closed = events.filter(
      ({ type, subject }) => type === "attention.resolved" && subject === asked?.id,
    )
    expect(closed.map(({ data }) => data?.resolution)).toEqual(["dismissed"])
    expect(existsSync(join(sandbox.project, "made.txt"))).toBe(false)
  }, 60_000)

  test("a cancel reaches an agent's other directory, which on 1.0 its client does not name", async () => {
    const served = await parts.served.at(parts.sandbox.other(SECOND))
    const session = await begin(served, "cancel elsewhere", "HANG:")
    await answering(served, session)
    const command = cancel(session)
    expect(await commander.ack(command)).toMatchObject({ type: "control.accepted" })
    await idle(served, session)
    expect(await cancelled(session)).toMatchObject({ by: "control", cause: command })
  }, 60_000)

  test("a cancel sent twice is decided once, and both answers are the same bytes", async () => {
    const { served } = parts
    const session = await begin(served, "cancel twice", "HANG:")
    await answering(served, session)
    const command = cancel(session)
    await commander.ack(command)
    cancel(session, { id: command })
    await waitFor("repeated decision", AGENT_MS, () => commander.acks(command).length >= 2)
    const acks = commander.acks(command)
    expect(new Set(acks).size).toBe(1)
    await idle(served, session)
    expect(
      parts
        .service()
        .events(session)
        .filter(({ cause, type }) => cause === command && type === "control.accepted"),
    ).toHaveLength(1)
  }, 60_000)

  test("a cancel of a run that is over, of another run, or of the session is refused, and the agent goes on", async () => {
    const { served } = parts
    const session = await begin(served, "cancel late", "SAY: done")
    await idle(served, session)
    await ended(session)
    const late = await commander.ack(cancel(session))
    expect(late).toMatchObject({ type: "control.rejected", data: { reason: "refused" } })
    const over = runOf(session)
    await served.prompt(session, "HANG:")
    await parts
      .service()
      .until(
        session,
        "second run",
        SETTLED_MS,
        (events) => events.filter(({ type }) => type === "run.started").length === 2,
      )
    expect(await commander.ack(cancel(session, { run: over }))).toMatchObject({ data: { reason: "refused" } })
    const whole = commander.send("control.cancel", session, { data: { scope: "session" } })
    expect(await commander.ack(whole)).toMatchObject({ data: { reason: "refused" } })
    const bad = commander.send("control.cancel", session, { data: {} })
    expect(await commander.ack(bad)).toMatchObject({ data: { reason: "invalid" } })
    const open = parts
      .service()
      .events(session)
      .filter(({ type }) => type === "run.cancelled" || type === "run.failed")
    expect(open).toEqual([])
    const command = cancel(session)
    expect(await commander.ack(command)).toMatchObject({ type: "control.accepted" })
    await idle(served, session, 2)
  }, 60_000)

  test("what the session does not take is refused by the router, and leaves no trace in its record", async () => {
    const { served } = parts
    const session = await begin(served, "unsupported", "SAY: done")
    await idle(served, session)
    expect(await commander.refusal(commander.send("control.pause", session, { data: {} }))).toMatchObject({
      code: "unsupported",
    })
    expect(await commander.refusal(cancel("ses_nobody"))).toMatchObject({ code: "no-route" })
    expect(
      parts
        .service()
        .events(session)
        .filter(({ type }) => type.startsWith("control.")),
    ).toEqual([])
  }, 60_000)

  test("every log is sound, once the last run was judged", async () => {
    const faults = () => [...parts.service().lines()].flatMap(([name, lines]) => faultsOfLog(name, lines))
    await waitFor(
      "sound logs",
      SETTLED_MS,
      () => faults().length === 0,
      () => faults().join("\n"),
    )
  })
}

/** Whether the project's rules ask before a shell command. */
async function asksFor(served: Parts["served"], session: string): Promise<boolean> {
  return served.ask(session, 3_000).then(
    () => true,
    () => false,
  )
}
