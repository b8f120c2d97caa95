/**
 * `opencode-aep cancel` as a process, against the real service as a process: what goes down to the plugin (played here, down
 * to the proof), what comes of it, and every exit code.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Decision, DownAnswer, MomentBody } from "../../shared/moments.ts"
import { startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"
import { type Home, openHome, type Running, startService } from "../crash/service.ts"
import { instanceOf } from "../house.ts"
import { suitePort } from "../ports.ts"
import { repository } from "./cli-program.ts"

const KEY = "cancel-suite-key-0123456789"
const TOKEN = "cancel-suite-token-0123456789"
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text)
const CREDENTIAL = hmac(KEY, "door/1").digest("hex")
const PROOF_KEY = hmac(KEY, "proof/1").digest()
const I = instanceOf("i-cancel")
const S = "ses_cancel"

let home: Home
let service: Running
let next = 0

beforeAll(async () => {
  home = openHome()
  service = await startService(home.path, suitePort("hub", 9), { AEP_OPENCODE_KEY: KEY, AEP_TOKEN: TOKEN })
  await tell(
    bus("session.created", { sessionID: S, info: { id: S, version: "1" } }),
    {
      kind: "chat.message",
      input: { sessionID: S },
      output: { message: { id: "msg_1", role: "user" }, parts: [] },
    },
    bus("session.status", { sessionID: S, status: { type: "busy" } }),
  )
})
afterAll(async () => {
  await service?.child.stop()
  home?.remove()
})

function bus(type: string, properties: Record<string, unknown>): MomentBody {
  return { kind: "bus", event: { type, properties } }
}

const headers = { authorization: `Bearer ${CREDENTIAL}`, "content-type": "application/json" }

async function tell(...bodies: MomentBody[]): Promise<void> {
  const first = next
  const moments = bodies.map((body) => ({ ...body, n: next++, at: Date.now() }))
  const answer = await fetch(`${service.url}/opencode/moments`, {
    method: "POST",
    headers,
    body: JSON.stringify({ instance: I, first, moments }),
  })
  expect(await answer.json()).toEqual({ next, rejected: [] })
}

/** One poll of the plugin, its decisions proven by hand. */
async function poll(): Promise<{ request: string; decision: Decision }[]> {
  const nonce = crypto.randomUUID()
  const answer = await fetch(`${service.url}/opencode/instances/${I.id}/down?nonce=${nonce}`, { headers })
  const { messages } = (await answer.json()) as DownAnswer
  return messages.map(({ request, decision, proof }) => {
    expect(proof).toBe(hmac(PROOF_KEY, [nonce, I.id, request, decision].join("\0")).digest("hex"))
    return { request, decision: JSON.parse(decision) }
  })
}

function cancel(args: readonly string[], env: Record<string, string> = {}) {
  return startChild({
    command: [process.execPath, join(repository, "service/cli.ts"), "cancel", ...args],
    cwd: repository,
    env: { PATH: process.env.PATH ?? "", HOME: join(tmpdir(), "aep-no-home"), AEP_TOKEN: TOKEN, ...env },
  })
}

async function end(child: ReturnType<typeof cancel>): Promise<{ code: number; said: string }> {
  const code = await child.exited
  const said = `${child.stdout()}${child.stderr()}`.trim()
  await child.stop()
  return { code, said }
}

const logged = (): Record<string, unknown>[] =>
  readFileSync(join(home.logs, "opencode", `${S}.jsonl`), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

test("a cancel reaches the plugin with its proof, is accepted when it was carried out, and ends the run in the record", async () => {
  const polled = poll()
  const child = cancel([S, "--url", service.url])
  const [message] = await polled
  expect(message?.decision).toEqual({ kind: "cancel", session: S, run: "msg_1" })
  await tell(
    { kind: "delivery", request: message?.request ?? "", status: "done" },
    bus("session.error", { sessionID: S, error: { name: "MessageAbortedError" } }),
    bus("session.idle", { sessionID: S }),
  )
  expect(await end(child)).toEqual({ code: 0, said: `accepted: the agent was told to stop ${S}` })
  const ended = await waitFor("end of the run", 5_000, () =>
    logged().find(({ type }) => type === "run.cancelled"),
  )
  const ack = logged().find(({ type }) => type === "control.accepted")
  expect(ended).toMatchObject({ run: "msg_1", cause: ack?.cause, data: { by: "control" } })
})

test("a cancel of a session without an open run is refused, and says what to do", async () => {
  const { code, said } = await end(cancel([S, "--url", service.url]))
  expect(code).toBe(3)
  expect(said).toContain("rejected (refused)")
  expect(said).toContain("opencode-aep tail")
})

test("a cancel of a session that nobody speaks for is refused by the endpoint", async () => {
  const { code, said } = await end(cancel(["ses_nobody", "--url", service.url]))
  expect([code, said]).toEqual([3, expect.stringContaining("no agent that runs now speaks for ses_nobody")])
})

test("without the right token nothing is commanded", async () => {
  const { code, said } = await end(
    cancel([S, "--url", service.url], { AEP_TOKEN: "another-token-0123456789" }),
  )
  expect([code, said]).toEqual([2, expect.stringContaining("does not take the token")])
})

test("without a service there is one line that says what to do", async () => {
  const { code, said } = await end(cancel([S, "--url", `http://127.0.0.1:${suitePort("hub", 8)}`]))
  expect([code, said]).toEqual([2, expect.stringContaining("bun run service")])
})

test.each(["OPENCODE", "AGENT"])("inside an agent (%s is set) it does not run", async (name) => {
  const { code, said } = await end(cancel([S, "--url", service.url], { [name]: "1" }))
  expect([code, said]).toEqual([2, expect.stringContaining("does not run inside an agent")])
})

test("a wrong call is a usage error, and help has an example", async () => {
  expect((await end(cancel([]))).code).toBe(2)
  const help = await end(cancel(["--help"]))
  expect([help.code, help.said]).toEqual([0, expect.stringContaining("$ opencode-aep cancel ses_1234")])
})
