/**
 * Somebody at a relay, with an agent behind another service: asks are answered and runs are stopped over the relay binding as
 * over the service's own socket, each decided once and in the agent's own record. Set-up as in `scenarios.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Commander, openCommander } from "../agent/commander.ts"
import { answering, begin, call } from "../agent/scenarios/steps.ts"
import { type LoggedEvent, type Service, startService } from "../agent/service.ts"
import { AGENTS, type AgentVersion } from "../agent/versions.ts"
import { suitePort } from "../ports.ts"
import { asked, byCommand, decision, ended, respond, runEnd, until } from "./answers.ts"
import { openParts, type Parts } from "./stage.ts"

const START_MS = 120_000
const TEST_MS = 90_000

for (const agent of AGENTS) describe(`${agent.label} > behind a relay`, () => relayed(agent))

function relayed(agent: AgentVersion): void {
  let relay: Service
  let parts: Parts
  /** At the relay, and nowhere near the agent. */
  let commander: Commander
  const home = mkdtempSync(join(tmpdir(), "aep-relay-"))
  const port = suitePort("live", 3)
  const own = { AEP_RELAY_URL: `http://127.0.0.1:${port}`, AEP_RELAY_TOKEN: "" }
  beforeAll(async () => {
    const place = { agent, home, aepHome: join(home, "aep"), env: { PATH: process.env.PATH ?? "" } }
    relay = await startService(place, port)
    own.AEP_RELAY_TOKEN = readFileSync(join(place.aepHome, "token"), "utf8").trim()
    parts = await openParts(agent, "project", own)
    commander = await openCommander(relay.url, place)
  }, START_MS)
  afterAll(async () => {
    commander?.close()
    await parts?.close()
    await relay?.stop()
    rmSync(home, { recursive: true, force: true })
  })

  const writing = (name: string) => ({
    line: `${call("bash", { command: `echo hi > ${name}`, description: "makes a file" })}\nSAY: made`,
    isThere: () => existsSync(join(parts.sandbox.project, name)),
  })
  /** The request as it is seen at the relay. */
  const seen = (request: LoggedEvent) =>
    commander.event("request at the relay", ({ id }) => id === request.id)

  test(
    "a yes given at the relay is carried out, and its end is seen there",
    async () => {
      const { line, isThere } = writing("once.txt")
      const session = await begin(parts.served, "yes", line)
      const request = await asked(parts.service(), session)
      expect(await seen(request)).toEqual(request)
      const command = respond(commander, request, { option: "once" })
      expect(await decision(commander, command)).toBe("accepted")
      expect(await ended(parts.service(), request)).toEqual(byCommand(command, { option: "once" }))
      const end = await commander.event(
        "end at the relay",
        ({ type, subject }) => type === "attention.resolved" && subject === request.id,
      )
      expect(parts.service().events(session)).toContainEqual(end)
      await runEnd(parts.service(), session)
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )

  test(
    "a no given twice is decided once, also when the service was started anew in between, with the same bytes",
    async () => {
      const { line, isThere } = writing("reject.txt")
      const session = await begin(parts.served, "no", line)
      const request = await asked(parts.service(), session)
      await seen(request)
      const command = respond(commander, request, { option: "reject" })
      expect(await decision(commander, command)).toBe("accepted")
      await ended(parts.service(), request)
      await runEnd(parts.service(), session)
      await parts.service().stop()
      await parts.restart(own)
      await until("the decision told again", async () => {
        respond(commander, request, { option: "reject" }, { id: command })
        return commander.acks(command).length > 1
      })
      expect(new Set(commander.acks(command)).size).toBe(1)
      expect(isThere()).toBe(false)
    },
    TEST_MS,
  )

  test(
    "a run is stopped from the relay",
    async () => {
      const session = await begin(parts.served, "stop", "HANG:")
      await answering(parts.served, session)
      await commander.event(
        "run at the relay",
        (event) => event.session === session && event.run !== undefined,
      )
      const command = commander.send("control.cancel", session, { data: { scope: "run" } })
      expect(await decision(commander, command)).toBe("accepted")
      expect(await runEnd(parts.service(), session)).toMatchObject({
        type: "run.cancelled",
        cause: command,
        data: { by: "control" },
      })
    },
    TEST_MS,
  )
}
