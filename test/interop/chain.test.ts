/**
 * Two of our services, one the other's relay: what agents say at the first comes out of the second, byte for byte and in
 * order, over the second's death. Real processes; readers are the suite's own client, and `opencode-aep tail`.
 */
import { afterEach, expect, test } from "bun:test"
import { waitFor } from "../agent/wait.ts"
import { startTail, type Tailing } from "../fast/cli-tail-house.ts"
import { commandOf, Party } from "../hub/client.ts"
import { conversationOf, eventsOf, runsEnded, Stage, TOKEN } from "../hub/stage.ts"
import { suitePort } from "../ports.ts"

const WAIT_MS = 30_000
let stages: Stage[] = []
const tails: Tailing[] = []
afterEach(async () => {
  for (const { child } of tails.splice(0)) await child.stop()
  for (const stage of stages.reverse()) await stage.close()
  stages = []
})

/** A service that others relay to, and one that relays to it. */
async function far(): Promise<Stage> {
  const stage = await Stage.open(suitePort("relay", 9), { AEP_TOKEN: TOKEN })
  stages.push(stage)
  return stage
}

async function near(): Promise<Stage> {
  const relay = { AEP_RELAY_URL: `http://127.0.0.1:${suitePort("relay", 9)}`, AEP_RELAY_TOKEN: TOKEN }
  const stage = await Stage.open(suitePort("relay", 8), { AEP_TOKEN: TOKEN, ...relay })
  stages.push(stage)
  return stage
}

async function isRelayed(stage: Stage): Promise<boolean> {
  const answer = await fetch(`${stage.url}/healthz`)
  return ((await answer.json()) as { relay: boolean }).relay
}

/** Whether somebody reads its stream. */
async function hasReader(stage: Stage): Promise<boolean> {
  const answer = await new Party(stage.url, TOKEN).ask("/metrics")
  return (await answer.text()).includes('aep_readers{binding="stream"} 1\n')
}

const ready = (stage: Stage, relay: boolean) =>
  waitFor(
    `relay ${relay}`,
    WAIT_MS,
    async () => (await isRelayed(stage)) === relay,
    () => stage.printed(),
  )

/** What the far service holds of a session, once it is as much as the near one logged. */
async function heldOf(b: Stage, a: Stage, session: string): Promise<string[]> {
  const party = new Party(b.url, TOKEN)
  return waitFor(`all of ${session}`, WAIT_MS, async () => {
    const { texts } = await party.held({ filter: { session }, from: "all" })
    return texts.length >= a.logged(session).length ? texts : undefined
  })
}

test("what is said at the first comes out of the second, byte for byte and in order", async () => {
  const b = await far()
  const a = await near()
  await ready(a, true)
  for (const [agent, name] of [
    ["opencode", "1.18.33-tool-success"],
    ["kilocode", "kilo-7.7.7-tool-success"],
  ] as const) {
    const session = `ses_of_${agent}`
    await a.tell(conversationOf(name, session).steps)
    const logged = await waitFor("log", WAIT_MS, () => {
      const lines = a.logged(session, agent)
      return lines.some((line) => line.includes('"run.finished"')) ? lines : undefined
    })
    const held = await waitFor(`all of ${session}`, WAIT_MS, async () => {
      const { texts } = await new Party(b.url, TOKEN).held({ filter: { session }, from: "all" })
      return texts.length >= logged.length ? texts : undefined
    })
    expect(held).toEqual(logged)
  }
}, 60_000)

test("the second shows the first's sessions as claimed, and refuses for them what they do not take", async () => {
  const b = await far()
  const a = await near()
  await ready(a, true)
  await a.converse(conversationOf("1.18.33-tool-success", "ses_chain"))
  await heldOf(b, a, "ses_chain")
  const reader = await new Party(b.url, TOKEN).greeted()
  const { entries } = (await reader.ask({ type: "roster", id: "q" })) as { entries: { session: string }[] }
  const entry = entries.find(({ session }) => session === "ses_chain")
  expect(entry).toMatchObject({
    agent: "opencode",
    control: { accepts: expect.any(Array), ack_window_ms: 10_000 },
  })
  const command = commandOf("ses_chain", "control.pause")
  expect(await reader.ask(command)).toMatchObject({ code: "unsupported", cause: command.id })
  await reader.close()
}, 60_000)

test("a cancel sent at the second is decided once, in the first's own record, and comes out of both", async () => {
  const b = await far()
  const a = await near()
  await ready(a, true)
  await a.converse(conversationOf("1.18.33-tool-success", "ses_chain"))
  await heldOf(b, a, "ses_chain")
  const sender = await new Party(b.url, TOKEN).greeted()
  const reader = await new Party(b.url, TOKEN).stream({ filter: { type: "control.rejected" } })
  const command = commandOf("ses_chain", "control.cancel", { data: { scope: "run" } })
  for (const _ of [1, 2]) {
    sender.send(command)
    expect(JSON.parse((await reader.event()).data)).toMatchObject({
      cause: command.id,
      data: { reason: "refused" },
    })
  }
  const acks = a.logged("ses_chain").filter((line) => line.includes(`"cause":"${command.id}"`))
  expect(acks).toHaveLength(1)
  const heldNear = await new Party(a.url, TOKEN).held({ filter: { session: "ses_chain" }, from: "all" })
  expect(heldNear.texts).toContain(JSON.stringify(command))
  expect(heldNear.texts.at(-1)).toBe(acks[0] ?? "")
  await Promise.all([sender.close(), reader.cancel()])
}, 60_000)

test("the first says whether the second is there, and the second's death loses nothing", async () => {
  const a = await near()
  expect(await isRelayed(a)).toBe(false)
  await a.converse(conversationOf("1.18.33-tool-success", "ses_before"))
  const b = await far()
  await ready(a, true)
  await heldOf(b, a, "ses_before")
  await b.service.kill()
  await ready(a, false)
  await a.converse(conversationOf("1.18.33-tool-success", "ses_during"))
  await b.startAgain()
  await ready(a, true)
  expect(await heldOf(b, a, "ses_during")).toEqual(a.logged("ses_during"))
  await a.converse(conversationOf("1.18.33-tool-success", "ses_after"))
  expect(await heldOf(b, a, "ses_after")).toEqual(a.logged("ses_after"))
}, 120_000)

test("a reader of the second that resumes shows all of a session amid which the second dies, once and in order", async () => {
  const b = await far()
  const a = await near()
  await ready(a, true)
  const { session, steps, runs } = conversationOf("1.18.33-two-turns", "ses_read")
  const tail = startTail(["--url", b.url, "--json", "--session", session], { AEP_TOKEN: TOKEN })
  tails.push(tail)
  const print = () => tail.child.stderr() + b.printed()
  await waitFor("a reader", WAIT_MS, () => hasReader(b), print)
  let isKilled = false
  for (const step of steps) {
    await a.tell([step])
    if (isKilled) continue
    await waitFor("what was said so far", WAIT_MS, () => tail.lines.length >= a.logged(session).length, print)
    if (tail.lines.length < 3) continue
    await b.service.kill()
    isKilled = true
  }
  await waitFor("the log", WAIT_MS, () => runsEnded(a.logged(session)) === runs)
  const shown = tail.lines.length
  expect([isKilled, shown > 0, shown < a.logged(session).length]).toEqual([true, true, true])
  const [last] = eventsOf(tail.lines).slice(-1)
  if (last?.seq === undefined) throw new Error("an event without a position")
  await b.startAgain()
  await waitFor("all events", WAIT_MS, () => tail.lines.length >= a.logged(session).length, print)
  expect(tail.lines).toEqual(a.logged(session))
  expect(tail.complaints).toEqual([
    expect.stringContaining("the connection is lost"),
    expect.stringContaining("the connection is back"),
  ])
  // The first may have been back before that reader; one that comes when all has been told has only the replay.
  const { texts, comments } = await new Party(b.url, TOKEN).held({
    filter: { session },
    from: [{ session, epoch: last.epoch ?? 0, seq: last.seq }],
  })
  expect(texts).toEqual(a.logged(session).slice(shown))
  expect(comments).not.toContainEqual(expect.stringContaining("replay-exhausted"))
  expect(await tail.interrupt()).toBe(0)
}, 60_000)

test("the first's stop leaves nothing unsaid", async () => {
  const b = await far()
  const a = await near()
  await ready(a, true)
  await a.converse(conversationOf("1.18.33-tool-success", "ses_last"))
  await a.service.end("SIGTERM")
  expect(await heldOf(b, a, "ses_last")).toEqual(a.logged("ses_last"))
  const { texts } = await new Party(b.url, TOKEN).held({ from: "all" })
  expect(texts.join("\n")).toContain("ses_last")
}, 60_000)
