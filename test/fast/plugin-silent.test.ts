/** The drop-in in a process of its own prints nothing, holds nothing open, and changes nothing it was given. */
import { expect, test } from "bun:test"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DROP_IN } from "../../plugin/build.ts"
import { suitePort } from "../ports.ts"
import { startPeer } from "./plugin-peer.ts"

/** Loads the drop-in, drives every hook, disposes where told, and ends by itself. */
const PROGRAM = `
  const { OpencodeAep } = await import(${JSON.stringify(DROP_IN)})
  const hooks = await OpencodeAep({ directory: "/p" })
  if (hooks.event === undefined) process.exit(0)
  const input = { tool: "bash", sessionID: "s", callID: "c" }
  for (let n = 0; n < 300; n += 1) {
    await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" + n } } })
    await hooks["tool.execute.before"]({ ...input }, { args: { n, content: "x".repeat(n === 9 ? 200000 : n * 30) } })
    await hooks["tool.execute.after"]({ ...input }, { output: n % 3 ? "o" : 1n })
    await hooks["chat.message"]({ sessionID: "s" }, { parts: [] })
    await hooks["permission.ask"]({ id: "per_" + n, get metadata() { throw new Error("planted") } }, {})
    await hooks.event(n % 2 ? undefined : { event: { get type() { throw new Error("planted") } } })
  }
  if (process.env.DISPOSE === "1") await hooks.dispose()
  const listeners = ["SIGTERM", "SIGINT", "exit", "uncaughtException", "unhandledRejection"]
  process.exitCode = listeners.reduce((sum, name) => sum + process.listenerCount(name), 0)
`

async function drive(env: Record<string, string>) {
  const home = await mkdtemp(join(tmpdir(), "aep-plugin-"))
  const child = Bun.spawn([process.execPath, "-e", PROGRAM], {
    env: { HOME: home, ...env },
    stdout: "pipe",
    stderr: "pipe",
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  await rm(home, { recursive: true })
  return { out, err, code }
}

const QUIET = { out: "", err: "", code: 0 }
const URL_3 = `http://127.0.0.1:${suitePort("fast", 3)}`

test.each([
  ["there is no service and no plugin.json", {}],
  ["the service refuses connections", { AEP_OPENCODE_URL: URL_3, AEP_OPENCODE_KEY: "k" }],
  ["the service's address is refused", { AEP_OPENCODE_URL: "http://aep.example", AEP_OPENCODE_KEY: "k" }],
  ["the service's address is no address", { AEP_OPENCODE_URL: "::", AEP_OPENCODE_KEY: "k" }],
  ["it is switched off", { AEP_OPENCODE_OFF: "1" }],
])("not a byte is printed and the process ends by itself when %s", async (_when, env) => {
  expect(await drive({ DISPOSE: "1", ...env })).toEqual(QUIET)
  expect(await drive({ ...env })).toEqual(QUIET)
})

const faults: [string, () => Response | Promise<Response>][] = [
  ["answers 500", () => new Response("no", { status: 500 })],
  ["answers nonsense", () => new Response("{")],
  ["refuses every batch", () => new Response("no", { status: 413 })],
  ["does not know the credential", () => new Response("no", { status: 401 })],
  ["hangs", () => new Promise<Response>(() => undefined)],
]
test.each(faults)(
  "not a byte is printed and the process ends by itself when the service %s",
  async (_what, answer) => {
    const peer = startPeer(3)
    peer.misbehave(answer)
    expect(await drive({ AEP_OPENCODE_URL: peer.url, AEP_OPENCODE_KEY: "k", DISPOSE: "1" })).toEqual(QUIET)
    expect(peer.arrivals.length).toBeGreaterThan(0)
    await peer.stop()
  },
)

test("with a healthy service everything arrives before the process ends", async () => {
  const peer = startPeer(3)
  expect(await drive({ AEP_OPENCODE_URL: peer.url, AEP_OPENCODE_KEY: "k", DISPOSE: "1" })).toEqual(QUIET)
  expect(peer.applied.at(-1)).toMatchObject({ kind: "dispose" })
  expect(peer.applied.filter(({ kind }) => kind === "tool.before").length).toBe(300)
  expect(peer.applied.filter(({ kind }) => kind === "tool.after").length).toBe(200)
  const dropped = peer.arrivals.at(-1)?.batch.dropped ?? {}
  expect(Object.keys(dropped).length).toBeLessThanOrEqual(2)
  await peer.stop()
})
