/**
 * Calls of `opencode-aep tail` that come to nothing: what is wrong is said in one line with what to do next, and ends with 2.
 */
import { afterEach, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { findService } from "../../service/cli/connection.ts"
import { openHome } from "../crash/service.ts"
import { suitePort } from "../ports.ts"
import { run } from "./cli-program.ts"
import { TailHouse, TOKEN } from "./cli-tail-house.ts"

const PORT = suitePort("relay", 6)
const OTHER_PORT = suitePort("relay", 7)
const OTHER = `http://127.0.0.1:${OTHER_PORT}`

const house = new TailHouse(PORT, OTHER_PORT)
afterEach(() => house.close())

describe("a wrong call ends with 2 before anything is asked", () => {
  test.each([
    [["--from", "one"], "--from takes all, or session:epoch:seq"],
    [["--from", "one:0:1", "--from", "one:0:2"], "each session once"],
    [["--from", "all", "--from", "one:0:1"], "give either, not both"],
    [["--filter", "{}", "--agent", "x"], "cannot be used with option '--agent"],
    [["--json", "--timeline"], "cannot be used with option"],
    [["--severity", "loud"], "Allowed choices are debug"],
    [["--capture", "some"], "Allowed choices are none"],
    [["--url", "nowhere"], "--url is no address of a service; give one like"],
    [["--url", "file:///etc/passwd"], "--url is no address of a service"],
    [["--url", "http://u:p@127.0.0.1"], "--url holds more than host, port and path"],
    [["--url", "http://127.0.0.1/?access_token=x"], "--url holds more than host, port and path"],
    [["--url", "http://relay.example.org"], "--url is not encrypted"],
    [["--token", "x"], "unknown option '--token'"],
  ])("%j", async (args, says) => {
    const { code, stdout, stderr } = await run(["tail", ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain(says)
    expect(stderr).toContain("next: opencode-aep help ")
  })

  test("help ends with 0 and holds examples", async () => {
    const { code, stdout } = await run(["tail", "--help"])
    expect(code).toBe(0)
    expect(stdout).toContain("$ opencode-aep tail --session ses_1234 --from all")
  })
})

describe("no service at the address ends with 2 and says what to do", () => {
  test("nobody listens", async () => {
    const tail = house.tail(["--url", OTHER])
    expect(await tail.end()).toBe(2)
    expect(tail.complaints).toEqual([
      `opencode-aep: no service answers at ${OTHER} (ECONNREFUSED); next: start it with bun run service, or give --url or --home`,
    ])
  })

  test("a home that names no service is no service's home", async () => {
    const home = openHome()
    for (const [text, says] of [
      ['{"url":"http://user:secret@127.0.0.1:1"}', "url in "],
      [`{"url":"${OTHER}"}`, `no service answers at ${OTHER} (ECONNREFUSED)`],
    ] as const) {
      writeFileSync(join(home.path, "plugin.json"), text)
      const tail = house.tail(["--home", home.path, "--no-follow"])
      expect(await tail.end()).toBe(2)
      expect(tail.complaints).toEqual([expect.stringContaining(says)])
      expect(tail.child.stderr()).not.toContain("user:secret")
    }
    home.remove()
  })

  test.each([
    [
      "a page",
      () => new Response("<p>hello</p>", { headers: { "content-type": "text/html" } }),
      "status 200",
    ],
    ["another door", () => new Response("", { status: 404 }), "did not open a stream (status 404)"],
    [
      "hostile words",
      () => Response.json({ detail: "\u001b[2Jx" }, { status: 400 }),
      "the service refused the call: {U+001B}[2Jx; next: ",
    ],
    [
      "a full house",
      () => Response.json({ error: "too-many", detail: 7 }, { status: 503 }),
      "has no room: too-many",
    ],
    ["no object", () => Response.json(null, { status: 500 }), "(status 500)"],
  ])("%s", async (_what, response, says) => {
    house.other([{ kind: "answer", response }])
    const tail = house.tail(["--url", OTHER])
    expect(await tail.end()).toBe(2)
    expect(tail.complaints).toEqual([expect.stringContaining(says)])
  })

  test("a redirect is not followed, since the token is not for whom it names", async () => {
    const to = `${OTHER}/elsewhere`
    const server = house.other([
      { kind: "answer", response: () => new Response("", { status: 307, headers: { location: to } }) },
    ])
    const tail = house.tail(["--url", `${OTHER}/base/`])
    expect(await tail.end()).toBe(2)
    expect(server.requests.map(({ url }) => url.href)).toEqual([`${OTHER}/base/stream?`])
  })
})

test("without an address, and without one in the home, it is the service's usual one", () => {
  const home = openHome()
  const baseOf = (): string => {
    const found = findService({
      url: undefined,
      home: undefined,
      env: { AEP_HOME: home.path },
      userHome: "/",
    })
    return found.kind === "found" ? found.service.base : found.detail
  }
  expect(baseOf()).toBe("http://127.0.0.1:8390")
  for (const text of ["{", "null", '{"url":7}']) {
    writeFileSync(join(home.path, "plugin.json"), text)
    expect(baseOf()).toBe("http://127.0.0.1:8390")
  }
  home.remove()
})

test("the token of a home is for this machine, AEP_TOKEN for wherever the call leads", () => {
  const home = openHome()
  writeFileSync(join(home.path, "token"), "kept-token\n")
  const tokenFor = (url: string, env: Record<string, string>): string | undefined => {
    const found = findService({ url, home: home.path, env, userHome: "/" })
    if (found.kind === "invalid") throw new Error(found.detail)
    return found.service.token
  }
  for (const url of ["http://127.0.0.1:1", "http://localhost:1", "https://[::1]:1"]) {
    expect([tokenFor(url, {}), tokenFor(url, { AEP_TOKEN: TOKEN })]).toEqual(["kept-token", TOKEN])
  }
  for (const url of ["https://relay.example.org", "https://127.0.0.1.example.org", "https://10.0.0.1"]) {
    expect([tokenFor(url, {}), tokenFor(url, { AEP_TOKEN: TOKEN })]).toEqual([undefined, TOKEN])
  }
  home.remove()
})
