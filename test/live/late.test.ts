/**
 * A late yes never acts (design.md §3): asks that were aborted or deleted before, while or after somebody elsewhere said yes to
 * them, on the real agents, which would carry it out. Also that nothing else makes an ask void. Set-up as in `scenarios.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { type Commander, openCommander } from "../agent/commander.ts"
import { AGENT_MS, begin, call, childOf, idle } from "../agent/scenarios/steps.ts"
import {
  asked,
  byCommand,
  decision,
  ended,
  respond,
  runEnd,
  SURFACES,
  type Surface,
  soundLogs,
  until,
} from "./answers.ts"
import { openParts, type Parts } from "./stage.ts"

const START_MS = 120_000
const TEST_MS = 90_000
/** Longer than any late write was seen to take. */
const AFTERMATH_MS = 1_000

for (const surface of SURFACES) describe(`${surface.name} > a late yes`, () => lateness(surface))

function lateness(surface: Surface): void {
  const { agent, allow } = surface
  let parts: Parts
  let commander: Commander
  beforeAll(async () => {
    parts = await openParts(agent, "project", {}, surface.env)
    commander = await openCommander(parts.service().url, parts.sandbox)
  }, START_MS)
  afterAll(async () => {
    commander?.close()
    await parts?.close()
  })
  const service = () => parts.service()

  let made = 0
  /** A write, which the agent would carry out however late the yes. */
  const writing = () => {
    made += 1
    const file = join(parts.sandbox.project, `late-${made}.txt`)
    return { line: call("write", { filePath: file, content: "late\n" }), isThere: () => existsSync(file) }
  }
  /** A command that begins at once and writes after a while. */
  const slow = () => {
    made += 1
    const [begun, file] = [`begun-${made}.txt`, `slow-${made}.txt`]
    const command = `echo > ${begun}; sleep 20; echo > ${file}`
    return {
      line: call("bash", { command, description: "takes its time" }),
      hasBegun: () => existsSync(join(parts.sandbox.project, begun)),
      isThere: () => existsSync(join(parts.sandbox.project, file)),
    }
  }

  test(
    "after an abort is refused, and the file is never written",
    async () => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, "abort, then yes", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      await parts.served.abort(session)
      await idle(parts.served, session)
      const command = respond(commander, request, { option: allow })
      expect(await decision(commander, command)).toBe("refused withdrawn")
      expect(await ended(service(), request)).toMatchObject({ how: "dismissed" })
      expect(await runEnd(service(), session)).toMatchObject({ type: "run.cancelled", data: { by: "user" } })
      await parts.served.quiet(AFTERMATH_MS)
      expect(isThere()).toBe(false)
    },
    TEST_MS,
  )

  test(
    "on the heels of an abort does nothing, and the file is never written",
    async () => {
      for (let nth = 0; nth < 5; nth += 1) {
        const { line, isThere } = writing()
        const session = await begin(parts.served, `heels ${nth}`, `${line}\nSAY: made`)
        const request = await asked(service(), session)
        await parts.served.abort(session)
        const command = respond(commander, request, { option: allow })
        expect(await decision(commander, command)).toMatch(/^refused/)
        expect(await ended(service(), request)).toMatchObject({ how: "dismissed" })
        await idle(parts.served, session)
        await parts.served.quiet(AFTERMATH_MS)
        expect(isThere()).toBe(false)
      }
    },
    TEST_MS,
  )

  test(
    "together with an abort: whichever wins, the record says so, and what runs is stopped",
    async () => {
      for (let nth = 0; nth < 5; nth += 1) {
        const { line, isThere } = slow()
        const session = await begin(parts.served, `together ${nth}`, `${line}\nSAY: made`)
        const request = await asked(service(), session)
        const command = respond(commander, request, { option: allow })
        await parts.served.abort(session)
        const said = await decision(commander, command)
        const end = await ended(service(), request)
        expect(end.how).toBe(said === "accepted" ? "answered" : "dismissed")
        await idle(parts.served, session)
        await runEnd(service(), session)
        await parts.served.quiet(AFTERMATH_MS)
        expect(isThere()).toBe(false)
      }
    },
    TEST_MS,
  )

  test(
    "in time, and the abort after it: what runs is stopped",
    async () => {
      const { line, hasBegun, isThere } = slow()
      const session = await begin(parts.served, "yes, then abort", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      const command = respond(commander, request, { option: allow })
      expect(await ended(service(), request)).toEqual(byCommand(command, { option: allow }))
      await until("start of the command", hasBegun)
      await parts.served.abort(session)
      await idle(parts.served, session)
      expect(await runEnd(service(), session)).toMatchObject({ type: "run.cancelled", data: { by: "user" } })
      await parts.served.quiet(AFTERMATH_MS)
      expect(isThere()).toBe(false)
    },
    TEST_MS,
  )

  test(
    "after a cancel over the protocol is refused, and the file is never written",
    async () => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, "cancel, then yes", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      const cancel = commander.send("control.cancel", session, { data: { scope: "run" } })
      expect(await decision(commander, cancel)).toBe("accepted")
      const command = respond(commander, request, { option: allow })
      expect(await decision(commander, command)).toMatch(/^refused/)
      expect(await runEnd(service(), session)).toMatchObject({
        type: "run.cancelled",
        data: { by: "control" },
      })
      await parts.served.quiet(AFTERMATH_MS)
      expect(isThere()).toBe(false)
    },
    TEST_MS,
  )

  test(
    "after its session was deleted goes nowhere, and the file is never written",
    async () => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, "delete, then yes", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      await parts.served.remove(session)
      await service().until(session, "end of the session", AGENT_MS, (events) =>
        events.some(({ type }) => type === "session.ended"),
      )
      const command = respond(commander, request, { option: allow })
      // Nobody speaks for a session that ended.
      expect(await commander.refusal(command)).toMatchObject({ code: "no-route" })
      expect(await ended(service(), request)).toMatchObject({ how: "dismissed" })
      await parts.served.quiet(AFTERMATH_MS)
      expect(isThere()).toBe(false)
    },
    TEST_MS,
  )

  test(
    "after the parent's abort is refused in the sub-agent's session too",
    async () => {
      const { line, isThere } = writing()
      const task = call("task", {
        description: "make",
        prompt: `${line}\nSAY: made`,
        subagent_type: "general",
      })
      const main = await begin(parts.served, "abort the parent", `${task}\nSAY: thanks`)
      const child = await childOf(parts.served, main)
      const request = await asked(service(), child)
      await parts.served.abort(main)
      const command = respond(commander, request, { option: allow })
      expect(await decision(commander, command)).toMatch(/^refused/)
      expect(await ended(service(), request)).toMatchObject({ how: "dismissed" })
      await parts.served.quiet(AFTERMATH_MS)
      expect(isThere()).toBe(false)
    },
    TEST_MS,
  )

  test(
    "is none after an unknown slash command: the ask stays live, and a yes is carried out",
    async () => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, "unknown command", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      await parts.served.command(session, "no-such-command", "").catch(() => undefined)
      await parts.served.quiet(500)
      const command = respond(commander, request, { option: allow })
      expect(await decision(commander, command)).toBe("accepted")
      expect(await ended(service(), request)).toEqual(byCommand(command, { option: allow }))
      await runEnd(service(), session)
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )

  test("leaves sound logs", () => soundLogs(service()), TEST_MS)
}
