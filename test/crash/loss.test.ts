/**
 * What a person, a backup or a disk does to the home while the service is down: deleted, restored, cut, gone. The
 * record never repeats a position, and says where it has a hole.
 */
import { afterEach, expect, test } from "bun:test"
import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { suitePort } from "../ports.ts"
import { type Line, raisedEpochs } from "./record.ts"
import { Story } from "./story.ts"
import { callTool } from "./workload.ts"

const port = suitePort("crash", 1)
const ENDS = ["stop", "kill"] as const
const ORIGIN = Date.UTC(2026, 0, 1)
const DAY_MS = 24 * 3600 * 1000

let story: Story
afterEach(() => story.close())

async function begin(): Promise<void> {
  story = new Story(port)
  await story.start()
  await story.live("ses_one", 2)
  await story.live("ses_two", 3)
}

async function goOn(name: string): Promise<void> {
  await story.start()
  await story.takeTurn("ses_one", name)
  await story.takeTurn("ses_two", name)
  await story.live(`ses_${name}`, 1)
}

function dropDatabase(): void {
  for (const side of ["", "-wal", "-shm"]) rmSync(story.home.database + side, { force: true })
}

function linesOf(session: string): readonly Line[] {
  return story.record().get(session) ?? []
}

test.each(ENDS)(
  "a database deleted after a %s is rebuilt: nothing repeats and the epoch stays",
  async (how) => {
    await begin()
    await story.end(how)
    dropDatabase()
    await goOn("after")
    await story.end("stop")
    expect(story.faults()).toEqual([])
    expect(raisedEpochs(story.record())).toEqual([])
  },
  60_000,
)

test.each(ENDS)(
  "an old copy of the database put back after a %s repeats nothing and the epoch stays",
  async (how) => {
    await begin()
    await story.end("stop")
    const copy = `${story.home.database}.copy`
    copyFileSync(story.home.database, copy)
    await goOn("between")
    await story.end(how)
    dropDatabase()
    copyFileSync(copy, story.home.database)
    await goOn("after")
    await story.end("stop")
    expect(story.faults()).toEqual([])
    expect(raisedEpochs(story.record())).toEqual([])
  },
  60_000,
)

test("a damaged database is kept aside and rebuilt: nothing repeats and sessions go on in a new epoch", async () => {
  await begin()
  await story.end("stop")
  writeFileSync(story.home.database, Buffer.alloc(8192, 0x5a))
  await goOn("after")
  expect(story.service.child.stderr()).toContain("was damaged")
  await story.end("stop")
  expect(existsSync(`${story.home.database}.corrupt-1`)).toBe(true)
  expect(story.faults()).toEqual([])
  expect(linesOf("ses_two").at(-1)?.epoch).toBe(1)
}, 60_000)

test.each(ENDS)(
  "a log that lost its tail after a %s goes on in a new epoch behind an event that says how many are gone",
  async (how) => {
    await begin()
    await story.end(how)
    const file = join(story.home.logs, "opencode", "ses_two.jsonl")
    const before = linesOf("ses_two")
    const text = readFileSync(file, "utf8")
    const kept = text.split("\n").slice(0, before.length - 3)
    // And half of the line after it.
    truncateSync(file, Buffer.byteLength(`${kept.join("\n")}\n`) + 20)
    await story.start()
    const firstFed = story.feeder.fed.length
    await story.feed(callTool("ses_two", "call_after", story.random))
    await story.takeTurn("ses_one", "after")
    await story.end("stop")

    const after = linesOf("ses_two").slice(before.length - 3)
    const gap = after[0]
    expect(gap?.type).toBe("x.opencode.log.gap")
    expect(gap?.data).toEqual({ reason: "lost-tail", missed: 3 })
    expect([gap?.epoch, gap?.seq]).toEqual([1, 0])
    expect(after.filter(({ type }) => type === "x.opencode.log.gap")).toHaveLength(1)
    expect(after.every(({ epoch }) => epoch === 1)).toBe(true)
    expect(raisedEpochs(story.record())).toEqual(["ses_two"])
    const positions = new Set([...before, ...after].map(({ epoch, seq }) => `${epoch} ${seq}`))
    expect(positions.size).toBe(before.length + after.length)
    // What was cut is gone; nothing else may be.
    const gone = new Set(before.slice(-3).map(({ opencodemoment }) => String(opencodemoment)))
    const broken = story.faults().filter((fault) => !gone.has(/^inst-story\/(\d+):/.exec(fault)?.[1] ?? ""))
    expect(broken).toEqual([])
    expect(story.feeder.acknowledged).toBeGreaterThan(firstFed)
  },
  60_000,
)

test("with log and database gone a session goes on at a seeded epoch, and once more on the same day without repeating", async () => {
  await begin()
  const seen: Line[] = [...linesOf("ses_one")]
  const days = () => Math.floor((Date.now() - ORIGIN) / DAY_MS)
  const from = days()
  for (const [index, how] of [...ENDS].entries()) {
    await story.end(how)
    rmSync(story.home.logs, { recursive: true })
    dropDatabase()
    await story.start()
    await story.takeTurn("ses_one", `after${index}`)
    seen.push(...linesOf("ses_one"))
  }
  await story.end("stop")
  const seeded = seen.filter(({ epoch }) => epoch !== 0)
  expect(seeded.length).toBeGreaterThan(10)
  expect(seeded.every(({ epoch }) => epoch >= from && epoch <= days())).toBe(true)
  expect(new Set(seen.map(({ epoch, seq }) => `${epoch} ${seq}`)).size).toBe(seen.length)
}, 60_000)
