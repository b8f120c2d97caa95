/**
 * The doors of a real service process, over TCP and over its Unix socket: what only a socket can do to it, and that
 * nothing of what came in is printed. The process is the one `main.ts` starts, on a home in a temporary folder.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { suitePort } from "../ports.ts"
import { batch, readAnswer, sound } from "./doors-house.ts"

const PORT = suitePort("fast", 5)
const URL_ = `http://127.0.0.1:${PORT}`
const CANARY = "canary-7f3a"
const MAX_BODY = 65_536
const MAIN = resolve(import.meta.dir, "../../service/main.ts")

const home = mkdtempSync(join(tmpdir(), "aep-doors-"))
let service: Bun.Subprocess<"ignore", "pipe", "pipe">
let errors: Promise<string>
let credential = ""
let token = ""

beforeAll(async () => {
  service = Bun.spawn([process.execPath, MAIN, "--port", String(PORT), "--home", home], {
    env: { PATH: process.env.PATH ?? "", AEP_MAX_BODY: String(MAX_BODY) },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  })
  errors = new Response(service.stderr).text()
  await firstLine(service.stdout)
  const { key } = JSON.parse(readFileSync(join(home, "plugin.json"), "utf8"))
  credential = createHmac("sha256", key).update("door/1").digest("hex")
  token = readFileSync(join(home, "token"), "utf8").trim()
}, 30_000)

afterAll(() => {
  service.kill("SIGKILL")
  rmSync(home, { recursive: true, force: true })
})

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader()
  const { value } = await reader.read()
  expect(new TextDecoder().decode(value)).toContain("listens on")
  reader.releaseLock()
}

const headers = () => ({ authorization: `Bearer ${credential}`, "content-type": "application/json" })
const post = async (body: BodyInit, init: RequestInit & { unix?: string } = {}) =>
  readAnswer(await fetch(`${URL_}/opencode/moments`, { method: "POST", headers: headers(), body, ...init }))

/** Sends bytes as they are and reads until the other side ends. `cut`: hang up instead of reading. */
function raw(text: string, cut = false): Promise<string> {
  const { promise, resolve: done, reject } = Promise.withResolvers<string>()
  let got = ""
  const socket = connect(PORT, "127.0.0.1", () => {
    socket.write(text, () => {
      if (cut) socket.destroy()
    })
  })
  socket.on("data", (bytes) => {
    got += bytes
    socket.end()
  })
  socket.on("close", () => done(got))
  socket.on("error", reject)
  return promise
}

const request = (lines: string[], body = "") =>
  [
    "POST /opencode/moments HTTP/1.1",
    `Host: 127.0.0.1:${PORT}`,
    `Authorization: Bearer ${credential}`,
    "Content-Type: application/json",
    "Connection: close",
    ...lines,
    "",
    body,
  ].join("\r\n")

describe.each(["TCP", "Unix socket"])("over %s", (way) => {
  const init = () => (way === "TCP" ? {} : { unix: join(home, "opencode.sock") })

  test("a batch is applied and durable when it is answered", async () => {
    const session = `ses_${way.slice(0, 3)}`
    const instance = { ...batch().instance, id: `i-${way.slice(0, 3)}` }
    const answer = await post(JSON.stringify(batch([sound(0, session)], { instance })), init())
    expect([answer.status, answer.body]).toEqual([202, { next: 1, rejected: [] }])
    const logs = readdirSync(join(home, "logs/opencode")).map((file) =>
      readFileSync(join(home, "logs/opencode", file), "utf8"),
    )
    expect(logs.some((text) => text.includes(`"session":"${session}"`))).toBe(true)
  })

  test("a stranger is refused, and whoever shows the token sees counts", async () => {
    const bare = await post("{}", { ...init(), headers: { "content-type": "application/json" } })
    expect([bare.status, bare.body?.error]).toEqual([401, "unauthorized"])
    const health = await readAnswer(
      await fetch(`${URL_}/healthz`, { ...init(), headers: { authorization: `Bearer ${token}` } }),
    )
    expect(health.body).toMatchObject({ ok: true, relay: true, refused: 0 })
  })

  test("a body over the bound is refused with what to do, however it is sent", async () => {
    const large = JSON.stringify(batch([{ ...sound(0), pad: `${CANARY}${"x".repeat(MAX_BODY)}` }]))
    const chunked = () =>
      new ReadableStream({
        start(controller) {
          for (let at = 0; at < large.length; at += 8_192) {
            controller.enqueue(new TextEncoder().encode(large.slice(at, at + 8_192)))
          }
          controller.close()
        },
      })
    for (const body of [large, chunked()]) {
      const answer = await post(body, init())
      expect([answer.status, answer.body?.error]).toEqual([413, "too-large"])
    }
  })
})

describe("what only a socket can do", () => {
  test("a body far over the bound ends the request, not the service", async () => {
    const huge = await post("x".repeat(8 * 1024 * 1024)).then(
      ({ status }) => status,
      () => 413,
    )
    expect(huge).toBe(413)
  })

  test.each([
    ["no HTTP at all", `${CANARY}\r\n\r\n`],
    ["no Host", "GET /healthz HTTP/1.1\r\n\r\n"],
    [
      "two Hosts",
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${PORT}\r\nHost: evil\r\nConnection: close\r\n\r\n`,
    ],
    ["a foreign Host", "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"],
    ["an absolute address", `GET http://evil/healthz HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n`],
  ])("%s gets nothing", async (_, text) => {
    const answer = await raw(text).catch(() => "")
    expect(answer).not.toContain(" 200 ")
    expect(answer).not.toContain(CANARY)
  })

  test("a sender that goes away amid its body costs nobody else anything", async () => {
    for (let times = 0; times < 5; times += 1) {
      await raw(request(["Content-Length: 5000"], `{"canary":"${CANARY}`), true)
      await raw(request(["Transfer-Encoding: chunked"], `10\r\n{"c":"${CANARY}`), true)
    }
    expect((await post(JSON.stringify(batch([], { first: 9 })))).status).toBe(202)
  })

  test("a length and chunks at once are not taken for two requests", async () => {
    const smuggled = request(
      ["Content-Length: 4", "Transfer-Encoding: chunked"],
      `0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${PORT}\r\nConnection: close\r\n\r\n`,
    )
    const answer = await raw(smuggled).catch(() => "")
    expect(answer.split("HTTP/1.1").length).toBeLessThanOrEqual(2)
    expect(answer).not.toContain(" 202 ")
  })
})

test("hostile content in every place: answers hold nothing of it", async () => {
  const bodies = [
    `{"${CANARY}`,
    JSON.stringify({ instance: CANARY }),
    JSON.stringify(batch([{ kind: CANARY }, { ...sound(1), kind: "bus", event: CANARY }, { n: CANARY }])),
    JSON.stringify(
      batch([
        {
          n: 5,
          at: 1,
          kind: "tool.before",
          input: { tool: "t", sessionID: "s", callID: "c" },
          output: { args: CANARY },
        },
      ]),
    ),
  ]
  for (const body of bodies) expect((await post(body)).text).not.toContain(CANARY)
})

test("asked to stop it ends with 0, prints nothing of what it was told, and leaves its secrets to nobody", async () => {
  for (const file of ["token", "plugin.json", "service.pid", "opencode.sock"]) {
    expect([file, statSync(join(home, file)).mode & 0o077]).toEqual([file, 0])
  }
  service.kill("SIGTERM")
  expect(await service.exited).toBe(0)
  expect(await errors).toBe("")
  expect(readdirSync(home)).not.toContain("service.pid")
}, 20_000)
