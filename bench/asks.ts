/**
 * Open asks: `bun bench/asks.ts [--quick]`. What 5,000 of them over 50 instances weigh in the service; how long a command takes
 * until the agent is told, beside a bare long poll in the same run; and whether 300 asks in one real agent slow its model calls.
 */
import { suitePort } from "../test/ports.ts"
import { agentWithAsks } from "./asks/agent.ts"
import { type Plugin, startPlugin } from "./asks/plugins.ts"
import { openCommandSocket } from "./asks/socket.ts"
import { median, quantile, row, say } from "./sample.ts"
import { startMeasured } from "./server.ts"

const KEY = "bench-key-0123456789"
const TOKEN = "bench-token-0123456789"
const quick = process.argv.includes("--quick")
const INSTANCES = quick ? 10 : 50
const SESSIONS = 10
const EACH = 10
const COMMANDS = quick ? 200 : 2_000
const BLOCK = 50
const WIDTHS = [14, 12, 12]

const service = await startMeasured({
  name: "service",
  port: suitePort("bench", 5),
  env: { AEP_OPENCODE_KEY: KEY, AEP_TOKEN: TOKEN },
})
const floor = await startMeasured({ name: "floor", port: suitePort("bench", 6), bare: "bench/asks/floor.ts" })
const url = `http://127.0.0.1:${service.port}`

/** Who waits for the agent to be told of an ask. */
const waiting = new Map<string, () => void>()
const plugins: Plugin[] = Array.from({ length: INSTANCES }, (_, nth) =>
  startPlugin(`i${nth}`, url, KEY, (ask) => waiting.get(ask)?.()),
)
const commander = await openCommandSocket(url, TOKEN)

// The sessions first, so that what follows is what the asks themselves cost.
for (const plugin of plugins) plugin.ask(SESSIONS, 0)
await commander.sessions(INSTANCES * SESSIONS)
await Bun.sleep(1_000)
const before = service.rss()
const asks = plugins.flatMap((plugin) => plugin.ask(SESSIONS, EACH))
await commander.requests(asks.length)
await Bun.sleep(1_000)
const perAsk = (service.rss() - before) / asks.length
say(
  `${asks.length} asks open across ${INSTANCES} instances: ${(perAsk / 1024).toFixed(1)} KiB resident each, events and history included`,
)

// The bare polls, one an instance, re-armed as the plugin's are.
const arrived = new Map<string, () => void>()
let isOver = false
const polls = Array.from({ length: INSTANCES }, async (_, nth) => {
  const id = `i${nth}`
  while (!isOver) {
    const answer = await fetch(`http://127.0.0.1:${floor.port}/down?id=${id}`)
    await answer.json()
    arrived.get(id)?.()
  }
})
const trigger = new WebSocket(`ws://127.0.0.1:${floor.port}/socket`)
await new Promise((resolve) => trigger.addEventListener("open", resolve, { once: true }))
await Bun.sleep(200)

async function delayOf(map: Map<string, () => void>, key: string, send: () => void): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>()
  map.set(key, resolve)
  const sent = performance.now()
  send()
  await promise
  map.delete(key)
  return (performance.now() - sent) * 1000
}

const delays = { service: [] as number[], floor: [] as number[] }
for (let at = 0; at < COMMANDS; at += BLOCK) {
  for (let nth = at; nth < at + BLOCK; nth += 1) {
    // In turns over the instances, as people would not do it and a bench should.
    const ask = asks[(nth * 97) % asks.length]
    if (ask === undefined) throw new Error("no ask is left")
    delays.service.push(await delayOf(waiting, ask.ask, () => commander.answer(ask.ask)))
    await Bun.sleep(1)
  }
  for (let nth = at; nth < at + BLOCK; nth += 1) {
    const id = `i${nth % INSTANCES}`
    delays.floor.push(await delayOf(arrived, id, () => trigger.send(JSON.stringify({ id }))))
    await Bun.sleep(1)
  }
}
say(
  `\nfrom a command to the agent's client, ${COMMANDS} commands one after the other, blocks of ${BLOCK} in turns with a bare long poll`,
)
say(row(["", "p50", "p99"], WIDTHS))
for (const [name, values] of Object.entries(delays)) {
  say(row([name, `${median(values).toFixed(0)} us`, `${quantile(values, 0.99).toFixed(0)} us`], WIDTHS))
}
const ratio = (share: number) => quantile(delays.service, share) / quantile(delays.floor, share)
say(row(["of the floor", `${ratio(0.5).toFixed(1)}x`, `${ratio(0.99).toFixed(1)}x`], WIDTHS))

isOver = true
for (let nth = 0; nth < INSTANCES; nth += 1) trigger.send(JSON.stringify({ id: `i${nth}` }))
await Promise.all(polls)
trigger.close()
commander.close()
await Promise.all(plugins.map((plugin) => plugin.end()))
await Promise.all([service.stop(), floor.stop()])

const agent = await agentWithAsks({ asks: quick ? 60 : 300, prompts: quick ? 5 : 25 })
say(
  `\n${agent.open} asks open in one real agent (${agent.label}), whole prompts of one model call, ${agent.prompts} each`,
)
say(row(["", "median", "p90"], WIDTHS))
for (const [name, values] of [["without", agent.without] as const, ["with asks", agent.withAsks] as const]) {
  say(row([name, `${median(values).toFixed(0)} ms`, `${quantile(values, 0.9).toFixed(0)} ms`], WIDTHS))
}
say(row(["of without", `${(median(agent.withAsks) / median(agent.without)).toFixed(2)}x`, ""], WIDTHS))
say(
  `model requests were all answered; answered over the protocol afterwards: ${agent.answered} of ${agent.open}`,
)
if (agent.answered !== agent.open) process.exitCode = 1
process.exit()
