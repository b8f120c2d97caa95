/** The road up against a real server that does wrong: nothing lost, nothing twice, nothing without bound. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Explicit } from "../../plugin/src/config.ts"
import { type Core, createCore } from "../../plugin/src/core.ts"
import { PACE, type Pace } from "../../plugin/src/pace.ts"
import { busEvent, idle, toolInput } from "./plugin-fixtures.ts"
import { eventually, type Peer, startPeer } from "./plugin-peer.ts"

const QUICK: Pace = { ...PACE, requestMs: 200, heartbeatMs: 10_000, backoffFirstMs: 2, backoffMostMs: 10 }
const HOST = { env: {}, argv: ["bun", "index.js", "run"] }
const KEY = "test-key"

let peer: Peer
let cores: Core[] = []

function coreFor(explicit: Partial<Explicit>, pace: Partial<Pace> = {}): Core {
  const said = { off: false, stream: false, ...explicit }
  const core = createCore({ directory: "/project" }, said, HOST, { ...QUICK, ...pace })
  cores.push(core)
  return core
}

const connected = (pace: Partial<Pace> = {}) => coreFor({ url: peer.url, key: KEY }, pace)
const tell = (core: Core, count: number) => {
  for (let n = 0; n < count; n += 1) core.take("event", idle(`ses_${n}`), undefined)
}
const indexes = () => peer.applied.map(({ n }) => n)
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

beforeEach(() => {
  peer = startPeer(0)
})
afterEach(async () => {
  peer.misbehave(undefined)
  await Promise.all(cores.map((core) => core.end()))
  cores = []
  await peer.stop()
})

describe("a healthy service", () => {
  test("gets the first moment at once and the rest in the next batch, in order", async () => {
    tell(connected(), 5)
    await peer.until(() => peer.applied.length === 5)
    expect(indexes()).toEqual(upTo(5))
    expect(peer.arrivals.length).toBeLessThanOrEqual(2)
    const [arrival] = peer.arrivals
    expect(arrival).toMatchObject({ path: "/opencode/moments", contentType: "application/json" })
    expect(arrival?.batch).toMatchObject({ first: 0, instance: { agent: "opencode", mode: "run" } })
  })

  test("is shown the door credential and never the key", async () => {
    tell(connected(), 1)
    await peer.until(() => peer.applied.length === 1)
    const credential = new Bun.CryptoHasher("sha256", KEY).update("door/1").digest("hex")
    expect(peer.arrivals[0]?.authorization).toBe(`Bearer ${credential}`)
    expect(JSON.stringify(peer.arrivals)).not.toContain(KEY)
  })

  test("hears the agent's version once a session tells it", async () => {
    const core = connected()
    core.take("event", busEvent("session.created", { info: { id: "s", version: "1.18.33" } }), undefined)
    await peer.until(() => peer.applied.length === 1)
    expect(peer.arrivals[0]?.batch.instance.version).toBe("1.18.33")
  })

  test("gets batches of at most 256 moments and half a mebibyte", async () => {
    const core = connected()
    tell(core, 600)
    const content = "x".repeat(60_000)
    for (let n = 0; n < 20; n += 1) {
      core.take("tool.execute.before", toolInput(), { args: { content } })
    }
    await peer.until(() => peer.applied.length === 620)
    expect(indexes()).toEqual(upTo(620))
    for (const { batch, bytes } of peer.arrivals) {
      expect(batch.moments.length).toBeLessThanOrEqual(256)
      expect(bytes).toBeLessThan(520 * 1024)
    }
  })

  test("gets an empty batch when nothing happens, with the index the next moment will have", async () => {
    tell(connected({ heartbeatMs: 10 }), 3)
    await peer.until(() => peer.arrivals.filter(({ batch }) => batch.moments.length === 0).length >= 2)
    expect(peer.arrivals.at(-1)?.batch).toMatchObject({ first: 3, moments: [] })
  })

  test("is told what could not be written, once", async () => {
    const core = connected({ heartbeatMs: 10 })
    core.take("tool.execute.before", toolInput(), { args: { big: 1n } })
    tell(core, 1)
    await peer.until(() => peer.arrivals.length >= 3)
    expect(peer.arrivals.filter(({ batch }) => batch.dropped !== undefined).length).toBe(1)
    expect(peer.arrivals[0]?.batch.dropped).toEqual({ "tool.before": 1 })
    expect(indexes()).toEqual([1])
  })
})

describe("a service that answers wrongly gets the same indexes again when it", () => {
  const wrong: [string, () => Response | Promise<Response>][] = [
    ["answers 500", () => new Response("no", { status: 500 })],
    ["answers 404", () => new Response("no", { status: 404 })],
    ["answers 429", () => new Response("no", { status: 429 })],
    ["answers no JSON", () => new Response("<html>", { status: 200 })],
    ["answers JSON without next", () => Response.json({ ok: true })],
    ["answers a next that is no number", () => Response.json({ next: "9" })],
    ["acknowledges nothing", () => Response.json({ next: 0, rejected: [] })],
    ["redirects", () => Response.redirect(`${peer.url}/elsewhere`, 307)],
    ["answers an endless body", () => new Response(endless())],
    ["hangs before its answer", () => new Promise<Response>(() => undefined)],
    ["hangs within its answer", () => new Response(hanging())],
  ]
  test.each(wrong)("%s", async (_what, answer) => {
    peer.misbehave((_arrival, count) => (count <= 3 ? answer() : undefined))
    tell(connected(), 3)
    await peer.until(() => peer.applied.length === 3)
    expect(indexes()).toEqual(upTo(3))
    expect(peer.arrivals.every(({ path }) => path === "/opencode/moments")).toBe(true)
    expect(peer.arrivals.slice(0, 4).map(({ batch }) => batch.first)).toEqual([0, 0, 0, 0])
  })

  test("applies a batch and loses its answer, and no moment is applied twice", async () => {
    peer.misbehave((arrival, count) => {
      if (count > 2) return undefined
      peer.accept(arrival)
      return new Response("lost", { status: 502 })
    })
    tell(connected(), 4)
    await peer.until(() => peer.arrivals.length >= 3 && peer.applied.length === 4)
    expect(indexes()).toEqual(upTo(4))
    expect(peer.arrivals[1]?.batch.first).toBe(0)
  })

  test("acknowledges only a part of a batch", async () => {
    peer.misbehave(({ batch }, count) => {
      return count === 1 ? Response.json({ next: batch.first + 2, rejected: [] }) : undefined
    })
    tell(connected(), 6)
    await peer.until(() => indexes().includes(5))
    expect(peer.arrivals.map(({ batch }) => batch.first)).toEqual([0, 2])
  })

  test("acknowledges more than it was sent, and what was not sent stays", async () => {
    peer.misbehave((arrival, count) => {
      if (count > 1) return undefined
      peer.accept(arrival)
      return Response.json({ next: 1_000_000, rejected: [] })
    })
    tell(connected(), 4)
    await peer.until(() => peer.applied.length === 4)
    expect(indexes()).toEqual(upTo(4))
  })
})

describe("a service that refuses a batch", () => {
  test.each([400, 413])("with %i gets smaller ones until only the bad moment is left out", async (status) => {
    const bad = (session: string) => `"sessionID":"${session}"`
    peer.misbehave(({ batch }) =>
      JSON.stringify(batch.moments).includes(bad("ses_5")) ? new Response("no", { status }) : undefined,
    )
    tell(connected({ heartbeatMs: 10 }), 20)
    await peer.until(() => peer.arrivals.some(({ batch }) => batch.dropped?.["session.idle"] === 1))
    await peer.until(() => peer.applied.length === 19)
    expect(indexes()).toEqual(upTo(20).filter((n) => n !== 5))
  })

  test("whatever is in it, is given a rest instead of the whole queue in single requests", async () => {
    peer.misbehave(() => new Response("no", { status: 400 }))
    tell(connected({ backoffFirstMs: 60_000, backoffMostMs: 60_000 }), 50)
    // Splitting 50 takes six requests, three lone moments are lost, then it waits.
    await peer.until(() => peer.arrivals.length >= 9)
    const core = connected()
    peer.misbehave(undefined)
    tell(core, 1)
    await peer.until(() => peer.applied.length === 1)
    expect(peer.arrivals.length).toBeLessThanOrEqual(11)
  })
})

describe("a service that does not know the credential", () => {
  test("has plugin.json read again, and gets the moments with the new key", async () => {
    const home = await mkdtemp(join(tmpdir(), "aep-plugin-"))
    const write = (key: string) =>
      Bun.write(join(home, "plugin.json"), JSON.stringify({ url: peer.url, key }))
    const bearer = (key: string) =>
      `Bearer ${new Bun.CryptoHasher("sha256", key).update("door/1").digest("hex")}`
    await write("old")
    peer.misbehave(async ({ authorization }) => {
      if (authorization === bearer("new")) return peer.accept(peer.arrivals.at(-1) as never)
      await write("new")
      return new Response("no", { status: 401 })
    })
    tell(coreFor({ home }, { backoffFirstMs: 60_000, backoffMostMs: 60_000 }), 1)
    await eventually(() => peer.applied.length === 1, "the moment under the new key")
    expect(peer.arrivals.map(({ authorization }) => authorization)).toEqual([bearer("old"), bearer("new")])
    await rm(home, { recursive: true })
  })

  test("is not asked without end", async () => {
    peer.misbehave(() => new Response("no", { status: 401 }))
    tell(connected({ backoffFirstMs: 60_000, backoffMostMs: 60_000 }), 1)
    await peer.until(() => peer.arrivals.length === 2)
    peer.misbehave(undefined)
    tell(connected(), 1)
    await peer.until(() => peer.applied.length === 1)
    expect(peer.arrivals.length).toBe(3)
  })
})

describe("a service that is not there", () => {
  /** An event that notices whether anything of it was read beyond its type. */
  const tripwire = () => {
    let read = false
    const event = {
      type: "session.idle",
      get properties() {
        read = true
        return { sessionID: "s" }
      },
    }
    return { event, wasRead: () => read }
  }

  async function untilRefusing(core: Core) {
    await eventually(() => {
      const { event, wasRead } = tripwire()
      core.take("event", event, undefined)
      return !wasRead()
    }, "moments dropped unread")
  }

  /** The answer to the first batch may still be on its way to the plugin, which refuses until it has it. */
  const untilTold = (core: Core) =>
    eventually(() => {
      core.take("event", idle("ses_marker"), undefined)
      return JSON.stringify(peer.applied.at(-1))?.includes("ses_marker") === true
    }, "a moment after the service came")

  test("costs no look at a moment, and hears later how many were dropped", async () => {
    await peer.stop()
    const core = connected({ backoffFirstMs: 20, backoffMostMs: 20 })
    await untilRefusing(core)
    peer = startPeer(0)
    await peer.until(() => peer.arrivals.some(({ batch }) => (batch.dropped?.["session.idle"] ?? 0) >= 1))
    await untilTold(core)
    expect(indexes()).toEqual([...indexes()].sort((a, b) => a - b))
  })

  test("because it was never started, is found once plugin.json appears", async () => {
    const home = await mkdtemp(join(tmpdir(), "aep-plugin-"))
    const core = coreFor({ home })
    await untilRefusing(core)
    await Bun.write(join(home, "plugin.json"), JSON.stringify({ url: peer.url, key: KEY }))
    await peer.until(() => peer.arrivals.length > 0)
    await untilTold(core)
    await rm(home, { recursive: true })
  })

  test("because its address is plain http elsewhere, is never asked for", async () => {
    await untilRefusing(coreFor({ url: "http://aep.example:8390", key: KEY }))
    expect(peer.arrivals).toEqual([])
  })

  test("any more, has its moments kept and gets all of them when it is back", async () => {
    const core = connected()
    tell(core, 2)
    await peer.until(() => peer.applied.length === 2)
    const first = peer
    await peer.stop()
    tell(core, 30)
    peer = startPeer(0)
    await peer.until(() => peer.applied.length >= 30)
    expect(new Set([...first.applied, ...peer.applied].map(({ n }) => n)).size).toBe(32)
  })

  test("any more, costs bounded memory: detail goes first and is counted", async () => {
    const core = connected({ queueItems: 10 })
    tell(core, 1)
    await peer.until(() => peer.applied.length === 1)
    peer.misbehave(() => new Response("no", { status: 503 }))
    for (let n = 0; n < 10; n += 1) core.take("event", busEvent("file.edited", { file: `${n}` }), undefined)
    tell(core, 9)
    peer.misbehave(undefined)
    await peer.until(() => JSON.stringify(peer.applied.at(-1)).includes("ses_8"))
    const kinds = peer.applied.map((moment) => (moment.kind === "bus" ? moment.event.type : moment.kind))
    expect(kinds).toEqual(Array.from({ length: 10 }, () => "session.idle"))
    await peer.until(() => peer.arrivals.some(({ batch }) => batch.dropped?.["file.edited"] === 10))
  })
})

test("the socket named by plugin.json is used and its url is not", async () => {
  const home = await mkdtemp(join(tmpdir(), "aep-plugin-"))
  const socket = join(home, "opencode.sock")
  const local = startPeer(1, socket)
  await Bun.write(join(home, "plugin.json"), JSON.stringify({ url: peer.url, key: KEY, socket }))
  tell(coreFor({ home }), 1)
  await local.until(() => local.applied.length === 1)
  expect(peer.arrivals).toEqual([])
  await Promise.all(cores.map((core) => core.end()))
  await local.stop()
  await rm(home, { recursive: true })
})

function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024).fill(32)) })
}

function hanging(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"next":')),
  })
}
