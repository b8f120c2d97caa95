/** Where a command goes (AEP-0004 §4): the order of the verdicts, held as a table. */
import { expect, test } from "bun:test"
import { type Claimant, Roster } from "../../service/hub/roster.ts"
import { routeCommand } from "../../service/hub/routing.ts"
import { messageOf } from "./hub-events.ts"

const RESPOND = "control.attention.respond"
const command = messageOf({ type: RESPOND, seq: undefined, data: { answer: { option: "canary-9d" } } })

function claimant(control: Record<string, unknown> | undefined): Claimant {
  return { agent: "owner", instance: undefined, control, emits: undefined, take: () => undefined }
}

function rosterOf(...controls: (Record<string, unknown> | undefined)[]): Roster {
  const roster = new Roster()
  for (const control of controls) roster.claim("s1", claimant(control))
  return roster
}

const takes = { accepts: ["control.cancel", RESPOND] }
const refuses = { accepts: ["control.cancel"] }

test.each([
  ["who is not authenticated is refused before anything is looked up", false, [], "unauthorized"],
  ["even where an owner would take it", false, [takes], "unauthorized"],
  ["no owner, no route", true, [], "no-route"],
  ["two owners, whatever they take", true, [takes, takes], "ambiguous"],
  ["also where only one of them would take it", true, [takes, refuses], "ambiguous"],
  ["also where neither would", true, [refuses, undefined], "ambiguous"],
  ["a type that is not listed", true, [refuses], "unsupported"],
  ["an empty list", true, [{ accepts: [] }], "unsupported"],
  ["no list", true, [{}], "unsupported"],
  ["no control block", true, [undefined], "unsupported"],
  ["a text in place of the list", true, [{ accepts: RESPOND }], "unsupported"],
])("%s", (_, isAuthenticated, controls, code) => {
  const routed = routeCommand(command, { isAuthenticated }, rosterOf(...controls))
  expect<unknown>(routed).toEqual({ kind: "refused", code, detail: expect.any(String) })
  expect(JSON.stringify(routed)).not.toContain("canary")
})

test("the one owner that lists the type gets it", () => {
  const roster = new Roster()
  const [owner, other] = [claimant(takes), claimant(takes)]
  roster.claim("s1", owner)
  roster.claim("s2", other)
  expect(routeCommand(command, { isAuthenticated: true }, roster)).toEqual({ kind: "deliver", to: owner })
})

test("a vendor's command is held to the list as any other", () => {
  const nudge = messageOf({ type: "x.acme.control.nudge", seq: undefined })
  const sender = { isAuthenticated: true }
  expect(routeCommand(nudge, sender, rosterOf(takes))).toMatchObject({ code: "unsupported" })
  expect(routeCommand(nudge, sender, rosterOf({ accepts: ["x.acme.control.nudge"] }))).toMatchObject({
    kind: "deliver",
  })
})
