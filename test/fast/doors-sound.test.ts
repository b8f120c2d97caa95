/** The quick checks of the door against its schemas: what the one lets pass, the other must accept unchanged. */
import { expect, test } from "bun:test"
import * as v from "valibot"
import { momentSchema, shellSchema } from "../../service/http/moments-body.ts"
import { isSoundMoment, isSoundShell } from "../../service/http/sound.ts"
import { PROFILES } from "../../service/map/profile.ts"
import { momentFiles, readMomentFile } from "../recordings.ts"

const STRANGE: readonly unknown[] = [
  ...[undefined, null, true, 0, -1, 1.5, 2 ** 53, 1e300, Number.NaN, "", "x", "x".repeat(600)],
  ...[[], ["a"], [1], {}, { a: 1 }, { type: "" }, { tool: "t" }],
]

/** The value with each member, at up to three levels, replaced by each strange value or taken away. */
function* damaged(value: unknown, levels = 3): Generator<unknown> {
  if (typeof value !== "object" || value === null || levels === 0) return
  const members = value as Record<string, unknown>
  for (const name of Object.keys(members).slice(0, 8)) {
    for (const strange of STRANGE) yield { ...members, [name]: strange }
    const { [name]: inner, ...rest } = members
    yield rest
    for (const changed of damaged(inner, levels - 1)) yield { ...members, [name]: changed }
  }
}

const recorded = momentFiles().flatMap((name) => readMomentFile(name).map(({ moment }) => moment))
const kinds = [...new Map(recorded.map((moment) => [moment.kind, moment])).values()]

test("every recorded moment passes the quick check", () => {
  expect(recorded.length).toBeGreaterThan(1000)
  expect(recorded.filter((moment) => !isSoundMoment(moment))).toEqual([])
})

test.each(kinds)("a damaged moment of kind $kind that passes the quick check passes the schema", (moment) => {
  let passed = 0
  for (const changed of damaged(moment)) {
    if (!isSoundMoment(changed)) continue
    passed += 1
    expect({ changed, success: v.is(momentSchema, changed) }).toEqual({ changed, success: true })
  }
  expect(passed).toBeGreaterThan(0)
})

test("a damaged shell that passes the quick check passes the schema", () => {
  const instance = {
    id: "i1",
    agent: "opencode",
    directory: "/d",
    worktree: "/d",
    version: "1",
    mode: "run",
    plugin: "0",
  }
  const shell = { instance, first: 0, moments: [] }
  expect(isSoundShell(shell, PROFILES)).toBe(true)
  for (const changed of damaged(shell)) {
    if (!isSoundShell(changed, PROFILES)) continue
    expect({ changed, success: v.is(shellSchema, changed) }).toEqual({ changed, success: true })
  }
})
