/** The end of an instance: what is waiting goes up, and no service can keep the agent from ending. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { type Core, createCore } from "../../plugin/src/core.ts"
import { PACE, type Pace } from "../../plugin/src/pace.ts"
import { idle } from "./plugin-fixtures.ts"
import { type Peer, startPeer } from "./plugin-peer.ts"

const HOST = { env: {}, argv: [] }
const NEVER = () => new Promise<Response>(() => undefined)

let peer: Peer
beforeEach(() => {
  peer = startPeer(0)
})
afterEach(() => peer.stop())

function coreFor(url: string, pace: Partial<Pace> = {}): Core {
  return createCore({ directory: "/p" }, { off: false, stream: false, url, key: "k" }, HOST, {
    ...PACE,
    ...pace,
  })
}

/** The drop-in's own bounds, with generous room for a busy machine: the order of magnitude is what counts. */
async function endsWithin(core: Core, mostMs: number): Promise<void> {
  const started = performance.now()
  await core.end()
  expect(performance.now() - started).toBeLessThan(mostMs)
}

describe("with a healthy service", () => {
  test("everything that waits is acknowledged before the end, the goodbye last", async () => {
    const core = coreFor(peer.url)
    for (let n = 0; n < 1000; n += 1) core.take("event", idle(`ses_${n}`), undefined)
    await core.end()
    expect(peer.applied.length).toBe(1001)
    expect(peer.applied.at(-1)).toMatchObject({ kind: "dispose", n: 1000 })
  })

  test("nothing is sent after the end", async () => {
    const core = coreFor(peer.url, { heartbeatMs: 1 })
    core.take("event", idle(), undefined)
    await core.end()
    const before = peer.arrivals.length
    const marker = coreFor(peer.url)
    marker.take("event", idle("ses_marker"), undefined)
    await marker.end()
    expect(peer.arrivals.length - before).toBeLessThanOrEqual(2)
    expect(new Set(peer.arrivals.slice(before).map(({ batch }) => batch.instance.id)).size).toBe(1)
  })

  test("an instance that never spoke ends without a word", async () => {
    await coreFor(peer.url).end()
    expect(peer.arrivals).toEqual([])
  })
})

describe("the end comes although the service", () => {
  test("was never there", async () => {
    await peer.stop()
    const core = coreFor(peer.url)
    core.take("event", idle(), undefined)
    await endsWithin(core, 1000)
  })

  test("has hung from the first request on", async () => {
    peer.misbehave(NEVER)
    const core = coreFor(peer.url)
    core.take("event", idle(), undefined)
    await peer.until(() => peer.arrivals.length === 1)
    await endsWithin(core, 1000)
  })

  test("answered and then froze", async () => {
    const core = coreFor(peer.url)
    core.take("event", idle(), undefined)
    await peer.until(() => peer.applied.length === 1)
    peer.misbehave(NEVER)
    core.take("event", idle(), undefined)
    await endsWithin(core, 2000)
  })

  test("answers 500 for ever", async () => {
    peer.misbehave(() => new Response("no", { status: 500 }))
    const core = coreFor(peer.url)
    core.take("event", idle(), undefined)
    await peer.until(() => peer.arrivals.length === 2)
    await endsWithin(core, 1000)
  })

  test("refuses every batch", async () => {
    peer.misbehave(() => new Response("no", { status: 413 }))
    const core = coreFor(peer.url)
    for (let n = 0; n < 100; n += 1) core.take("event", idle(), undefined)
    await endsWithin(core, 1000)
  })
})

test("a service that was away is tried once more at the end", async () => {
  const core = coreFor(peer.url, { backoffFirstMs: 60_000, backoffMostMs: 60_000 })
  peer.misbehave(() => new Response("no", { status: 500 }))
  core.take("event", idle(), undefined)
  await peer.until(() => peer.arrivals.length === 1)
  peer.misbehave(undefined)
  await core.end()
  await peer.until(() => peer.applied.length === 2)
  expect(peer.applied.map(({ kind }) => kind)).toEqual(["bus", "dispose"])
})
