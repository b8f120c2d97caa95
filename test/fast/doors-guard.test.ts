/**
 * Who and what comes through a door at all (design section 5): Host, Origin, bearer, content type, size, method,
 * path. Every refusal is `{error, detail}` and repeats nothing of the request but its path.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { batch, CREDENTIAL, Doors, MAX_BODY, sound, TOKEN } from "./doors-house.ts"

const doors = new Doors()
afterAll(() => doors.close())

const BODY = JSON.stringify(batch([]))
const CANARY = "canary-7f3a"

async function refused(
  headers: Record<string, string>,
  status: number,
  error: string,
  body: BodyInit = BODY,
): Promise<string> {
  const answer = await doors.post(body, headers)
  expect(answer.status).toBe(status)
  expect(answer.headers.get("content-type")).toStartWith("application/json")
  expect(Object.keys(answer.body ?? {})).toEqual(["error", "detail"])
  expect(answer.body?.error).toBe(error)
  expect(answer.text).not.toContain(CANARY)
  return String(answer.body?.detail)
}

describe("the Host header must be ours", () => {
  test.each(["127.0.0.1:8390", "localhost:8390", "LOCALHOST:8390", "[::1]:8390", "aep.example.org"])(
    "%s is",
    async (host) => {
      expect((await doors.post(BODY, { host })).status).toBe(202)
      expect((await doors.ask("/healthz", { headers: { host } })).status).toBe(200)
    },
  )

  test.each([
    ...["127.0.0.1", "127.0.0.1:8391", "evil.example", `${CANARY}.example:8390`, "localhost.evil:8390"],
    ...["127.0.0.1:8390.evil", "aep.example.org:8390", "127.0.0.1:8390,evil"],
  ])("%s is not", async (host) => {
    expect(await refused({ host }, 403, "foreign-host")).toContain("AEP_PUBLIC_URL")
    expect((await doors.ask("/healthz", { headers: { host } })).status).toBe(403)
    expect((await doors.ask("/nowhere", { headers: { host } })).status).toBe(403)
  })

  test("none at all is not", async () => {
    const answer = await doors.app.fetch(new Request("http://127.0.0.1:8390/healthz"))
    expect(answer.status).toBe(403)
  })
})

describe("an Origin must be absent or ours", () => {
  test.each(["http://127.0.0.1:8390", "https://127.0.0.1:8390", "https://console.example.org"])(
    "%s is ours",
    async (origin) => {
      expect((await doors.post(BODY, { origin })).status).toBe(202)
    },
  )

  test.each([
    ...["null", "", "http://evil.example", `https://${CANARY}.example`, "http://localhost:8390"],
    ...["https://console.example.org.evil", "HTTPS://CONSOLE.EXAMPLE.ORG", "http://127.0.0.1:8391"],
  ])("%j is foreign", async (origin) => {
    expect(await refused({ origin }, 403, "foreign-origin")).toContain("AEP_ALLOWED_ORIGINS")
  })
})

describe("the plugin's door takes its credential only", () => {
  test.each([`Bearer ${CREDENTIAL}`, `bearer ${CREDENTIAL}`, `BEARER ${CREDENTIAL}`])("%s", async (value) => {
    expect((await doors.post(BODY, { authorization: value })).status).toBe(202)
  })

  test.each([
    ["", "none"],
    [CREDENTIAL, "no scheme"],
    [`Basic ${CREDENTIAL}`, "another scheme"],
    [`Bearer ${TOKEN}`, "the endpoint's token"],
    [`Bearer ${CREDENTIAL}x`, "one character more"],
    [`Bearer ${CREDENTIAL.slice(1)}`, "one character less"],
    [`Bearer ${"d".repeat(64)}`, "another of its length"],
    [`Bearer ${CREDENTIAL.slice(1)}é`, "a letter of two bytes"],
    [`Bearer  ${CREDENTIAL}`, "a second space"],
    ["Bearer ", "an empty one"],
    [`Bearer ${CANARY}`, "a stranger's"],
  ])("refuses %#: %p (%s)", async (authorization) => {
    const detail = await refused({ authorization }, 401, "unauthorized")
    expect(detail).toContain("plugin.json")
    expect(detail).not.toContain(CREDENTIAL)
  })

  test("before it looks at anything of the body", async () => {
    await refused({ authorization: "", "content-type": "text/plain" }, 401, "unauthorized", CANARY)
  })
})

describe("the content type must be JSON", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    " application/json ",
  ])("%s is", async (type) => {
    expect((await doors.post(BODY, { "content-type": type })).status).toBe(202)
  })

  test.each([
    "",
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "application/jsonx",
    CANARY,
  ])("%j is not", async (type) => {
    expect(await refused({ "content-type": type }, 415, "wrong-content-type")).toContain("application/json")
  })
})

describe("a body over the bound is refused", () => {
  const large = JSON.stringify(batch([{ ...sound(0), pad: `${CANARY}${"x".repeat(MAX_BODY)}` }]))

  test("by its declared length", async () => {
    expect(await refused({ "content-length": String(MAX_BODY + 1) }, 413, "too-large")).toContain(
      "AEP_MAX_BODY",
    )
  })

  test("by what it is, declared or not", async () => {
    await refused({}, 413, "too-large", large)
    const chunks = new ReadableStream({
      start(controller) {
        for (let at = 0; at < large.length; at += 10_000) {
          controller.enqueue(new TextEncoder().encode(large.slice(at, at + 10_000)))
        }
        controller.close()
      },
    })
    await refused({}, 413, "too-large", chunks)
  })

  test("in bytes, not in characters", async () => {
    const wide = JSON.stringify(batch([{ ...sound(0), pad: "文".repeat(MAX_BODY / 2) }]))
    expect(wide.length).toBeLessThan(MAX_BODY)
    await refused({}, 413, "too-large", wide)
  })

  test("and one at the bound is taken", async () => {
    const bare = JSON.stringify(batch([], { pad: "" })).length
    const exact = JSON.stringify(batch([], { pad: "x".repeat(MAX_BODY - bare) }))
    expect(exact.length).toBe(MAX_BODY)
    expect((await doors.post(exact)).status).toBe(202)
  })

  test("a declared length that is no number does not get past the bound", async () => {
    await refused({ "content-length": "nonsense" }, 413, "too-large", large)
  })
})

describe("what is no door is said so", () => {
  test.each([
    ["GET", "/"],
    ["GET", "/events"],
    ["POST", "/opencode/moments/"],
    ["GET", "/opencode/../healthz2"],
    ["GET", "/%2e%2e/%2e%2e/etc/passwd"],
    ["GET", "/healthz/"],
  ])("%s %s", async (method, path) => {
    const answer = await doors.ask(path, { method, headers: { authorization: `Bearer ${CREDENTIAL}` } })
    expect(answer.status).toBe(404)
    expect(Object.keys(answer.body ?? {})).toEqual(["error", "detail"])
    expect(answer.body?.error).toBe("not-found")
    expect(answer.headers.get("access-control-allow-origin")).toBeNull()
  })

  test.each([
    ["GET", "/opencode/moments", "POST"],
    ["PUT", "/opencode/moments", "POST"],
    ["DELETE", "/opencode/moments", "POST"],
    ["OPTIONS", "/opencode/moments", "POST"],
    ["POST", "/healthz", "GET, HEAD"],
  ])("%s %s is told what the path takes", async (method, path, allowed) => {
    const answer = await doors.ask(path, { method, headers: { authorization: `Bearer ${CREDENTIAL}` } })
    expect(answer.status).toBe(405)
    expect(answer.body?.error).toBe("wrong-method")
    expect(answer.headers.get("allow")).toBe(allowed)
    expect(answer.headers.get("access-control-allow-origin")).toBeNull()
  })

  test("a path of any length is shortened", async () => {
    const answer = await doors.ask(`/${"p".repeat(5_000)}`)
    expect(answer.status).toBe(404)
    expect(answer.text.length).toBeLessThan(250)
  })
})

describe("/healthz", () => {
  test("is bare for anyone, and never cached", async () => {
    const answer = await doors.ask("/healthz")
    expect(answer.body).toEqual({ ok: true, relay: true })
    expect(answer.headers.get("cache-control")).toBe("no-store")
  })

  test("tells counts to whoever shows the token", async () => {
    const answer = await doors.ask("/healthz", { headers: { authorization: `Bearer ${TOKEN}` } })
    expect(answer.body).toMatchObject({ ok: true, relay: true, version: "0" })
    for (const name of ["instances", "sessions", "batches", "moments", "repeated", "rejected", "dropped"]) {
      expect(answer.body?.[name]).toBeNumber()
    }
  })

  test.each([`Bearer ${CREDENTIAL}`, `Bearer ${TOKEN}x`, TOKEN, ""])(
    "is bare for %j",
    async (authorization) => {
      expect((await doors.ask("/healthz", { headers: { authorization } })).body).toEqual({
        ok: true,
        relay: true,
      })
    },
  )

  test("answers HEAD without a body", async () => {
    const answer = await doors.ask("/healthz", { method: "HEAD" })
    expect([answer.status, answer.text]).toEqual([200, ""])
  })

  test("no token in a query opens anything", async () => {
    expect((await doors.ask(`/healthz?access_token=${TOKEN}`)).body).toEqual({ ok: true, relay: true })
    const answer = await doors.ask(`/opencode/moments?access_token=${CREDENTIAL}`, {
      method: "POST",
      body: BODY,
    })
    expect(answer.status).toBe(401)
  })
})

test("no refusal was a fault of ours", () => {
  expect(doors.faults).toEqual([])
  expect(doors.house.faults).toEqual([])
})
