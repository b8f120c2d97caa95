/**
 * Asks of an agent that is no server: `run`, which answers by itself, and the terminal, whose dialog closes when somebody
 * elsewhere answered. Set-up as in `scenarios.test.ts`; the terminal's screens are kept as evidence on request.
 */
import { afterEach, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { type Commander, openCommander } from "../agent/commander.ts"
import { type Model, startModel } from "../agent/model.ts"
import { runOnce } from "../agent/run.ts"
import { openSandbox, type Sandbox } from "../agent/sandbox.ts"
import { call } from "../agent/scenarios/steps.ts"
import { type LoggedEvent, type Service, startService } from "../agent/service.ts"
import { startTui, type Tui } from "../agent/tui.ts"
import { AGENTS, type AgentVersion } from "../agent/versions.ts"
import { suitePort } from "../ports.ts"
import { byCommand, ended, respond, runEnd, WAIT_MS } from "./answers.ts"

const TEST_MS = 120_000
/** `AEP_WRITE_EVIDENCE=1` keeps what the terminal showed. */
const EVIDENCE = resolve(import.meta.dir, "../../docs/evidence")

let model: Model | undefined
let sandbox: Sandbox
let service: Service
let commander: Commander
let tui: Tui | undefined

async function open(agent: AgentVersion): Promise<void> {
  model = startModel(suitePort("live", 0))
  sandbox = openSandbox({ agent, model })
  service = await startService(sandbox, suitePort("live", 2))
  commander = await openCommander(service.url, sandbox)
}

afterEach(async () => {
  await tui?.stop()
  tui = undefined
  commander?.close()
  await service?.stop()
  sandbox?.remove()
  await model?.stop()
  model = undefined
})

const question = call("question", {
  questions: [
    { question: "Which colour?", header: "Colour", options: [{ label: "red", description: "warm" }] },
  ],
})

describe.each(
  AGENTS.filter(({ features }) => features.runRejects !== undefined).map(
    (agent) => [agent.label, agent] as const,
  ),
)("%s", (_, agent) => {
  test(
    "`run` answers by itself: the request says that nobody else can, and a command is refused",
    async () => {
      await open(agent)
      const line = call("bash", { command: "echo hi > run.txt", description: "makes a file" })
      // Kilo takes its time to start.
      const asking = commander.event("request", ({ type }) => type === "attention.requested", 60_000)
      const running = runOnce(sandbox, `${line}\nSAY: made`, 60_000)
      const request = await asking
      expect(request).toMatchObject({ data: { respond_via: ["oob"] } })
      const command = respond(commander, request, { option: "once" })
      const [session] = [request.session]
      expect(await ended(service, request)).toMatchObject({ how: "answered", via: "oob", by: "host" })
      await running
      const acks = commander.acks(command).map((text) => (JSON.parse(text) as LoggedEvent).type)
      expect(acks.filter((type) => type === "control.accepted")).toEqual([])
      await runEnd(service, session)
      expect(existsSync(join(sandbox.project, "run.txt"))).toBe(false)
    },
    TEST_MS,
  )
})

const [current] = AGENTS
if (current === undefined) throw new Error("no agent")

describe(`${current.label} > terminal`, () => {
  /** Types a prompt; the session's first request. */
  const ask = async (text: string): Promise<LoggedEvent> => {
    tui = await startTui(sandbox)
    tui.type(text)
    await tui.untilScreen(/RUN: /, WAIT_MS)
    tui.press("Enter")
    return commander.event("request", ({ type }) => type === "attention.requested", WAIT_MS)
  }
  const keep = (name: string, screen: string) => {
    if (process.env.AEP_WRITE_EVIDENCE !== "1") return
    mkdirSync(EVIDENCE, { recursive: true })
    // The sandbox's folder has another name at every run, and none that anybody needs.
    const clean = screen.replaceAll(/\S*aep-agent-\S*/g, "~/project").replaceAll(/[ \t]+$/gm, "")
    writeFileSync(join(EVIDENCE, `${name}.txt`), `${clean.trimEnd()}\n`)
  }

  test(
    "a permission answered from elsewhere closes the dialog, and the agent goes on",
    async () => {
      await open(current)
      const request = await ask(call("bash", { command: "echo hi > tui.txt", description: "makes a file" }))
      await tui?.untilScreen(/Permission required/, WAIT_MS)
      keep("terminal-asks", tui?.screen() ?? "")
      const command = respond(commander, request, { option: "once" })
      expect(await ended(service, request)).toEqual(byCommand(command, { option: "once" }))
      await tui?.untilScreen(/done\./, WAIT_MS)
      expect(tui?.screen()).not.toContain("Permission required")
      keep("terminal-answered-from-elsewhere", tui?.screen() ?? "")
      await runEnd(service, request.session)
      expect(existsSync(join(sandbox.project, "tui.txt"))).toBe(true)
    },
    TEST_MS,
  )

  test(
    "a question answered from elsewhere closes its dialog too",
    async () => {
      await open(current)
      const request = await ask(question)
      await tui?.untilScreen(/Which colour\?/, WAIT_MS)
      const command = respond(commander, request, { values: { 1: "1" } })
      expect(await ended(service, request)).toMatchObject({ how: "answered", via: "control", cause: command })
      await tui?.untilScreen(/done\./, WAIT_MS)
      await runEnd(service, request.session)
    },
    TEST_MS,
  )

  test(
    "answered by a key, the request elsewhere is closed as answered there",
    async () => {
      await open(current)
      const request = await ask(call("bash", { command: "echo hi > key.txt", description: "makes a file" }))
      await tui?.untilScreen(/Permission required/, WAIT_MS)
      tui?.press("Enter")
      expect(await ended(service, request)).toMatchObject({
        how: "answered",
        via: "oob",
        answer: { option: "once" },
      })
      await runEnd(service, request.session)
      expect(existsSync(join(sandbox.project, "key.txt"))).toBe(true)
    },
    TEST_MS,
  )
})
