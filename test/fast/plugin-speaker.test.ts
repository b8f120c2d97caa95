/** The built drop-in, loaded as often as agents load it: whatever happens is told once, by one instance. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DROP_IN } from "../../plugin/build.ts"
import type { Hooks } from "../../plugin/src/hooks.ts"
import { busEvent, idle, toolInput } from "./plugin-fixtures.ts"
import { type Peer, startPeer } from "./plugin-peer.ts"

type Plugin = (context: unknown, options?: unknown) => Promise<Hooks>

let folder = ""
const copies: Plugin[] = []
let peer: Peer
let loads = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "aep-plugin-"))
  for (const place of ["project", "global"]) {
    const file = join(folder, place, "opencode-aep.js")
    await mkdir(join(folder, place))
    await cp(DROP_IN, file)
    const loaded: { OpencodeAep: Plugin } = await import(file)
    copies.push(loaded.OpencodeAep)
  }
})
afterAll(() => rm(folder, { recursive: true }))
beforeEach(() => {
  peer = startPeer(2)
  loads += 1
})
afterEach(() => peer.stop())

/** Hooks of a copy for one of this test's directories. */
function load(copy: number, directory = "/a"): Promise<Hooks> {
  const plugin = copies[copy]
  if (plugin === undefined) throw new Error(`no copy ${copy}`)
  return plugin({ directory: `${directory}${loads}` }, { url: peer.url, key: "k", home: folder })
}

/** What the agent does: every loaded copy gets the same object. */
async function publish(all: Hooks[], event: unknown): Promise<void> {
  await Promise.all(all.map((hooks) => hooks.event({ event })))
}

const instances = () => new Set(peer.arrivals.map(({ batch }) => batch.instance.id)).size

test("the two copies are two modules", () => {
  expect(copies[0]).not.toBe(copies[1])
})

describe("two copies in one directory", () => {
  test("tell every moment once, whichever hook is asked first", async () => {
    const both = [await load(0), await load(1)]
    await publish(both, idle())
    const input = toolInput()
    for (const hooks of [...both].reverse()) await hooks["tool.execute.before"](input, { args: {} })
    for (const hooks of both) await hooks["tool.execute.after"](input, { output: "o" })
    const prompt = { sessionID: "ses_1" }
    for (const hooks of both) await hooks["chat.message"](prompt, { parts: [] })
    for (const hooks of both) await hooks.dispose()
    expect(peer.applied.map(({ kind }) => kind)).toEqual([
      "bus",
      "tool.before",
      "tool.after",
      "chat.message",
      "dispose",
    ])
    expect(instances()).toBe(1)
  })

  test("tell the ask of OpenCode 1.0 by the event that reuses its hook's object, where the hook is not held", async () => {
    const both = [await load(0), await load(1)]
    const request = { id: "per_1", type: "bash", sessionID: "ses_1", metadata: {} }
    for (const hooks of both) await hooks["permission.ask"](request, { status: "ask" })
    await publish(both, { type: "permission.updated", properties: request })
    for (const hooks of both) await hooks.dispose()
    expect(peer.applied.map(({ kind }) => kind)).toEqual(["bus", "dispose"])
  })

  test("tell the same object published twice twice", async () => {
    const both = [await load(0), await load(1)]
    const event = busEvent("file.edited", { file: "/a" })
    await publish(both, event)
    await publish(both, event)
    for (const hooks of both) await hooks.dispose()
    expect(peer.applied.length).toBe(3)
  })

  test("a copy that never hears anything announces nothing and ends nothing", async () => {
    const mute = await load(0)
    const speaker = await load(1)
    await publish([speaker], idle())
    await mute.dispose()
    await publish([speaker], idle())
    await speaker.dispose()
    expect(peer.applied.map(({ kind }) => kind)).toEqual(["bus", "bus", "dispose"])
    expect(instances()).toBe(1)
  })
})

describe("one copy", () => {
  test("connects at the first event and not before", async () => {
    const hooks = await load(0)
    const marker = await load(0, "/marker")
    await publish([marker], idle())
    await marker.dispose()
    expect(instances()).toBe(1)
    await publish([hooks], idle())
    await hooks.dispose()
    expect(instances()).toBe(2)
  })

  test("speaks for two directories as two instances", async () => {
    const a = await load(0)
    const b = await load(0, "/b")
    await publish([a], idle())
    await publish([b], idle())
    await a.dispose()
    await publish([b], idle())
    await b.dispose()
    expect(peer.applied.length).toBe(5)
    expect(instances()).toBe(2)
  })

  test("called again for a directory goes on with the same instance, and a new one after its end", async () => {
    const first = await load(0)
    await publish([first], idle())
    const second = await load(0)
    await publish([second], idle())
    await first.dispose()
    expect(instances()).toBe(1)
    await publish([second], idle())
    await second.dispose()
    expect(instances()).toBe(2)
    expect(peer.applied.map(({ kind }) => kind)).toEqual(["bus", "bus", "dispose", "bus", "dispose"])
  })

  test("ends its instance at the disposal event of OpenCode 1.0", async () => {
    const hooks = await load(0)
    await publish([hooks], idle())
    await publish([hooks], { type: "server.instance.disposed", properties: { directory: "/a" } })
    expect(peer.applied.at(-1)?.kind).toBe("dispose")
    await publish([hooks], idle())
    await hooks.dispose()
    expect(instances()).toBe(2)
  })

  test("opens no instance for an event that comes after its disposal, nor does its mute twin", async () => {
    const both = [await load(0), await load(1)]
    await publish(both, idle())
    const disposing = both[0]?.dispose()
    await publish(both, busEvent("session.updated", { info: { id: "ses_1" } }))
    await disposing
    await both[1]?.dispose()
    const marker = await load(0, "/marker")
    await publish([marker], idle())
    await marker.dispose()
    expect(instances()).toBe(2)
    expect(peer.applied.map(({ kind }) => kind)).toEqual(["bus", "dispose", "bus", "dispose"])
  })

  test("disposed twice says goodbye once", async () => {
    const hooks = await load(0)
    await publish([hooks], idle())
    await Promise.all([hooks.dispose(), hooks.dispose()])
    expect(peer.applied.filter(({ kind }) => kind === "dispose").length).toBe(1)
  })
})

describe("whatever the agent passes", () => {
  const hostile: [string, () => unknown][] = [
    ["nothing", () => undefined],
    ["null", () => null],
    ["a number", () => 7],
    ["a getter that throws", () => Object.defineProperty({}, "event", { get: explode })],
    [
      "properties that throw",
      () => ({ event: { type: "x", properties: new Proxy({}, { ownKeys: explode }) } }),
    ],
    ["a type that throws", () => ({ event: Object.defineProperty({}, "type", { get: explode }) })],
    ["a cycle", () => ({ event: cyclic() })],
  ]
  test.each(hostile)("no hook throws at %s", async (_what, make) => {
    const hooks = await load(0)
    for (const hook of Object.values(hooks)) expect(await hook(make(), make())).toBeUndefined()
    await hooks.dispose()
  })

  test.each([[undefined], [null], [7], [{ directory: 7 }]])(
    "the function returns hooks for a context of %j",
    async (context) => {
      const hooks = await copies[0]?.(context, { url: peer.url, key: "k", home: folder })
      expect(Object.keys(hooks ?? {}).sort()).toEqual([
        "chat.message",
        "dispose",
        "event",
        "permission.ask",
        "tool.execute.after",
        "tool.execute.before",
      ])
      for (const hook of Object.values(hooks ?? {})) expect(hook.constructor.name).toBe("AsyncFunction")
    },
  )

  test("a client that explodes harms nothing, and the ask's status stays", async () => {
    const client = new Proxy({}, { get: explode })
    const hooks = await copies[0]?.({ client, directory: "/c" }, { url: peer.url, key: "k", home: folder })
    const output = Object.freeze({ status: "ask" })
    const properties = Object.freeze({ id: "per_1", sessionID: "ses_1" })
    await hooks?.["permission.ask"](properties, output)
    await hooks?.event({ event: { type: "permission.updated", properties } })
    await hooks?.dispose()
    expect(peer.applied[0]).toMatchObject({ kind: "bus", event: { properties: { id: "per_1" } } })
    expect(output).toEqual({ status: "ask" })
  })

  test("switched off there is no hook at all", async () => {
    expect(await copies[0]?.({ directory: "/off" }, { off: true })).toEqual({} as Hooks)
  })
})

function explode(): never {
  throw new Error("planted")
}

function cyclic() {
  const event: Record<string, unknown> = { type: "x" }
  event.properties = { event }
  return event
}
