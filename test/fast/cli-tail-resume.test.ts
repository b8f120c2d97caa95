/**
 * `opencode-aep tail` over lost connections: the real program against the real service that is killed and started again, and
 * against a server of another make.
 */
import { afterEach, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { createFeeder } from "../crash/feeder.ts"
import { createRandom } from "../crash/random.ts"
import { createWorkload } from "../crash/workload.ts"
import { suitePort } from "../ports.ts"
import { eventAt, TailHouse, TOKEN } from "./cli-tail-house.ts"

const PORT = suitePort("relay", 6)
const OTHER_PORT = suitePort("relay", 7)
const OTHER = `http://127.0.0.1:${OTHER_PORT}`

const house = new TailHouse(PORT, OTHER_PORT)
afterEach(() => house.close())

const idsOf = (lines: readonly string[]): unknown[] => lines.map((line) => JSON.parse(line).id)

describe("a service that goes and comes back", () => {
  test("is followed over three kills: the log of each session, byte for byte, once", async () => {
    const stage = await house.stage()
    const random = createRandom(11)
    const work = createWorkload("tail", random)
    const feeder = createFeeder("inst-tail", stage.home.path, PORT, random)
    const tail = house.tail(["--home", stage.home.path, "--from", "all", "--json"])
    await stage.hasReaders(1)
    const feed = (count: number): void => {
      for (let index = 0; index < count; index += 1) feeder.feed(work.next())
    }
    try {
      for (let life = 1; life <= 3; life += 1) {
        feed(60)
        await feeder.drained()
        feed(60)
        await stage.kill()
        await tail.says("the connection is lost", life)
        await stage.start()
        // What is told while the reader waits for its next attempt, new sessions too.
        await feeder.drained()
        await tail.says("the connection is back", life)
      }
      const last = eventAt("marker", 0)
      await stage.post(last)
      await tail.shows('"marker"')
      const logs = join(stage.home.path, "logs/opencode")
      // An agent's own events stand in no session, so that no reader resumes them.
      const logged = readdirSync(logs)
        .map((name) => readFileSync(join(logs, name), "utf8"))
        .filter((text) => text.includes('"session":'))
      const shown = new Map<string, string>()
      for (const line of tail.lines) {
        const { session, agent } = JSON.parse(line)
        if (session === undefined || agent !== "opencode") continue
        shown.set(session, `${shown.get(session) ?? ""}${line}\n`)
      }
      expect(logged.length).toBeGreaterThan(5)
      expect([...shown.values()].sort()).toEqual(logged.sort())
      expect(tail.complaints.length).toBe(6)
    } finally {
      await feeder.close()
    }
  }, 60_000)

  test("is resumed behind what was shown, session by session, though senders repeat themselves", async () => {
    const stage = await house.stage()
    const tail = house.tail(["--home", stage.home.path, "--json", "--type", "tool.*"])
    await stage.hasReaders(1)
    await stage.post(eventAt("a", 1), eventAt("a", 2), eventAt("b:c", 7))
    await tail.shows("b:c-7")
    await stage.kill()
    await tail.says("the connection is lost (ECONNRESET); trying to connect again")
    await stage.start()
    await stage.post(
      ...[1, 2, 3].map((seq) => eventAt("a", seq)),
      ...[7, 8, 9].map((seq) => eventAt("b:c", seq)),
    )
    await tail.says("the connection is back")
    await stage.post(eventAt("a", 4), eventAt("b:c", 9), eventAt("end", 1))
    await tail.shows("end-1")
    expect(idsOf(tail.lines)).toEqual(["a-1", "a-2", "b:c-7", "a-3", "b:c-8", "b:c-9", "a-4", "end-1"])
    expect(await tail.interrupt()).toBe(0)
  }, 30_000)

  test("says why it goes; the reader can end the wait with 0", async () => {
    const stage = await house.stage()
    const tail = house.tail(["--home", stage.home.path])
    await stage.hasReaders(1)
    await stage.stop()
    await tail.says("trying to connect again")
    expect(tail.complaints).toEqual([
      "opencode-aep: the service closes the stream: the service stops",
      "opencode-aep: the connection is lost (the service ended it); trying to connect again",
    ])
    expect(await tail.interrupt()).toBe(0)
  }, 30_000)

  test("with another token ends the wait with 2", async () => {
    const stage = await house.stage()
    const tail = house.tail(["--home", stage.home.path])
    await stage.hasReaders(1)
    await stage.stop()
    await stage.start({ AEP_TOKEN: "another-token-0123456789" })
    expect(await tail.end()).toBe(2)
    expect(tail.complaints.at(-1)).toContain("takes another token; next: set AEP_TOKEN")
  }, 30_000)

  test("is not waited for with --no-retry: 2, with what was shown standing", async () => {
    const stage = await house.stage()
    const tail = house.tail(["--home", stage.home.path, "--json", "--no-retry"])
    await stage.hasReaders(1)
    await stage.post(eventAt("once", 1))
    await tail.shows("once-1")
    await stage.kill()
    expect({ code: await tail.end(), ids: idsOf(tail.lines) }).toEqual({ code: 2, ids: ["once-1"] })
    expect(tail.complaints).toEqual([
      expect.stringMatching(/^opencode-aep: the connection is lost .*; next: /),
    ])
  }, 30_000)

  test("and holds too little says what is gone", async () => {
    const stage = await house.stage({ AEP_BUFFER: "3" })
    await stage.post(...[0, 1, 2, 3, 4, 5].map((seq) => eventAt("gone", seq)))
    const tail = house.tail(["--home", stage.home.path, "--no-follow", "--json", "--from", "gone:0:1"])
    expect({ code: await tail.end(), ids: idsOf(tail.lines) }).toEqual({
      code: 0,
      ids: ["gone-3", "gone-4", "gone-5"],
    })
    expect(tail.complaints).toEqual([
      "opencode-aep: session gone: what came before 0:3 is no longer held there; its log has it",
    ])
  }, 30_000)

  test("without a token for observers lets a reader in that has none", async () => {
    const stage = await house.stage({ AEP_AUTH: "control" })
    await stage.post(eventAt("open", 1))
    const tail = house.tail(["--url", stage.url, "--no-follow", "--json"], { AEP_TOKEN: "" })
    expect({ code: await tail.end(), ids: idsOf(tail.lines) }).toEqual({ code: 0, ids: ["open-1"] })
  }, 30_000)
})

describe("a server of another make", () => {
  const frame = (text: string): string => `event: a\r\ndata: ${text}\r\n\r\n`

  test("is read whatever its line ends; its ends, losses and strange words are told, the token is a header", async () => {
    const server = house.other([
      {
        kind: "stream",
        text: `: open\n\n: dropped 4\n\n${frame(eventAt("o", 1))}${frame("no event")}${frame("{}")}: closing \u001bnow\n\n`,
      },
      { kind: "answer", response: () => new Response("", { status: 502 }) },
      { kind: "stream", text: `${frame(eventAt("o", 1))}${frame(eventAt("o", 2))}: ping\n\n`, isOpen: true },
    ])
    const tail = house.tail(["--url", OTHER, "--json", "--agent", "other"])
    await tail.shows("o-2")
    expect(tail.lines).toEqual([eventAt("o", 1), eventAt("o", 2)])
    expect(tail.complaints.map((line) => line.slice("opencode-aep: ".length))).toEqual([
      "4 events of severity debug or info were dropped there, since we read too slowly",
      "what is no event is passed over: the text is no JSON object; send one event as JSON; more such is not told",
      "the service closes the stream: {U+001B}now",
      "the connection is lost (the service ended it); trying to connect again",
      "the connection is back",
    ])
    const asked = server.requests.map(({ url }) => Object.fromEntries(url.searchParams))
    const position = '[{"session":"o","epoch":0,"seq":1}]'
    expect(asked).toEqual([
      { filter: '{"agent":"other"}' },
      { filter: '{"agent":"other"}', from: position },
      { filter: '{"agent":"other"}', from: position },
    ])
    for (const { url, headers } of server.requests) {
      expect(url.href).not.toContain(TOKEN)
      expect(headers.get("authorization")).toBe(`Bearer ${TOKEN}`)
    }
  }, 30_000)

  test("that takes fewer positions is asked for fewer, the sessions seen last", async () => {
    const sessions = [1, 2, 3, 4].map((number) => frame(eventAt(`o${number}`, 1))).join("")
    const server = house.other([
      { kind: "stream", text: sessions },
      {
        kind: "answer",
        response: () => Response.json({ error: "limit-exceeded", detail: "2" }, { status: 400 }),
      },
      { kind: "stream", text: frame(eventAt("o4", 2)), isOpen: true },
    ])
    const tail = house.tail(["--url", OTHER, "--json"])
    await tail.shows("o4-2")
    const sent = server.requests.map(({ url }) => JSON.parse(url.searchParams.get("from") ?? "[]"))
    expect(sent.map((from) => from.map(({ session }: { session: string }) => session))).toEqual([
      [],
      ["o1", "o2", "o3", "o4"],
      ["o3", "o4"],
    ])
    expect(tail.complaints).toEqual([
      "opencode-aep: the connection is lost (the service ended it); trying to connect again",
      "opencode-aep: the connection is back",
      "opencode-aep: sessions not resumed, since more do not fit: 2; events of theirs may be missing",
    ])
  }, 30_000)

  test("may end what it holds without a word; if it says why, it was cut short: 2", async () => {
    house.other([
      { kind: "stream", text: frame(eventAt("o", 1)) },
      { kind: "stream", text: `${frame(eventAt("o", 1))}: closing\n\n` },
    ])
    const whole = house.tail(["--url", OTHER, "--json", "--no-follow"])
    expect({ code: await whole.end(), ids: idsOf(whole.lines) }).toEqual({ code: 0, ids: ["o-1"] })
    const cut = house.tail(["--url", OTHER, "--json", "--no-follow"])
    expect({ code: await cut.end(), ids: idsOf(cut.lines) }).toEqual({ code: 2, ids: ["o-1"] })
    expect(cut.complaints.at(-1)).toContain("lost before all that is held was shown")
  }, 30_000)
})
