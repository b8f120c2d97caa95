/**
 * Who gets in at the real service's doors, and as what: the token in a query, watching without one, pages of other
 * origins. What comes of a command without the token is in `control.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { SseReader } from "../fast/doors-sse-reader.ts"
import { suitePort } from "../ports.ts"
import { eventOf, HELLO, newSession, Party } from "./client.ts"
import { Stage, TOKEN } from "./stage.ts"

const PAGE = "https://console.example"
const STRANGE_PAGE = "https://evil.example"
const QUERY = `access_token=${TOKEN}`

let closed: Stage
let open: Stage
let party: Party
/** Without a token, where all is closed and where watching is open. */
let nobody: Party
let watcher: Party
beforeAll(async () => {
  closed = await Stage.open(suitePort("hub", 6), { AEP_TOKEN: TOKEN, AEP_ALLOWED_ORIGINS: PAGE })
  open = await Stage.open(suitePort("hub", 7), { AEP_AUTH: "control" })
  party = new Party(closed.url, TOKEN)
  nobody = new Party(closed.url)
  watcher = new Party(open.url)
})
afterAll(() => Promise.all([closed.close(), open.close()]))

describe("the token in a query", () => {
  /** Answers that were given to requests with it. */
  const answers: string[] = []

  async function ask(path: string, init: { method?: string; headers?: Record<string, string> } = {}) {
    const answer = await nobody.ask(path, init)
    const body = await answer.text()
    answers.push(`${JSON.stringify([...answer.headers])} ${body}`)
    return { status: answer.status, body: JSON.parse(body || "{}") }
  }

  test("opens stream and socket, which a browser cannot show it otherwise", async () => {
    const session = newSession()
    const stream = new SseReader(await nobody.ask(`/stream?${QUERY}`))
    const socket = await party.greeted()
    await socket.ask({ type: "subscribe", id: "a" })
    const event = eventOf(session, "session.started")
    await party.told([event])
    expect((await stream.event()).data).toBe(JSON.stringify(event))
    expect(await socket.next()).toEqual(event)
    await Promise.all([stream.cancel(), socket.close()])
  })

  test.each([
    ["GET", "/events"],
    ["POST", "/events"],
    ["GET", "/.well-known/aep"],
    ["GET", "/metrics"],
    ["POST", "/opencode/moments"],
  ])("does not open %s %s", async (method, path) => {
    const headers = { "aep-version": "0.1", "content-type": "application/json" }
    expect((await ask(`${path}?${QUERY}`, { method, headers })).status).toBe(401)
  })

  test("shows no counts at /healthz", async () => {
    expect((await ask(`/healthz?${QUERY}`)).body).toEqual({ ok: true, relay: true })
  })

  test("does not help a header that is wrong", async () => {
    for (const path of ["/stream", "/socket"]) {
      const headers = { authorization: "Bearer nobody" }
      expect((await ask(`${path}?${QUERY}`, { headers })).status).toBe(401)
    }
  })

  test("stands in no answer, in nothing that the service printed, and in nothing that it keeps", async () => {
    const wrong = [
      ["GET", `/stream?${QUERY}&filter={`, 400],
      ["GET", `/stream?${QUERY}&${QUERY}&from=no`, 400],
      ["GET", `/socket?${QUERY}`, 426],
      ["GET", `/nowhere?${QUERY}`, 404],
      ["DELETE", `/stream?${QUERY}`, 405],
    ] as const
    for (const [method, path, status] of wrong) expect((await ask(path, { method })).status).toBe(status)
    const socket = await party.open()
    socket.send("no frame")
    expect((await socket.closed).code).toBe(1008)

    expect(answers.length).toBeGreaterThan(wrong.length)
    expect(answers.filter((answer) => answer.includes(TOKEN))).toEqual([])
    expect(closed.printed()).not.toContain(TOKEN)
    const kept = readdirSync(closed.home.path, { recursive: true, encoding: "utf8" })
      .map((name) => join(closed.home.path, name))
      .filter((path) => statSync(path).isFile())
    expect(kept.length).toBeGreaterThan(2)
    expect(kept.filter((path) => readFileSync(path).includes(TOKEN))).toEqual([])
  })
})

describe("where watching is open", () => {
  test("whoever is on this machine reads and emits without a token", async () => {
    expect((await watcher.ask("/events")).status).toBe(200)
    const session = newSession()
    const stream = await watcher.stream({ filter: { session } })
    const event = eventOf(session, "session.started")
    await watcher.told([event])
    expect((await stream.event()).data).toBe(JSON.stringify(event))
    const socket = await watcher.greeted()
    socket.send({ type: "subscribe", id: "a", from: "all", filter: { session } })
    expect((await socket.settled())[1]).toBe(JSON.stringify(event))
    await Promise.all([stream.cancel(), socket.close()])
  })

  test("a wrong token is refused all the same, and counts stay behind the right one", async () => {
    const stranger = new Party(open.url, "some-other-token")
    expect((await stranger.ask("/events")).status).toBe(401)
    expect((await stranger.post([eventOf(newSession(), "session.started")])).status).toBe(401)
    await expect(stranger.open()).rejects.toThrow()
    expect((await watcher.ask("/metrics")).status).toBe(401)
    expect((await new Party(open.url, open.madeToken).ask("/metrics")).status).toBe(200)
  })

  test("a proxy that asks for others is somebody else", async () => {
    expect((await watcher.ask("/events", { headers: { "x-forwarded-for": "192.0.2.1" } })).status).toBe(401)
  })
})

describe("a page of another origin", () => {
  const allowed = (answer: Response): string | null => answer.headers.get("access-control-allow-origin")
  const doors = ["/events", "/stream", "/.well-known/aep"]

  test("that is configured may ask, and read what it is answered, refusals included", async () => {
    const headers = { origin: PAGE }
    for (const path of doors) {
      const preflight = await nobody.ask(path, { method: "OPTIONS", headers })
      expect([preflight.status, allowed(preflight)]).toEqual([204, PAGE])
      expect(preflight.headers.get("access-control-allow-headers")).toContain("authorization")
      const refused = await nobody.ask(path, { headers })
      expect([refused.status, allowed(refused)]).toEqual([401, PAGE])
      const answer = await party.ask(path, { headers })
      expect([answer.status, allowed(answer)]).toEqual([200, PAGE])
      await answer.body?.cancel()
    }
  })

  test("that is not configured is refused with the token too, and told of no other", async () => {
    const headers = { origin: STRANGE_PAGE }
    for (const path of [...doors, "/socket", "/metrics", "/healthz"]) {
      for (const method of ["GET", "OPTIONS"]) {
        const answer = await party.ask(path, { method, headers })
        expect([path, answer.ok, allowed(answer)]).toEqual([path, false, null])
      }
    }
  })

  test("may not read what is meant for no page", async () => {
    for (const path of ["/metrics", "/healthz", "/opencode/moments"]) {
      expect([path, allowed(await party.ask(path, { headers: { origin: PAGE } }))]).toEqual([path, null])
    }
  })

  test("opens a socket only if it is configured", async () => {
    const open = async (origin: string): Promise<Record<string, unknown>> => {
      // The DOM's types hide that Bun's client can set headers.
      const socket: Bun.WebSocket = Reflect.construct(WebSocket, [party.socketUrl, { headers: { origin } }])
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      socket.onopen = () => socket.send(JSON.stringify(HELLO))
      socket.onmessage = ({ data }) => resolve(String(data))
      socket.onclose = () => reject(new Error("refused"))
      const hello = await promise
      socket.close()
      return JSON.parse(hello)
    }
    expect(await open(PAGE)).toMatchObject({ type: "hello" })
    await expect(open(STRANGE_PAGE)).rejects.toThrow("refused")
  })
})
