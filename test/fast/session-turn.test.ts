/** From drafts to lines: links, marks and counts of one moment's events, and what a refused one leaves behind. */
import { expect, test } from "bun:test"
import { openTurn, type Turn } from "../../service/emit/turn.ts"
import { PROFILES, type Profile } from "../../service/map/profile.ts"
import { initialState, type SessionState } from "../../service/session/state.ts"
import { instanceOf } from "../house.ts"
import { QUIET } from "../posture.ts"

function turn(moment?: number): {
  turn: Turn
  state: SessionState
  refused: string[]
  lines: () => object[]
} {
  const state = initialState("opencode", "ses_1")
  const refused: string[] = []
  let ids = 0
  const opened = openTurn(
    {
      host: "host-a",
      newId: () => `E${++ids}`,
      digest: () => "",
      ...QUIET,
      onRefused: (type, { field, code }) => refused.push(`${type} ${field} ${code}`),
    },
    {
      state,
      profile: PROFILES.opencode as Profile,
      instance: instanceOf("i-1"),
      at: 1_796_000_000_000,
      ...(moment === undefined ? {} : { moment: { n: moment } }),
      wake: () => undefined,
    },
  )
  let seq = 0
  const lines = () => opened.finish(() => ({ epoch: 2, seq: seq++ })).map(({ text }) => JSON.parse(text))
  return { turn: opened, state, refused, lines }
}

const note = (name: string, subject?: string) => ({
  type: `x.opencode.test.${name}`,
  ...(subject === undefined ? {} : { subject }),
  data: {},
})

test("events of one moment carry its marks, their positions, and how many still follow", () => {
  const { turn: opened, lines } = turn(7)
  const first = opened.scene.emit(note("a"), { marks: { message: "msg_1", call: "c1" } })
  opened.scene.emit(note("b"), { cause: first })
  opened.scene.emit(note("c"))
  expect(lines()).toMatchObject([
    {
      type: "x.opencode.test.a",
      epoch: 2,
      seq: 0,
      opencodemoment: 7,
      opencodemore: 2,
      opencodemessage: "msg_1",
    },
    { type: "x.opencode.test.b", epoch: 2, seq: 1, opencodemoment: 7, opencodemore: 1, cause: first },
    { type: "x.opencode.test.c", epoch: 2, seq: 2, opencodemoment: 7 },
  ])
})

test("the last of a group, and events that no moment caused, count nothing after them", () => {
  const byMoment = turn(7)
  byMoment.turn.scene.emit(note("a"))
  expect(byMoment.lines()[0]).not.toHaveProperty("opencodemore")
  const byTimer = turn()
  byTimer.turn.scene.emit(note("a"))
  byTimer.turn.scene.emit(note("b"))
  for (const line of byTimer.lines()) {
    expect(line).not.toHaveProperty("opencodemore")
    expect(line).not.toHaveProperty("opencodemoment")
    expect(line).toHaveProperty("opencodeinstance", "i-1")
  }
})

test("a refused event is told of, and the others count only each other", () => {
  const { turn: opened, refused, lines } = turn(7)
  opened.scene.emit(note("a"))
  opened.scene.emit(note("b"))
  opened.scene.emit(note("c", ""))
  const told = lines()
  expect(told).toMatchObject([
    { type: "x.opencode.test.a", seq: 0, opencodemore: 1 },
    { type: "x.opencode.test.b", seq: 1 },
  ])
  expect(told[1]).not.toHaveProperty("opencodemore")
  expect(refused).toEqual(["x.opencode.test.c subject ill-formed"])
})

test("a run's events name it until its terminal, and one may say that it belongs to none", () => {
  const { turn: opened, state, lines } = turn(1)
  const started = opened.scene.emit({ type: "run.started", data: { trigger: "user" } }, { run: "msg_1" })
  opened.scene.emit(note("a"))
  opened.scene.emit(note("b"), { run: null })
  opened.scene.emit({ type: "run.finished", data: {} }, { run: "msg_1", cause: started })
  expect(state.run).toBeUndefined()
  opened.scene.emit(note("c"))
  expect(lines().map((line) => ("run" in line ? line.run : undefined))).toEqual([
    ...["msg_1", "msg_1", undefined, "msg_1", undefined],
  ])
})

test("the state follows each event at once", () => {
  const { turn: opened, state } = turn(1)
  opened.scene.emit({ type: "session.started", data: {} })
  expect(state.startedAt).toBe(1_796_000_000_000)
  expect(state.instance).toBe("i-1")
  opened.scene.emit({ type: "session.ended", data: {} })
  expect(state.ended).toBe(true)
})
