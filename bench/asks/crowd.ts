/**
 * One round of the crowd: a fresh service, many plugins, thousands of open asks. What an ask weighs in the service, and how long a
 * command takes until the agent's client is told, in turns with a bare long poll between the same two processes.
 */
import { suitePort } from "../../test/ports.ts"
import { type Server, startMeasured } from "../server.ts"
import { type Plugin, startPlugin } from "./plugins.ts"
import { type CommandSocket, openCommandSocket } from "./socket.ts"

const KEY = "bench-key-0123456789"
const TOKEN = "bench-token-0123456789"
/** Sessions of an instance, asks of a session. */
const SESSIONS = 10
const EACH = 10
/** Commands one after the other before the floor has its turn. */
const BLOCK = 20
/** Until the service has nothing of what came before left to do. */
const SETTLE_MS = 1_000
/** A command that is not told of by then went missing. */
const LOST_MS = 10_000

/** What is wanted of a round. */
export interface CrowdSize {
  instances: number
  commands: number
}

/** What a round showed: bytes of the service an ask, microseconds of each command. */
export interface CrowdFigures {
  asks: number
  /** Held after a full collection. */
  live: number
  /** Resident. */
  resident: number
  service: number[]
  floor: number[]
}

/** Plays one round. Throws, with nothing left running, when a part does not start or a command goes missing. */
export async function playCrowd({ instances, commands }: CrowdSize): Promise<CrowdFigures> {
  const ends: (() => unknown)[] = []
  try {
    const service = await startMeasured({
      name: "service",
      port: suitePort("bench", 5),
      isWeighed: true,
      env: { AEP_OPENCODE_KEY: KEY, AEP_TOKEN: TOKEN },
    })
    ends.push(() => service.stop())
    const url = `http://127.0.0.1:${service.port}`
    const told = new Map<string, () => void>()
    const plugins = Array.from({ length: instances }, (_, nth) =>
      startPlugin(`i${nth}`, url, KEY, (ask) => told.get(ask)?.()),
    )
    ends.push(() => Promise.all(plugins.map((plugin) => plugin.end())))
    const commander = await openCommandSocket(url, TOKEN)
    ends.push(() => commander.close())
    const { asks, ...weight } = await weigh(service, plugins, commander)
    const floor = await startFloor(instances)
    ends.push(() => floor.stop())

    const delays = { service: [] as number[], floor: [] as number[] }
    for (let at = 0; at < commands; at += BLOCK) {
      for (let nth = at; nth < at + BLOCK; nth += 1) {
        // From instance to instance, so that a poll is always armed, and each ask once.
        const ask = asks[(nth * 97) % asks.length]
        if (ask === undefined) throw new Error("no ask is left")
        delays.service.push(await delayOf(told, ask, () => commander.answer(ask)))
        await Bun.sleep(1)
      }
      for (let nth = at; nth < at + BLOCK; nth += 1) {
        const id = `i${nth % instances}`
        delays.floor.push(await delayOf(floor.arrived, id, () => floor.trigger(id)))
        await Bun.sleep(1)
      }
    }
    return { asks: asks.length, ...weight, ...delays }
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

/** Opens the asks behind sessions that are there already, so that only they are weighed. */
async function weigh(service: Server, plugins: readonly Plugin[], commander: CommandSocket) {
  for (const plugin of plugins) plugin.ask(SESSIONS, 0)
  await commander.sessions(plugins.length * SESSIONS)
  await Bun.sleep(SETTLE_MS)
  const before = { live: await service.live(), resident: service.rss() }
  const asks = plugins.flatMap((plugin) => plugin.ask(SESSIONS, EACH)).map(({ ask }) => ask)
  await commander.requests(asks.length)
  await Bun.sleep(SETTLE_MS)
  // Resident first: what the service would weigh had nobody made it collect.
  const resident = (service.rss() - before.resident) / asks.length
  const live = ((await service.live()) - before.live) / asks.length
  return { asks, resident, live }
}

/** The bare long polls, one an instance, re-armed as the plugin's are, and the socket that has one answered. */
async function startFloor(instances: number) {
  const server = await startMeasured({
    name: "floor",
    port: suitePort("bench", 6),
    bare: "bench/asks/floor.ts",
  })
  const arrived = new Map<string, () => void>()
  let isOver = false
  const polls = Array.from({ length: instances }, async (_, nth) => {
    const id = `i${nth}`
    while (!isOver) {
      const answer = await fetch(`http://127.0.0.1:${server.port}/down?id=${id}`)
      await answer.json()
      arrived.get(id)?.()
    }
  })
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/socket`)
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }))
  const trigger = (id: string): void => socket.send(JSON.stringify({ id }))
  // The first polls are held by then; a trigger for one that is not would be lost.
  await Bun.sleep(SETTLE_MS)
  return {
    arrived,
    trigger,
    async stop() {
      isOver = true
      for (let nth = 0; nth < instances; nth += 1) trigger(`i${nth}`)
      await Promise.all(polls)
      socket.close()
      await server.stop()
    },
  }
}

/** Microseconds from sending until the map's entry of that name is called. */
async function delayOf(map: Map<string, () => void>, name: string, send: () => void): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(new Error(`nothing came of ${name} in ${LOST_MS} ms`)), LOST_MS)
  map.set(name, resolve)
  try {
    const sent = performance.now()
    send()
    await promise
    return (performance.now() - sent) * 1000
  } finally {
    clearTimeout(timer)
    map.delete(name)
  }
}
