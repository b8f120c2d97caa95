/**
 * How long asks wait, on the real agents: the window and what ends it, the held hook of 1.0, a service that freezes or dies in the
 * middle, an agent that vanishes. Set-up as in `scenarios.test.ts`.
 */
import { afterEach, describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { type Commander, openCommander } from "../agent/commander.ts"
import { begin, call } from "../agent/scenarios/steps.ts"
import type { LoggedEvent } from "../agent/service.ts"
import { AGENTS } from "../agent/versions.ts"
import {
  asked,
  byCommand,
  decision,
  ended,
  respond,
  runEnd,
  SURFACES,
  type Surface,
  until,
  WAIT_MS,
} from "./answers.ts"
import { openParts, type Parts } from "./stage.ts"

const TEST_MS = 150_000
const DEFAULTS = { hook: 55_000, ask: 1_800_000 }

let parts: Parts
let commander: Commander
afterEach(async () => {
  commander?.close()
  await parts?.close()
})

/** Starts everything, with that long a window for whatever the surface asks by. */
async function open(surface: Surface, windowMs?: number): Promise<void> {
  const name = surface.hasDialog ? "AEP_ASK_TIMEOUT_MS" : "AEP_ATTENTION_TIMEOUT_MS"
  const extra: Record<string, string> = windowMs === undefined ? {} : { [name]: String(windowMs) }
  parts = await openParts(surface.agent, "project", extra, surface.env)
  commander = await openCommander(parts.service().url, parts.sandbox)
}

let made = 0
/** A call that writes a file of its own. */
function writing(): { line: string; isThere: () => boolean } {
  made += 1
  const name = `waited-${made}.txt`
  const line = call("bash", { command: `echo hi > ${name}`, description: "makes a file" })
  const { project } = parts.sandbox
  return { line, isThere: () => existsSync(join(project, name)) }
}

const spanOf = ({ time, data }: LoggedEvent): number =>
  Date.parse(String(data?.expires_at)) - Date.parse(String(time))

describe.each(SURFACES.map((surface) => [surface.name, surface] as const))("%s", (_, surface) => {
  const { allow } = surface

  test(
    "a window of 200 ms: the service speaks first, and the person at the agent goes on",
    async () => {
      await open(surface, 200)
      const { line, isThere } = writing()
      const session = await begin(parts.served, "short", `${line}\nSAY: made`)
      const request = await asked(parts.service(), session)
      expect(await ended(parts.service(), request)).toEqual({ how: "timeout", cause: request.id })
      expect(await decision(commander, respond(commander, request, { option: allow }))).toBe(
        "refused expired",
      )
      expect(isThere()).toBe(false)
      // A held hook was let go: the agent asks in its own dialog, which is a new request.
      if (!surface.hasDialog) {
        const again = await asked(parts.service(), session, 2)
        const end = parts
          .service()
          .events(session)
          .find(({ type }) => type === "attention.timeout")
        expect(again).toMatchObject({ cause: end?.id, data: { respond_via: ["control", "oob"] } })
      }
      const ask = await parts.served.ask(session, WAIT_MS)
      await parts.served.answerAsk(session, ask, "once")
      expect(await runEnd(parts.service(), session)).toMatchObject({ type: "run.finished" })
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )

  test(
    "an answer 100 ms before the end of the window acts",
    async () => {
      await open(surface, 2_000)
      const { line, isThere } = writing()
      const session = await begin(parts.served, "just in time", `${line}\nSAY: made`)
      const request = await asked(parts.service(), session)
      await pause(Date.parse(String(request.data?.expires_at)) - 100 - Date.now())
      const command = respond(commander, request, { option: allow })
      expect(await decision(commander, command)).toBe("accepted")
      expect(await ended(parts.service(), request)).toEqual(byCommand(command, { option: allow }))
      await runEnd(parts.service(), session)
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )

  test(
    "a service killed while an ask is open and started again knows it still, and answers it",
    async () => {
      await open(surface)
      const { line, isThere } = writing()
      const session = await begin(parts.served, "killed service", `${line}\nSAY: made`)
      const request = await asked(parts.service(), session)
      expect(spanOf(request) / 1_000).toBeCloseTo(
        (surface.hasDialog ? DEFAULTS.ask : DEFAULTS.hook) / 1_000,
        0,
      )
      process.kill(parts.service().pid, "SIGKILL")
      commander.close()
      await parts.restart({})
      commander = await openCommander(parts.service().url, parts.sandbox)
      let command = ""
      await until("an agent that listens again", async () => {
        command = respond(commander, request, { option: allow })
        return (await decision(commander, command)) === "accepted"
      })
      expect(await ended(parts.service(), request)).toEqual(byCommand(command, { option: allow }))
      await runEnd(parts.service(), session)
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )
})

const held = SURFACES.find(({ hasDialog }) => !hasDialog)
if (held === undefined) throw new Error("no surface holds a hook")

describe(held.name, () => {
  test(
    "the default window: the service lets go first, and just before that an answer acts",
    async () => {
      await open(held)
      const [late, timely] = [writing(), writing()]
      const sessions = [
        await begin(parts.served, "left alone", `${late.line}\nSAY: made`),
        await begin(parts.served, "just in time", `${timely.line}\nSAY: made`),
      ] as const
      const left = await asked(parts.service(), sessions[0])
      const answered = await asked(parts.service(), sessions[1])
      expect(spanOf(left)).toBeGreaterThan(DEFAULTS.hook - 1_000)
      await pause(Date.parse(String(answered.data?.expires_at)) - 100 - Date.now())
      const command = respond(commander, answered, { option: held.allow })
      expect(await ended(parts.service(), answered)).toEqual(byCommand(command, { option: held.allow }))
      expect(await ended(parts.service(), left)).toEqual({ how: "timeout", cause: left.id })
      await parts.served.answerAsk(sessions[0], await parts.served.ask(sessions[0], WAIT_MS), "once")
      for (const session of sessions) {
        expect(await runEnd(parts.service(), session)).toMatchObject({ type: "run.finished" })
      }
      expect([late.isThere(), timely.isThere()]).toEqual([true, true])
    },
    TEST_MS,
  )

  test(
    "a hold of more than a minute is held, and its answer acts",
    async () => {
      await open(held, 90_000)
      const { line, isThere } = writing()
      const session = await begin(parts.served, "long hold", `${line}\nSAY: made`)
      const request = await asked(parts.service(), session)
      await pause(62_000)
      expect(parts.served.bus.seen().some(({ type }) => type === "permission.updated")).toBe(false)
      const command = respond(commander, request, { option: held.allow })
      expect(await ended(parts.service(), request)).toEqual(byCommand(command, { option: held.allow }))
      expect(await runEnd(parts.service(), session)).toMatchObject({ type: "run.finished" })
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )

  test(
    "a service that freezes: the plugin's own clock lets the agent go, after the window and never before",
    async () => {
      await open(held, 3_000)
      const { line, isThere } = writing()
      const session = await begin(parts.served, "frozen", `${line}\nSAY: made`)
      const request = await asked(parts.service(), session)
      // The plugin is told how long the service waits a moment after the request was written.
      await pause(500)
      process.kill(parts.service().pid, "SIGSTOP")
      try {
        const ask = await parts.served.ask(session, WAIT_MS)
        expect(Date.now()).toBeGreaterThan(Date.parse(String(request.data?.expires_at)))
        await parts.served.answerAsk(session, ask, "reject")
      } finally {
        process.kill(parts.service().pid, "SIGCONT")
      }
      expect(await ended(parts.service(), request)).toEqual({ how: "timeout", cause: request.id })
      expect(await runEnd(parts.service(), session)).toMatchObject({ type: "run.failed" })
      expect(isThere()).toBe(false)
    },
    TEST_MS,
  )

  test(
    "somebody leaves and comes back: nothing is held meanwhile, and the agent's own dialog opens at once",
    async () => {
      await open(held)
      const first = writing()
      const kept = await begin(parts.served, "somebody", `${first.line}\nSAY: made`)
      const request = await asked(parts.service(), kept)
      expect(request).toMatchObject({ data: { respond_via: ["control"] } })
      commander.close()
      // The plugin hears of it as soon as the service does.
      await pause(1_000)
      const second = writing()
      const alone = await begin(parts.served, "nobody", `${second.line}\nSAY: made`)
      expect(await asked(parts.service(), alone)).toMatchObject({ data: { respond_via: ["control", "oob"] } })
      await parts.served.answerAsk(alone, await parts.served.ask(alone, WAIT_MS), "once")
      await runEnd(parts.service(), alone)
      expect(second.isThere()).toBe(true)
      // What was held is held still, for whoever comes back in time.
      commander = await openCommander(parts.service().url, parts.sandbox)
      const command = respond(commander, request, { option: held.allow })
      expect(await ended(parts.service(), request)).toEqual(byCommand(command, { option: held.allow }))
      await runEnd(parts.service(), kept)
      expect(first.isThere()).toBe(true)
    },
    TEST_MS,
  )
})

const [current] = AGENTS
if (current === undefined) throw new Error("no agent")
const reply = SURFACES.find(({ agent }) => agent === current)
if (reply === undefined) throw new Error("no surface of the current agent")

test(
  "an agent that is killed: its asks cannot be answered, which is said, and its run ends with the lease",
  async () => {
    await open(reply)
    const { line, isThere } = writing()
    const session = await begin(parts.served, "killed agent", `${line}\nSAY: made`)
    const request = await asked(parts.service(), session)
    process.kill(parts.served.pid, "SIGKILL")
    await pause(6_000)
    const busy = respond(commander, request, { option: "once" })
    expect(await decision(commander, busy)).toBe("busy offline")
    expect(await runEndWithin(session, 70_000)).toMatchObject({ type: "run.cancelled" })
    const gone = respond(commander, request, { option: "once" })
    expect(await commander.refusal(gone)).toMatchObject({ code: "no-route" })
    expect(isThere()).toBe(false)
  },
  TEST_MS,
)

async function runEndWithin(session: string, deadlineMs: number): Promise<LoggedEvent | undefined> {
  const isEnd = ({ type }: LoggedEvent) => /^run\.(finished|failed|cancelled)$/.test(type)
  const events = await parts.service().until(session, "end of the run", deadlineMs, (now) => now.some(isEnd))
  return events.find(isEnd)
}
