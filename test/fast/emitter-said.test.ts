/**
 * What the emitter says to hub and relay: the events of the log, in its order and with its bytes, after they stand there
 * (design §2 and §7). Real ledger and intake in a temporary home.
 */
import { afterEach, expect, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import type { MomentBody } from "../../shared/moments.ts"
import { bus, House, instanceOf } from "../house.ts"
import { momentFiles, readMomentFile } from "../recordings.ts"

const I = instanceOf("i-1")
let house = new House()
afterEach(() => {
  house.remove()
  house = new House()
})

const created = (session: string): MomentBody =>
  bus("session.created", { sessionID: session, info: { id: session, version: "1" } })

/** The bytes of a log between two offsets, as lines. */
const linesAt = ({ file, start, end }: { file: string; start: number; end: number }): string[] =>
  readFileSync(house.ledger.path(file)).subarray(start, end).toString("utf8").trimEnd().split("\n")

test("everything that is said stands in the log already, byte for byte, at the place that is named", () => {
  let steps = 0
  for (const name of momentFiles().slice(0, 20)) {
    for (const { moment } of readMomentFile(name)) {
      const { n: _, at: __, ...body } = moment
      house.tell(I, body as MomentBody)
      steps += 1
    }
  }
  expect(steps).toBeGreaterThan(200)
  expect(house.said.length).toBeGreaterThan(100)
  for (const { messages, logged } of house.said) {
    if (logged === undefined) throw new Error("an event was said and not logged")
    expect(messages.map(({ text }) => text)).toEqual(linesAt(logged))
    for (const { event, text } of messages) expect(JSON.parse(text)).toEqual(event)
  }
})

test("each log is said whole, once and in its order", () => {
  house.tell(I, created("ses_1"), created("ses_2"))
  house.tell(I, bus("todo.updated", { sessionID: "ses_1", todos: [{ content: "a", status: "pending" }] }))
  const byFile = new Map<string, number>()
  for (const { logged } of house.said) {
    expect(logged?.start).toBe(byFile.get(logged?.file ?? "") ?? 0)
    if (logged !== undefined) byFile.set(logged.file, logged.end)
  }
  expect(byFile.size).toBe(4)
  for (const [file, end] of byFile) expect(readFileSync(house.ledger.path(file)).length).toBe(end)
})

test("events of a log that cannot be written are said without a place, and the gap event before those that can", () => {
  const path = house.ledger.path("opencode/ses_1.jsonl")
  mkdirSync(dirname(path), { recursive: true })
  // The real, always full device of the system.
  symlinkSync("/dev/full", path)
  house.tell(I, created("ses_1"))
  rmSync(path)
  house.clock.advance(2_000)
  house.tell(I, bus("session.compacted", { sessionID: "ses_1" }))
  const told = house.said
    .filter(({ key }) => key.session === "ses_1")
    .map(({ messages, logged }) => [messages[0]?.event.type, logged?.start])
  expect(told).toEqual([
    ["session.started", undefined],
    ["x.opencode.log.gap", 0],
    ["session.compacted", expect.any(Number)],
  ])
})

test("presence is said like everything else", () => {
  house.tell(I, created("ses_1"))
  const presence = house.said.find(({ key }) => key.session === undefined)
  expect(presence?.messages[0]?.event.type).toBe("agent.presence")
  expect(presence?.logged?.file).toBe(join("opencode", "_agent.jsonl"))
})
