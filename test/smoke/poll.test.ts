/**
 * The plugin's poll is held its whole time on both of the service's listeners: cut short, the plugin would take the service for
 * gone again and again, and hold nothing. Bun ends held requests in its own ways, so only a whole wait shows it.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { POLL_MS } from "../../service/control/downlink.ts"
import { startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"

const root = resolve(import.meta.dir, "../..")
const home = mkdtempSync(join(tmpdir(), "aep-poll-"))
const service = startChild({
  command: [process.execPath, join(root, "service/main.ts"), "--port", String(suitePort("smoke", 1))],
  cwd: root,
  env: { PATH: process.env.PATH ?? "", HOME: home, AEP_HOME: home },
})

beforeAll(async () => {
  await waitFor(
    "the service",
    10_000,
    () => service.stdout().includes("next:"),
    () => service.stderr(),
  )
})
afterAll(async () => {
  await service.stop()
  rmSync(home, { recursive: true, force: true })
})

test("on the Unix socket and on TCP", async () => {
  const { url, socket, key } = JSON.parse(readFileSync(join(home, "plugin.json"), "utf8"))
  const credential = createHmac("sha256", key).update("door/1").digest("hex")
  const headers = { authorization: `Bearer ${credential}`, "content-type": "application/json" }
  const held = async (id: string, unix: string | undefined) => {
    const to = unix === undefined ? {} : { unix }
    const instance = { id, agent: "opencode", directory: "/project", mode: "serve", plugin: "0" }
    const body = JSON.stringify({ instance, first: 0, moments: [] })
    await fetch(`${url}/opencode/moments`, { ...to, method: "POST", headers, body })
    const began = performance.now()
    const path = `/opencode/instances/${id}/down?nonce=0123456789abcdef&answerable=false`
    const answer = await fetch(`${url}${path}`, { ...to, headers })
    return { body: await answer.json(), isWhole: performance.now() - began > POLL_MS - 1_000 }
  }
  expect(typeof socket).toBe("string")
  const whole = { body: { messages: [], answerable: false }, isWhole: true }
  expect(await Promise.all([held("i-socket", socket), held("i-tcp", undefined)])).toEqual([whole, whole])
  expect(service.stderr()).toBe("")
}, 60_000)
