/**
 * Asks of the real agents, as our plugin told them (`fixtures/moments`), and how each of them ended. A scenario is the same story
 * on every product unless it stands here twice; a recording with an ask that nobody looked at fails.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { objectOf } from "../../service/map/members.ts"
import { momentFiles, readMomentFile } from "../recordings.ts"
import type { Step } from "../replay.ts"
import { AskHouse } from "./asks-house.ts"

let at: AskHouse
beforeEach(() => {
  at = new AskHouse()
})
afterEach(() => at.remove())

const REQUESTED = (nth: number, cause = " <tool.requested") => `attention.requested R${nth}${cause}`
const ended = (nth: number, answer: object, by = "") => [
  `attention.answered R${nth} answer=${JSON.stringify(answer)} via=oob${by} <R${nth}`,
  `attention.resolved R${nth} resolution=answered <attention.answered`,
]
const asked = (option: string, nth = 1) => [REQUESTED(nth), ...ended(nth, { option })]
const byHost = (option: string) => [REQUESTED(1), ...ended(1, { option }, " by=host")]
const withdrawn = [REQUESTED(1), "attention.resolved R1 resolution=dismissed <R1"]
/** So many asks, one after the other, each allowed once. */
const each = (count: number) => Array.from({ length: count }, (_, index) => asked("once", index + 1)).flat()
const late = (vendor: string) => `x.${vendor}.permission.replied reply=once void=true`

/** By scenario, or by product and scenario where they differ: the sessions that asked, in the order of their first ask. */
const STORIES: Readonly<Record<string, string[][]>> = {
  "permission-once": [asked("once")],
  "permission-always": [asked("always")],
  "permission-reject": [asked("reject")],
  "reject-message": [asked("reject")],
  "prompt-while-busy": [asked("once")],
  "two-copies": [asked("once")],
  "tui-allow": [asked("once")],
  "tui-port": [asked("once")],
  "two-projects": [asked("reject"), asked("once")],
  "subagent-asks": [asked("once")],
  "asks-files": [each(9)],
  "asks-others": [each(6)],
  "asks-legacy": [each(5)],
  "doom-loop": [[REQUESTED(1, ""), ...ended(1, { option: "once" })]],
  question: [[REQUESTED(1), ...ended(1, { values: { 1: "2" } })]],
  "question-dismissed": [withdrawn],
  "run-auto": [byHost("once")],
  "run-rejects": [byHost("reject")],
  "abort-ask": [withdrawn],
  "dispose-ask": [withdrawn],
  "delete-ask": [[...withdrawn, "session.ended reason=normal"]],
  "late-yes": [[...withdrawn, late("opencode")]],
  "kilo-7.7.7-late-yes": [[...withdrawn, late("kilocode")]],
  // One reject takes the session's others along; on 1.0 it does not, and the other is answered by itself.
  "parallel-reject": [
    [
      REQUESTED(1),
      REQUESTED(2),
      ...ended(1, { option: "reject" }),
      "attention.resolved R2 resolution=auto <R2",
    ],
  ],
  "parallel-reject-alone": [
    [REQUESTED(1), REQUESTED(2), ...ended(1, { option: "reject" }), ...ended(2, { option: "once" })],
  ],
}

const isAsk = ({ moment }: Step): boolean =>
  moment.kind === "permission.ask" ||
  (moment.kind === "bus" && /^(permission|question)\./.test(moment.event.type))
const RECORDED = momentFiles().flatMap((name): [string, Step[]][] => {
  const steps = readMomentFile(name)
  return steps.some(isAsk) ? [[name, steps]] : []
})
/** The one session that was told to have a parent, and that parent. */
function kinIn(steps: readonly Step[]): [child: string, root: string] {
  for (const { moment } of steps) {
    // A message has a parent, too.
    if (moment.kind !== "bus" || !moment.event.type.startsWith("session.")) continue
    const { id, parentID } = objectOf(moment.event.properties.info)
    if (typeof id === "string" && typeof parentID === "string") return [id, parentID]
  }
  throw new Error("no sub-agent was told")
}
const storyOf = (name: string) => STORIES[name] ?? STORIES[name.replace(/^[a-z]*-?[\d.]+-/, "")]
/** Runs, calls and progress have suites of their own. */
const isTold = (line: string) => /^(attention\.|control\.|session\.ended|x\.\w+\.permission\.)/.test(line)

describe("a recorded ask", () => {
  test.each(RECORDED)("of %s", (name, steps) => {
    for (const { instance, moment } of steps) at.house.send(instance, moment.n, [moment])
    const agent = steps[0]?.instance.agent
    const sessions = new Set(at.house.said.flatMap(({ messages }) => messages.map(({ event }) => event)))
    const asking = [...sessions].flatMap(({ type, session }) =>
      type === "attention.requested" && session !== undefined ? [session] : [],
    )
    const told = [...new Set(asking)].map((session) => at.tale(session, agent).filter(isTold))
    expect(told).toEqual(storyOf(name) ?? [])
    expect(at.house.faults).toEqual([])
  })

  test.each(RECORDED.filter(([name]) => name.endsWith("subagent-asks")))(
    "of %s names the session that a person began",
    (_, steps) => {
      for (const { instance, moment } of steps) at.house.send(instance, moment.n, [moment])
      const vendor = steps[0]?.instance.agent
      const [child, root] = kinIn(steps)
      const [request] = at.requests(child, vendor) as unknown as Record<string, unknown>[]
      expect([request?.[`${vendor}root`], request?.[`${vendor}path`]]).toEqual([root, `${root}/${child}`])
    },
  )
})

test("every story here was recorded", () => {
  const names = RECORDED.map(([name]) => name)
  const unread = Object.keys(STORIES).filter(
    (story) => !names.some((name) => storyOf(name) === STORIES[story]),
  )
  expect(unread).toEqual([])
  expect(names.length).toBeGreaterThan(50)
})
