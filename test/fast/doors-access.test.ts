/**
 * Who may observe, emit and control at the AEP doors (AEP-0003 §8.1): the token in the header, in the query where headers
 * cannot be set, and what AEP_AUTH=control leaves open on this machine. No refusal repeats what was shown.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { type AccessPolicy, judgeAccess, tokenTest } from "../../service/http/access.ts"
import { AepHouse, CANARY, eventOf, linesOf, ORIGIN } from "./doors-aep-house.ts"
import { CREDENTIAL, TOKEN } from "./doors-house.ts"

const SECOND = "s".repeat(20)
const strict: AccessPolicy = { isToken: tokenTest([TOKEN, SECOND]), auth: "all" }
const open: AccessPolicy = { ...strict, auth: "control" }

function judge(
  policy: AccessPolicy,
  headers: Record<string, string>,
  query = "",
  takesQuery = true,
): boolean | number {
  const request = new Request(`http://127.0.0.1:8390/stream${query}`, {
    headers: { host: "127.0.0.1:8390", ...headers },
  })
  const access = judgeAccess(request, policy, takesQuery)
  return access.kind === "granted" ? access.isAuthenticated : access.refusal.status
}

describe("the token authenticates, whatever the policy", () => {
  test.each([
    ["in the header", { authorization: `Bearer ${TOKEN}` }, ""],
    ["under another case of the scheme", { authorization: `bEARER ${TOKEN}` }, ""],
    ["a second accepted one", { authorization: `Bearer ${SECOND}` }, ""],
    ["in the query", {}, `?access_token=${TOKEN}`],
    ["in the query among others", {}, `?live=0&access_token=${TOKEN}&from=all`],
    ["in the query, escaped", {}, `?access_token=%74${TOKEN.slice(1)}`],
    ["in the header, with a wrong one in the query", { authorization: `Bearer ${TOKEN}` }, "?access_token=x"],
  ] as [string, Record<string, string>, string][])("%s", (_, headers, query) => {
    expect(judge(strict, headers, query)).toBe(true)
    expect(judge(open, headers, query)).toBe(true)
  })
})

describe("a wrong token is refused even where none is needed", () => {
  test.each([
    ["another", { authorization: `Bearer ${CANARY}` }, ""],
    ["none behind the scheme", { authorization: "Bearer " }, ""],
    ["another scheme", { authorization: `Basic ${TOKEN}` }, ""],
    ["no scheme", { authorization: TOKEN }, ""],
    ["the plugin's credential", { authorization: `Bearer ${CREDENTIAL}` }, ""],
    ["one character more", { authorization: `Bearer ${TOKEN}x` }, ""],
    ["one character less", { authorization: `Bearer ${TOKEN.slice(1)}` }, ""],
    ["another of its length", { authorization: `Bearer ${"u".repeat(TOKEN.length)}` }, ""],
    ["two at once", { authorization: `Bearer ${TOKEN}${SECOND}` }, ""],
    ["in the query", {}, `?access_token=${CANARY}`],
    ["empty in the query", {}, "?access_token="],
    ["in the header, with a good one in the query", { authorization: "Bearer x" }, `?access_token=${TOKEN}`],
  ] as [string, Record<string, string>, string][])("%s", (_, headers, query) => {
    expect(judge(strict, headers, query)).toBe(401)
    expect(judge(open, headers, query)).toBe(401)
  })
})

describe("no token at all", () => {
  test("is refused, and with AEP_AUTH=control granted without authentication", () => {
    expect(judge(strict, {})).toBe(401)
    expect(judge(open, {})).toBe(false)
  })

  test.each(["localhost:8390", "LOCALHOST", "[::1]:8390", "127.0.0.1"])("%s is this machine", (host) => {
    expect(judge(open, { host })).toBe(false)
  })

  test.each([
    ["a public name", { host: "aep.example.org" }],
    ["a name that begins like ours", { host: "localhost.example.org:8390" }],
    ["another address of this machine's net", { host: "127.0.0.1.example.org" }],
    ["a proxy that says for whom it asks", { "x-forwarded-for": "203.0.113.9" }],
    ["the same in the standard's words", { forwarded: "for=203.0.113.9" }],
  ] as [string, Record<string, string>][])("%s leads off this machine, where it is refused", (_, headers) => {
    expect(judge(open, headers)).toBe(401)
    expect(judge(open, { ...headers, authorization: `Bearer ${TOKEN}` })).toBe(true)
  })
})

test("a door that does not take the query passes over a token in it", () => {
  expect(judge(strict, {}, `?access_token=${TOKEN}`, false)).toBe(401)
  expect(judge(open, {}, `?access_token=${CANARY}`, false)).toBe(false)
})

const house = new AepHouse()
const openHouse = new AepHouse({ auth: "control" })
afterAll(async () => {
  await house.close()
  await openHouse.close()
})

const none = { authorization: "none" }
const post = {
  method: "POST",
  headers: { "aep-version": "0.1", "content-type": "application/json" },
  body: linesOf(eventOf(0)),
}

describe("at the doors", () => {
  test.each([
    ["GET", "/events"],
    ["POST", "/events"],
    ["GET", "/.well-known/aep"],
    ["GET", "/stream"],
    ["GET", "/socket"],
    ["GET", "/metrics"],
  ])("%s %s without the token is a refusal that names the remedy", async (method, path) => {
    for (const authorization of ["none", `Bearer ${CANARY}`, `Bearer ${CREDENTIAL}`]) {
      const answer = await house.ask(`${path}?filter=${CANARY}`, { method, headers: { authorization } })
      expect([answer.status, answer.body?.error]).toEqual([401, "unauthorized"])
      expect(answer.body?.detail).toContain("AEP_TOKEN")
      expect(answer.text).not.toContain(CANARY)
      expect(answer.text).not.toContain(TOKEN)
    }
  })

  test.each([
    ["GET", "/events", 401],
    ["POST", "/events", 401],
    ["GET", "/.well-known/aep", 401],
    ["GET", "/metrics", 401],
    ["GET", "/stream", 400],
    ["GET", "/socket", 426],
  ])("%s %s takes the token in the query or passes over it: %d", async (method, path, status) => {
    const answer = await house.ask(`${path}?access_token=${TOKEN}&live=x`, { method, headers: none })
    expect(answer.status).toBe(status)
    expect(answer.text).not.toContain(TOKEN)
  })

  test("AEP_AUTH=control opens observation and emission, but not the figures", async () => {
    expect((await openHouse.ask("/events", { headers: none })).status).toBe(200)
    expect((await openHouse.ask("/.well-known/aep", { headers: none })).status).toBe(200)
    expect((await openHouse.ask("/stream?live=0", { headers: none })).status).toBe(200)
    expect((await openHouse.ask("/events", { ...post, headers: { ...post.headers, ...none } })).status).toBe(
      202,
    )
    expect((await openHouse.ask("/metrics", { headers: none })).status).toBe(401)
    expect((await openHouse.ask("/metrics")).status).toBe(200)
  })

  test("and not for pages of other origins or under other names", async () => {
    for (const headers of [{ origin: "https://evil.example" }, { host: "evil.example:8390" }]) {
      expect((await openHouse.ask("/events", { headers: { ...none, ...headers } })).status).toBe(403)
      expect((await openHouse.ask("/socket", { headers: { ...none, ...headers } })).status).toBe(403)
    }
    expect((await openHouse.ask("/events", { headers: { ...none, origin: ORIGIN } })).status).toBe(200)
  })
})

test("a fault of ours is told without the query, in which the token may stand", async () => {
  const broken = new AepHouse({
    get metrics(): never {
      throw new Error("broken")
    },
  })
  const answer = await broken.ask(`/metrics?access_token=${TOKEN}`)
  expect([answer.status, answer.body?.error]).toEqual([500, "internal"])
  expect(broken.faults).toEqual(["/metrics broken"])
  await broken.close()
})
