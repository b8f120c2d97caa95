/**
 * What a browser needs to let a page of a configured origin read the AEP doors, refusals included, and what it needs to
 * keep every other page out.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { AepHouse, ORIGIN } from "./doors-aep-house.ts"

const house = new AepHouse({ maxStreams: 0 })
afterAll(() => house.close())

const ALLOWED = "access-control-allow-origin"

describe("an answer to a configured origin names it, whatever the answer", () => {
  test.each([
    ["discovery", "GET", "/events", {}, 200],
    ["discovery at the well-known place", "GET", "/.well-known/aep", {}, 200],
    ["no token", "GET", "/events", { authorization: "none" }, 401],
    ["another version", "POST", "/events", { "aep-version": "9.9" }, 426],
    ["a malformed query", "GET", "/stream?filter=x", {}, 400],
    ["no stream left", "GET", "/stream", {}, 503],
    ["a Host that is not ours", "GET", "/stream", { host: "evil.example" }, 403],
    ["another method", "DELETE", "/events", {}, 405],
  ] as [string, string, string, Record<string, string>, number][])(
    "%s",
    async (_, method, path, headers, status) => {
      const answer = await house.ask(path, { method, headers: { origin: ORIGIN, ...headers } })
      expect(answer.status).toBe(status)
      expect(answer.headers.get(ALLOWED)).toBe(ORIGIN)
      expect(answer.headers.get("vary")).toBe("Origin")
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull()
    },
  )
})

describe("no other origin is named", () => {
  test.each(["https://evil.example", "null", `${ORIGIN}.evil`, "*", ""])("%j", async (origin) => {
    for (const [method, path] of [
      ["GET", "/events"],
      ["OPTIONS", "/stream"],
    ] as const) {
      const answer = await house.ask(path, { method, headers: { origin } })
      expect(answer.status).toBe(403)
      expect(answer.headers.get(ALLOWED)).toBeNull()
      expect(answer.headers.get("vary")).toBe("Origin")
    }
  })

  test("none where the request comes from no page, but caches are told", async () => {
    const answer = await house.ask("/events")
    expect([answer.status, answer.headers.get(ALLOWED), answer.headers.get("vary")]).toEqual([
      200,
      null,
      "Origin",
    ])
  })

  test.each(["/healthz", "/metrics", "/opencode/moments", "/socket", "/nowhere"])(
    "%s is for no page of another origin",
    async (path) => {
      for (const method of ["GET", "OPTIONS"]) {
        const answer = await house.ask(path, { method, headers: { origin: ORIGIN } })
        expect(answer.headers.get(ALLOWED)).toBeNull()
      }
    },
  )
})

describe("a preflight is answered without a token, since browsers send none with it", () => {
  test.each([
    ["/events", "GET, POST"],
    ["/stream", "GET"],
    ["/.well-known/aep", "GET"],
  ])("%s", async (path, methods) => {
    const answer = await house.ask(path, {
      method: "OPTIONS",
      headers: { origin: ORIGIN, authorization: "none", "access-control-request-method": "GET" },
    })
    expect([answer.status, answer.text]).toEqual([204, ""])
    expect(answer.headers.get(ALLOWED)).toBe(ORIGIN)
    expect(answer.headers.get("access-control-allow-methods")).toBe(methods)
    expect(answer.headers.get("access-control-allow-headers")).toBe(
      "authorization, aep-version, content-type, last-event-id",
    )
    expect(answer.headers.get("access-control-max-age")).toBe("600")
    expect(answer.headers.get("vary")).toBe("Origin")
  })
})
