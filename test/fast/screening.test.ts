/**
 * Holds `docs/screening.md` and the product together: whatever the service offers to a person was judged there, and whatever is
 * said to be supported is offered. What is offered is taken from the service itself, over every way in which the agents ask.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { ACCEPTS } from "../../service/control/control.ts"
import { PROFILES } from "../../service/map/profile.ts"
import { bus, House, instanceOf } from "../house.ts"

interface Row {
  affordance: string
  id: string
  marks: string[]
  verdict: string
  isSupported: boolean
}

const page = readFileSync(join(resolve(import.meta.dir, "../.."), "docs/screening.md"), "utf8")
const rows: Row[] = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| affordance"))
  .map((line) => {
    const [, affordance = "", id = "", , , ...rest] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    const [verdict = ""] = rest.slice(6)
    return { affordance, id, marks: rest.slice(0, 6), verdict, isSupported: verdict.startsWith("supported") }
  })

/** Ids in code marks of the supported rows that begin with a word. */
const supported = (word: string): string[] =>
  rows.flatMap(({ id, isSupported }) => {
    if (!isSupported || !id.startsWith(word)) return []
    const [, named = ""] = /`([^`]+)`/.exec(id) ?? []
    return [named]
  })

/** Options of every request that the service raises, by vendor, from real requests. */
const offered = new Set<string>()
/** Members of fields that a person can use. */
const members = new Set<string>()
const houses: House[] = []

beforeAll(() => {
  for (const { agent } of Object.values(PROFILES)) {
    const house = new House()
    houses.push(house)
    const permission = {
      id: "per_2",
      type: "bash",
      sessionID: "ses_1",
      callID: "c",
      title: "x",
      metadata: {},
    }
    const questions = [
      { question: "Which?", header: "Q", options: [{ label: "red" }] },
      { question: "Which ones?", header: "M", multiple: true, options: [{ label: "red" }] },
    ]
    house.tell(
      instanceOf("i-1", { agent, answers: true }),
      bus("permission.asked", {
        id: "per_1",
        sessionID: "ses_1",
        permission: "bash",
        patterns: ["x"],
        always: ["x"],
      }),
      { kind: "permission.ask", permission, held: true },
      bus("permission.updated", { ...permission, id: "per_3" }),
      bus("question.asked", { id: "que_1", sessionID: "ses_1", questions }),
    )
    const requests = house.events("ses_1", agent).filter(({ type }) => type === "attention.requested")
    expect(requests).toHaveLength(4)
    for (const { data = {} } of requests) {
      for (const option of (data.options ?? []) as { id: string }[]) offered.add(option.id)
      for (const field of (data.fields ?? []) as Record<string, unknown>[]) {
        for (const name of ["multi", "other"]) if (field[name] === true) members.add(name)
      }
    }
  }
})
afterAll(() => {
  for (const house of houses) house.remove()
})

test("every option that is offered has its row, and every row an option that is offered", () => {
  expect([...offered].sort()).toEqual([...new Set(supported("option"))].sort())
})

test("every verb that is accepted has its row, and every row a verb that is accepted", () => {
  expect([...ACCEPTS].sort()).toEqual([...new Set(supported("verb"))].sort())
})

test("several choices and own words are offered where their rows say so", () => {
  expect([...members].sort()).toEqual(["multi", "other"])
  expect(page).toContain("`multi` on the field")
  expect(page).toContain("`other` on the field")
})

test("what the issue of the control loop names is there", () => {
  const named = [
    ...[
      "allow this call",
      "allow always",
      "refuse",
      "refuse with a reason",
      "answer a question, several choices",
    ],
    ...["answer in own words", "dismiss a question", "stop a run", "stop a session", "pause", "resume"],
    ...["hold the hook (1.0)"],
  ]
  expect(named.filter((name) => !rows.some(({ affordance }) => affordance === name))).toEqual([])
})

describe.each(rows.map((row) => [row.affordance, row] as const))(
  "%s",
  (_, { marks, verdict, isSupported }) => {
    const failed = marks.flatMap((mark, at) => (mark === "-" ? [at + 1] : []))

    test("is judged on all six criteria", () => {
      expect(marks.every((mark) => mark === "+" || mark === "-")).toBe(true)
      expect(marks).toHaveLength(6)
    })

    test("names in its verdict exactly the criteria that it fails, with the reason", () => {
      const named = [...verdict.matchAll(/(\d): \S/g)].map(([, digit]) => Number(digit))
      expect(named).toEqual(failed)
      // What fails is not offered; what is done inside the plugin alone asks nothing of the protocol.
      if (failed.length > 0) expect(verdict).toMatch(/^unsupported|nothing of it in the protocol/)
      else expect(isSupported).toBe(true)
    })
  },
)
