/** Who speaks for which session (AEP-0003 §4.1). */
import { expect, test } from "bun:test"
import { type Claimant, MAX_CLAIMS, Roster } from "../../service/hub/roster.ts"

function claimant(agent: string, members: Partial<Claimant> = {}): Claimant {
  return {
    agent,
    instance: undefined,
    control: undefined,
    emits: undefined,
    take: () => undefined,
    ...members,
  }
}

test("one claim is one entry, with what was declared and nothing else", () => {
  const roster = new Roster()
  const control = { accepts: ["control.cancel"], vendor: { depth: 1 } }
  roster.claim("s1", claimant("full", { instance: "i1", control, emits: ["run.*"] }))
  roster.claim("s2", claimant("bare"))
  expect(roster.entries()).toEqual([
    { session: "s1", agent: "full", instance: "i1", control, emits: ["run.*"] },
    { session: "s2", agent: "bare" },
  ])
  expect(Object.keys(roster.entries()[1] ?? {})).toEqual(["session", "agent"])
})

test("claiming again changes nothing", () => {
  const roster = new Roster()
  const one = claimant("one")
  expect([roster.claim("s1", one), roster.claim("s1", one)]).toEqual([true, true])
  expect([roster.size, roster.claimants("s1").length, roster.entries().length]).toEqual([1, 1, 1])
})

test("two claims of one session both stand, and the end of one leaves the other", () => {
  const roster = new Roster()
  const [one, two] = [claimant("same"), claimant("same")]
  roster.claim("s1", one)
  roster.claim("s1", two)
  expect(roster.entries()).toHaveLength(2)
  roster.release(one)
  expect(roster.claimants("s1")).toEqual([two])
  expect(roster.size).toBe(1)
})

test("a claimant's end ends all its claims, and may come twice", () => {
  const roster = new Roster()
  const [one, two] = [claimant("one"), claimant("two")]
  for (const session of ["s1", "s2", "s3"]) roster.claim(session, one)
  roster.claim("s2", two)
  roster.release(one)
  roster.release(one)
  expect(roster.entries().map(({ session }) => session)).toEqual(["s2"])
  expect(roster.size).toBe(1)
  roster.claim("s1", one)
  expect(roster.claimants("s1")).toEqual([one])
})

test("one claim ends alone, and only for whom it is", () => {
  const roster = new Roster()
  const [one, two] = [claimant("one"), claimant("two")]
  roster.claim("s1", one)
  roster.claim("s2", one)
  roster.releaseSession("s1", two)
  expect(roster.claimants("s1")).toEqual([one])
  roster.releaseSession("s1", one)
  roster.releaseSession("s1", one)
  expect([roster.claimants("s1"), roster.claimants("s2"), roster.size]).toEqual([[], [one], 1])
})

test("a session that nobody claims has no claimant, whatever its name", () => {
  const roster = new Roster()
  for (const session of ["", "__proto__", "constructor"]) expect(roster.claimants(session)).toEqual([])
})

test("a claimant has a bound of its own, which a claim that ended makes room under", () => {
  const roster = new Roster()
  const [greedy, modest] = [claimant("greedy"), claimant("modest")]
  for (let at = 0; at < MAX_CLAIMS; at += 1) expect(roster.claim(`s${at}`, greedy)).toBe(true)
  expect(roster.claim("more", greedy)).toBe(false)
  expect(roster.claimants("more")).toEqual([])
  expect(roster.claim("s0", greedy)).toBe(true)
  expect(roster.claim("more", modest)).toBe(true)
  roster.releaseSession("s0", greedy)
  expect(roster.claim("more", greedy)).toBe(true)
  expect(roster.size).toBe(MAX_CLAIMS + 1)
})

test("what was listed does not change with later claims", () => {
  const roster = new Roster()
  roster.claim("s1", claimant("one"))
  const [claimants, entries] = [roster.claimants("s1"), roster.entries()]
  roster.claim("s1", claimant("two"))
  expect([claimants.length, entries.length]).toEqual([1, 1])
})
