/**
 * Bodies and moments that nobody would write, from a fixed seed: no fault of ours, no answer but a refusal or a 202,
 * and the service answers a sound batch after each hundred (design section 5).
 */
import { afterAll, expect, test } from "bun:test"
import { RULES } from "../record-rules.ts"
import { batch, Doors, sound } from "./doors-house.ts"

const SEED = 20_261_103
const ROUNDS = 10_000
const CANARY = "canary-7f3a-"

/** A small generator (mulberry32): the same numbers on every machine. */
function generator(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

const pick = generator(SEED)
const one = <T>(values: readonly T[]): T => values[pick(values.length)] as T

const ATOMS: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1e308, 0.5, 2 ** 53, "", " ", "\u0000", "\u2028", "\ud800", "__proto__"],
  ...["constructor", `${CANARY}text`, "a".repeat(600), "ses_1", "call_1", "per_1", "msg_1", [], {}],
]
const NAMES = [
  ...[
    "sessionID",
    "info",
    "part",
    "id",
    "type",
    "status",
    "error",
    "name",
    "data",
    "message",
    "todos",
    "content",
  ],
  ...[
    "questions",
    "answers",
    "requestID",
    "permissionID",
    "reply",
    "permission",
    "patterns",
    "metadata",
    "tool",
  ],
  ...["callID", "messageID", "state", "input", "output", "args", "time", "tokens", "cost", "finish", "role"],
  ...["__proto__", "toString", "parentID", "title", "options", "label", "multiple", "sessionId", CANARY],
]
const TYPES = [
  ...[
    "session.created",
    "session.updated",
    "session.deleted",
    "session.status",
    "session.idle",
    "session.error",
  ],
  ...[
    "message.updated",
    "message.part.updated",
    "permission.asked",
    "permission.updated",
    "permission.replied",
  ],
  ...[
    "question.asked",
    "question.replied",
    "question.rejected",
    "todo.updated",
    "file.edited",
    "x",
    "control.a",
  ],
]
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  type: ["tool", "text", "compaction", "busy", "idle", "retry"],
  role: ["user", "assistant"],
  status: ["running", "completed", "error", "pending"],
  sessionID: ["ses_1", "ses_2", "ses_3"],
}

function value(depth: number): unknown {
  const kind = pick(depth > 5 ? 1 : 4)
  if (kind <= 1) return one(ATOMS)
  const size = pick(5)
  return kind === 2 ? Array.from({ length: size }, () => value(depth + 1)) : object(depth + 1, size)
}

function object(depth: number, size = 1 + pick(6)): Record<string, unknown> {
  return Object.fromEntries(
    Array.from({ length: size }, () => {
      const name = one(NAMES)
      const known = TEXTS[Object.hasOwn(TEXTS, name) ? name : ""]
      return [name, known !== undefined && pick(3) > 0 ? one(known) : value(depth)]
    }),
  )
}

/** A moment of the right outline, with anything in it; sometimes without the outline. */
function moment(n: number): unknown {
  const stamp = {
    n: pick(20) === 0 ? value(0) : n,
    at: pick(20) === 0 ? value(0) : 1_796_000_000_000 + pick(1e6),
  }
  const session = one(["ses_1", "ses_2", "ses_3"])
  switch (pick(8)) {
    case 0:
      return value(0)
    case 1:
      return { ...stamp, kind: one(["tool.before", "tool.after"]), input: object(0), output: value(0) }
    case 2:
      return {
        ...stamp,
        kind: one(["tool.before", "tool.after"]),
        input: { tool: "bash", sessionID: session, callID: one(["c1", "c2"]) },
        output: object(0),
      }
    case 3:
      return { ...stamp, kind: "permission.ask", permission: { sessionID: session, ...object(0) } }
    case 4:
      return { ...stamp, kind: "chat.message", input: { sessionID: session }, output: object(0) }
    default:
      return {
        ...stamp,
        kind: "bus",
        event: { type: one(TYPES), properties: { ...object(0), sessionID: session } },
      }
  }
}

/** Text with some of its bytes changed, lost or doubled. */
function spoil(text: string): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(text)
  for (let times = 1 + pick(5); times > 0; times -= 1) bytes[pick(bytes.length)] = pick(256)
  const from = pick(bytes.length)
  return new Uint8Array(pick(3) === 0 ? bytes.subarray(0, from) : bytes)
}

const doors = new Doors()
afterAll(() => doors.close())

test(`${ROUNDS} bodies from seed ${SEED} leave no fault behind and the service answering`, async () => {
  let next = 0
  const statuses = new Map<number, number>()
  for (let round = 0; round < ROUNDS; round += 1) {
    const count = pick(6)
    const members = pick(10) === 0 ? object(0) : {}
    const body = JSON.stringify(
      batch(
        Array.from({ length: count }, (_, index) => moment(next + index)),
        { first: next, ...members },
      ),
    )
    const answer = await doors.post(pick(5) === 0 ? spoil(body) : body)
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    expect(answer.status).toBeOneOf([202, 400])
    expect(answer.text).not.toContain(CANARY)
    // Indexes beyond what a process can reach would make the rest of the run old news.
    const answered = Number(answer.body?.next ?? next)
    if (answer.status === 202 && answered < 1e6) next = Math.max(next, answered)
    else if (answer.status === 202) next = answered
    if (round % 100 === 0) expect((await doors.ask("/healthz")).body).toEqual({ ok: true, relay: true })
    doors.house.clock.advance(200)
  }
  process.stdout.write(
    `fuzz: ${JSON.stringify(Object.fromEntries(statuses))}, ${doors.house.intake.counts.moments} applied\n`,
  )
  expect(statuses.get(202) ?? 0).toBeGreaterThan(ROUNDS / 2)
  expect(doors.house.intake.counts.moments).toBeGreaterThan(ROUNDS)
  expect(doors.faults).toEqual([])
  expect(doors.house.faults).toEqual([])
  expect(doors.house.refused).toEqual([])
}, 60_000)

/** Time is the sender's to tell, and positions of sessions met late start at a seed. */
const NOT_JUDGED = "positions ascend by one and time never goes back"

test("what was told of it keeps every rule of a record", () => {
  // Silence ends the instance, and ten minutes later its asks: nothing may stay open.
  doors.house.clock.advance(700_000)
  let count = 0
  for (const session of ["ses_1", "ses_2", "ses_3", "instance-i-1"]) {
    const events = doors.house.events(session)
    count += events.length
    for (const [rule, broken] of Object.entries(RULES)) {
      if (rule !== NOT_JUDGED)
        expect([session, rule, broken(events).slice(0, 5)]).toEqual([session, rule, []])
    }
  }
  process.stdout.write(`fuzz: ${count} events held against ${Object.keys(RULES).length - 1} rules\n`)
  expect(count).toBeGreaterThan(500)
})

test("a sound batch of another instance is applied after all that", async () => {
  const answer = await doors.post(
    JSON.stringify(batch([sound(0, "ses_sound")], { instance: { ...batch().instance, id: "i-2" } })),
  )
  expect(answer.body).toEqual({ next: 1, rejected: [] })
  expect(doors.house.core("ses_sound")).toEqual(["session.started"])
})
