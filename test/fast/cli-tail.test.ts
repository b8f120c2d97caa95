/**
 * `opencode-aep tail` as people and scripts meet it: the real program against the real service, both as processes.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { suitePort } from "../ports.ts"
import { shell } from "./cli-program.ts"
import { eventAt, type Stage, TailHouse, TOKEN } from "./cli-tail-house.ts"

const PORT = suitePort("relay", 6)
const SERVICE = `http://127.0.0.1:${PORT}`
const OTHER_PORT = suitePort("relay", 7)
const OTHER = `http://127.0.0.1:${OTHER_PORT}`

const house = new TailHouse(PORT, OTHER_PORT)
afterEach(() => house.clear())
afterAll(() => house.close())

const idsOf = (lines: readonly string[]): unknown[] => lines.map((line) => JSON.parse(line).id)

describe("a service that runs", () => {
  const hostile = [1, 2].map((seq) =>
    eventAt("s\u001b]0;x\u0007\u202e", seq, {
      source: "aep://host-t/agent/hostile",
      agent: "\u009b31m",
      subject: "bash\n08:00:00.000  run finished\u001b[2K\u2066",
    }),
  )
  /** As its emitter wrote it, which is not as we would. */
  const odd = `{ "seq":1e0 ,"session":"odd","aep":"0.1","id":"odd-1","type":"tool.requested","subject":"\\u00e4ö\u2028\u202e😀\\/", "time":"2026-06-01T08:00:01Z", "source":"aep://host-t/agent/other", "agent":"other","data":{"n":1.0e2,"__proto__":{}} }`
  const large = eventAt("large", 1, { capture: "full", data: { text: "x".repeat(300_000) } })
  const machinery = eventAt("one", 2, { type: "x.other.state.inner", severity: "debug" })
  const ask = eventAt("two", 1, {
    type: "attention.requested",
    severity: "notice",
    capture: "redacted",
    data: { kind: "permission", prompt: "secret words", options: [{ id: "once" }] },
  })
  let stage: Stage
  let home: string[]

  beforeAll(async () => {
    stage = await house.stage()
    home = ["--home", stage.home.path]
    await stage.post(eventAt("one", 0), eventAt("one", 1), machinery, eventAt("two", 0), ask, odd)
    await stage.post(
      ...hostile,
      eventAt("third", 1, { agent: "kilo", type: "run.failed", severity: "error" }),
    )
  })
  afterAll(() => house.close())

  const held = async (...args: string[]): Promise<{ code: number; lines: string[]; stderr: string }> => {
    const tail = house.tail([...home, "--no-follow", ...args])
    return { code: await tail.end(), lines: tail.lines, stderr: tail.child.stderr() }
  }

  test("shows what it holds as people read it, a heading for each session, no machinery", async () => {
    expect(await held("--filter", '{"session":["one","two"]}')).toEqual({
      code: 0,
      stderr: "",
      lines: [
        "==> 2026-06-01 one <==",
        "08:00:00.250  session one started (other)",
        "08:00:01.250  tool step-1 called",
        "",
        "==> 2026-06-01 two <==",
        "08:00:00.250  session two started (other)",
        "08:00:01.250  ? secret words [once]",
      ],
    })
    expect((await held("--session", "one", "--timeline", "--verbose")).lines).toContain(
      "08:00:02.250  x.other.state.inner step-2",
    )
  })

  test.each([
    [
      ["--session", "one"],
      ["one-0", "one-1", "one-2"],
    ],
    [["--agent", "kilo"], ["third-1"]],
    [
      ["--type", "attention.*", "--type", "session.started"],
      ["one-0", "two-0", "two-1"],
    ],
    [
      ["--severity", "notice"],
      ["two-1", "third-1"],
    ],
    [
      ["--agent", "other", "--severity", "notice", "--session", "two", "--type", "attention.requested"],
      ["two-1"],
    ],
    [["--filter", '{"severity":{"lte":"debug"}}'], ["one-2"]],
    [
      ["--from", "one:0:0"],
      ["one-1", "one-2"],
    ],
    [
      ["--from", "one:0:1", "--from", "two:0:0"],
      ["one-2", "two-1"],
    ],
    [
      ["--from", "all", "--session", "two"],
      ["two-0", "two-1"],
    ],
  ])("gives %j what it asks for", async (args, ids) => {
    const { code, lines, stderr } = await held("--json", ...args)
    expect({ code, stderr, ids: idsOf(lines) }).toEqual({ code: 0, stderr: "", ids })
  })

  test("gives under a ceiling no more than that", async () => {
    const [above] = (await held("--json", "--session", "two", "--type", "attention.*")).lines
    const [under] = (
      await held("--json", "--session", "two", "--type", "attention.*", "--capture", "metadata")
    ).lines
    expect(above).toBe(ask)
    expect(JSON.parse(under ?? "")).toMatchObject({ id: "two-1", capture: "metadata" })
    expect(under).not.toContain("secret words")
  })

  test("is repeated byte for byte, held and live", async () => {
    expect((await held("--json", "--session", "odd")).lines).toEqual([odd])
    const tail = house.tail([...home, "--json", "--type", "tool.*"])
    await stage.hasReaders(1)
    await stage.post(large, eventAt("end", 1))
    await tail.shows("end-1")
    // The child's output is kept from its end on.
    expect(tail.child.stdout()).toBe(`${large}\n${eventAt("end", 1)}\n`.slice(-200_000))
    expect(await tail.interrupt()).toBe(0)
  })

  test("is followed from now on: nothing of before, everything after, ended by the reader with 0", async () => {
    const tail = house.tail(home)
    await stage.hasReaders(1)
    await stage.post(eventAt("later", 0), eventAt("later", 1))
    await tail.shows("tool step-1 called")
    expect(tail.lines).toEqual([
      "==> 2026-06-01 later <==",
      "08:00:00.250  session later started (other)",
      "08:00:01.250  tool step-1 called",
    ])
    expect({ code: await tail.interrupt(), stderr: tail.child.stderr() }).toEqual({ code: 0, stderr: "" })
  })

  test("is shown once what it repeats", async () => {
    const tail = house.tail([...home, "--json", "--session", "again"])
    await stage.hasReaders(1)
    await stage.post(eventAt("again", 1), eventAt("again", 1), eventAt("again", 2), eventAt("again", 1))
    await stage.post(eventAt("again", 3))
    await tail.shows("again-3")
    expect(idsOf(tail.lines)).toEqual(["again-1", "again-2", "again-3"])
  })

  test("is shown an event that comes late and out of order, and agents' own", async () => {
    const presence = JSON.stringify({
      ...JSON.parse(eventAt("x", 0)),
      id: "p",
      type: "agent.presence",
      session: undefined,
      seq: undefined,
      data: { state: "online" },
    })
    const tail = house.tail([...home, "--from", "all", "--agent", "late"])
    await stage.hasReaders(1)
    const late = (seq: number) => eventAt("late", seq, { agent: "late" })
    await stage.post(late(5), late(3), presence.replace('"agent":"other"', '"agent":"late"'))
    await tail.shows("agent late is online")
    expect(tail.lines).toEqual([
      "==> 2026-06-01 late <==",
      "08:00:05.250  tool step-5 called",
      "08:00:03.250  tool step-3 called",
      "",
      "==> 2026-06-01 agent late <==",
      "08:00:00.250  agent late is online",
    ])
  })

  test("cannot be used to forge a line or reach the terminal", async () => {
    const { lines } = await held("--filter", '{"agent":"\\u009b31m"}')
    expect(lines).toEqual([
      "==> 2026-06-01 s{U+001B}]0;x{U+0007}{U+202E} <==",
      "08:00:01.250  tool bash{U+000A}08:00:00.000  run finished{U+001B}[2K{U+2066} called",
      "08:00:02.250  tool bash{U+000A}08:00:00.000  run finished{U+001B}[2K{U+2066} called",
    ])
  })

  test("ends with 1 when nothing that is held matches and nothing is waited for", async () => {
    const { code, lines, stderr } = await held("--session", "nobody")
    expect({ code, lines }).toEqual({ code: 1, lines: [] })
    expect(stderr).toBe(
      "opencode-aep: nothing that is held matches; next: opencode-aep tail waits for what comes\n",
    )
  })

  test("is found by its address or its home, with the token from AEP_TOKEN or the home", async () => {
    writeFileSync(join(stage.home.path, "token"), `${TOKEN}\n`)
    for (const [args, env] of [
      [home, { AEP_TOKEN: "" }],
      [["--url", stage.url], {}],
      [["--url", `http://localhost:${PORT}/`], {}],
      [[], { AEP_HOME: stage.home.path }],
    ] as const) {
      const tail = house.tail([...args, "--no-follow", "--json", "--session", "one"], env)
      expect({ code: await tail.end(), ids: idsOf(tail.lines) }).toEqual({
        code: 0,
        ids: ["one-0", "one-1", "one-2"],
      })
    }
  })

  test("is reached past a proxy, which would see the token", async () => {
    const proxy = house.other([{ kind: "answer", response: () => new Response("proxy") }])
    const tail = house.tail([...home, "--no-follow", "--session", "one"], {
      HTTP_PROXY: OTHER,
      http_proxy: OTHER,
    })
    expect(await tail.end()).toBe(0)
    expect(proxy.requests).toEqual([])
  })

  test.each([
    [["--filter", '{"type":"*"}'], {}, "the service refused the call: filter.type: * stands only at the end"],
    [["--filter", "{"], {}, "the service refused the call: filter is not JSON; next: opencode-aep help tail"],
    [["--type", "to*ol"], {}, "the service refused the call: filter.type: "],
    [[], { AEP_TOKEN: "wrong-token-0123456789" }, "takes another token; next: set AEP_TOKEN"],
    [
      ["--home", "/nowhere", "--url", SERVICE],
      { AEP_TOKEN: "" },
      "takes a token, and none was found; next: set",
    ],
    [[], { AEP_TOKEN: "two words" }, "AEP_TOKEN holds no token: give it as the service has it"],
  ])("refuses %j with 2 and says what to do", async (args, env, says) => {
    const tail = house.tail([...home, ...args], env)
    expect({ code: await tail.end(), lines: tail.lines }).toEqual({ code: 2, lines: [] })
    expect(tail.complaints).toEqual([expect.stringContaining(says)])
    expect(tail.complaints[0]).toStartWith("opencode-aep: ")
    expect(tail.complaints[0]).toContain("next: ")
    expect(tail.child.stderr()).not.toContain("two words")
  })

  test("is left quietly when nobody reads any more", async () => {
    const many = Array.from({ length: 3000 }, (_, seq) => eventAt("many", seq))
    await stage.post(...many)
    const { stdout, stderr } = await shell(
      'AEP_TOKEN=$1 $AEP tail --home "$0" --from all --json | head -n 1 >/dev/null; echo "$' +
        '{PIPESTATUS[0]}"',
      stage.home.path,
      TOKEN,
    )
    expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "" })
  })

  test("gives thousands of events to a reader who takes them slowly", async () => {
    const { stdout } = await shell(
      'AEP_TOKEN=$1 $AEP tail --home "$0" --no-follow --session many --json | (n=0; while read -r line; do n=$((n+1)); done; echo "$n")',
      stage.home.path,
      TOKEN,
    )
    expect(stdout.trim()).toBe("3000")
  })
})
