/**
 * The discovery document (AEP-0003 §3.4): the same at both places, its endpoints resolving against where it was found, its
 * capabilities the ones that were handed in. And the methods each AEP door takes.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { AepHouse, CANARY } from "./doors-aep-house.ts"

const house = new AepHouse()
afterAll(() => house.close())

test.each(["/events", "/.well-known/aep"])(
  "%s tells versions, endpoints, role and capabilities",
  async (path) => {
    const answer = await house.ask(path)
    expect(answer.status).toBe(200)
    expect(answer.headers.get("content-type")).toStartWith("application/json")
    expect(answer.body).toEqual({
      aep: ["0.1"],
      endpoints: { events: "/events", stream: "/stream", socket: "/socket" },
      role: "both",
      capabilities: { filters: ["attr-match"], replay: { buffer: 10_000, all: true } },
    })
  },
)

test("nothing a client sends can stand in the endpoints", async () => {
  const plain = await house.ask("/events")
  const headers = {
    host: "aep.example.org",
    "x-forwarded-host": `${CANARY}.example`,
    "x-forwarded-proto": CANARY,
    forwarded: `host=${CANARY}`,
  }
  const answer = await house.ask(`/events?${CANARY}`, { headers })
  expect(answer.text).toBe(plain.text)
})

describe("a method that a door does not take is told those it does", () => {
  test.each([
    ["PUT", "/events", "GET, POST, OPTIONS"],
    ["DELETE", "/events", "GET, POST, OPTIONS"],
    ["HEAD", "/events", "GET, POST, OPTIONS"],
    ["POST", "/stream", "GET, OPTIONS"],
    ["HEAD", "/stream", "GET, OPTIONS"],
    ["POST", "/.well-known/aep", "GET, OPTIONS"],
    ["POST", "/socket", "GET"],
    ["HEAD", "/socket", "GET"],
    ["OPTIONS", "/socket", "GET"],
    ["POST", "/metrics", "GET"],
  ])("%s %s", async (method, path, allowed) => {
    const answer = await house.ask(path, { method })
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, allowed])
  })

  test("and no stream was opened by any of them", () => {
    expect(house.stream.size).toBe(0)
  })
})

test("the socket's door says that it speaks nothing but WebSocket", async () => {
  const answer = await house.ask("/socket")
  expect([answer.status, answer.body?.error]).toEqual([426, "no-upgrade"])
})
