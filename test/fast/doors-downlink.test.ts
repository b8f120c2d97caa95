/** The plugin's long poll (design §3, §5): who may poll, for whom, and what the answer holds. */
import { beforeEach, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { Downlink } from "../../service/control/downlink.ts"
import { type App, createApp } from "../../service/http/app.ts"
import { ownHosts } from "../../service/http/guard.ts"
import type { DownAnswer } from "../../shared/moments.ts"
import { Clock } from "../clock.ts"

const CREDENTIAL = "door-credential-0123456789"
const NONCE = "nonce-0123456789abcdef"
const PROOF_KEY = createHmac("sha256", "key").update("proof/1").digest()

let app: App
let downlink: Downlink
let renewed: string[]
beforeEach(() => {
  const clock = new Clock()
  renewed = []
  downlink = new Downlink({
    sign: (...parts) => createHmac("sha256", PROOF_KEY).update(parts.join("\0")).digest("hex"),
    now: clock.now,
    timers: clock.timers,
  })
  app = createApp({
    policy: { hosts: ownHosts("127.0.0.1", 8390, []), origins: new Set() },
    moments: {
      credential: Buffer.from(CREDENTIAL),
      maxBody: 1024,
      maxBatch: 10,
      apply: () => ({ next: 0, rejected: [] }),
    },
    downlink: {
      credential: Buffer.from(CREDENTIAL),
      renew: (instance) => {
        renewed.push(instance)
        return instance === "i-1"
      },
      poll: (...poll) => downlink.poll(...poll),
      isAnswerable: () => downlink.isAnswerable,
    },
    health: { token: Buffer.from("token"), health: () => ({ ok: true, relay: true, counts: {} }) },
    onFault: () => undefined,
  })
})

function ask(path: string, init: RequestInit = {}): Response | Promise<Response> {
  const headers = { host: "127.0.0.1:8390", authorization: `Bearer ${CREDENTIAL}`, ...init.headers }
  return app.fetch(new Request(`http://127.0.0.1:8390${path}`, { ...init, headers }))
}

const poll = (instance = "i-1", nonce = NONCE, init: RequestInit = {}) =>
  ask(`/opencode/instances/${instance}/down?nonce=${nonce}`, init)

describe("a poll", () => {
  test("gets a decision with the proof for itself, and renews the lease", async () => {
    const answer = poll()
    await Promise.resolve()
    downlink.push("i-1", "R1", { kind: "cancel", session: "s", run: "r" }, Number.POSITIVE_INFINITY)
    const body = (await (await answer).json()) as DownAnswer
    const [message] = body.messages
    expect(body).toEqual({
      messages: [{ request: "R1", decision: expect.any(String), proof: expect.any(String) }],
      answerable: false,
    })
    const signed = [NONCE, "i-1", "R1", message?.decision].join("\0")
    expect(message?.proof).toBe(createHmac("sha256", PROOF_KEY).update(signed).digest("hex"))
    expect(JSON.parse(message?.decision ?? "")).toEqual({ kind: "cancel", session: "s", run: "r" })
    expect(renewed).toEqual(["i-1"])
  })

  test("ends at once when its plugin believes of answerers what is not so, and as soon as that changes", async () => {
    const polling = (answerable: boolean) => poll("i-1", `${NONCE}&answerable=${answerable}`)
    const bodyOf = async (answer: Response | Promise<Response>) => (await answer).json()
    expect(await bodyOf(polling(true))).toEqual({ messages: [], answerable: false })
    const waiting = polling(false)
    await Promise.resolve()
    downlink.setAnswerable(true)
    expect(await bodyOf(waiting)).toEqual({ messages: [], answerable: true })
    const content = polling(true)
    await Promise.resolve()
    downlink.setAnswerable(true)
    downlink.push("i-1", "R1", { kind: "cancel", session: "s", run: "r" }, Number.POSITIVE_INFINITY)
    expect(await bodyOf(content)).toMatchObject({ messages: [{ request: "R1" }], answerable: true })
  })

  test("of an instance that has not spoken yet is told to do so", async () => {
    const answer = await poll("i-2")
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ error: "unknown-instance" })
  })

  test.each([
    ["no nonce", "i-1", ""],
    ["a short nonce", "i-1", "short"],
    ["a long nonce", "i-1", "n".repeat(129)],
    ["a nonce of other characters", "i-1", `${NONCE}%00`],
    ["an instance of other characters", "i%2F1", NONCE],
    ["an instance that is too long", "i".repeat(65), NONCE],
  ])("with %s is refused, and renews nothing", async (_, instance, nonce) => {
    expect((await poll(instance, nonce)).status).toBe(400)
    expect(renewed).toEqual([])
  })

  test.each([
    ["no credential", { authorization: "" }, 401],
    ["another credential", { authorization: "Bearer door-credential-9876543210" }, 401],
    ["the endpoint's token", { authorization: "Bearer token" }, 401],
    ["a foreign host", { host: "evil.example" }, 403],
    ["a foreign origin", { origin: "https://evil.example" }, 403],
  ])("with %s is refused, and renews nothing", async (_, headers, status) => {
    expect((await poll("i-1", NONCE, { headers })).status).toBe(status)
    expect(renewed).toEqual([])
  })

  test("is ended when its client hangs up", async () => {
    const controller = new AbortController()
    const answer = poll("i-1", NONCE, { signal: controller.signal })
    await Promise.resolve()
    controller.abort()
    expect(await (await answer).json()).toEqual({ messages: [], answerable: false })
  })

  test("is a GET and nothing else", async () => {
    const answer = await ask(`/opencode/instances/i-1/down?nonce=${NONCE}`, { method: "POST" })
    expect([404, 405]).toContain(answer.status)
  })
})
