/**
 * Every pin of the official OpenCode and Kilo Code mapping tables, driven through our mapping and gate at the
 * posture the tables are pinned at (capture `metadata`, `attention.*` at `redacted`), `sse_modes` included.
 */
import { describe, expect, test } from "bun:test"
import { digestOf } from "../../service/capture/digest.ts"
import { gateDraft } from "../../service/capture/gate.ts"
import { type ChannelMode, mapChannel } from "../../service/map/channel.ts"
import type { Draft } from "../../service/map/draft.ts"
import { type MapContext, mapMoment, sessionOf } from "../../service/map/moment.ts"
import { type Profile, profileOf } from "../../service/map/profile.ts"
import { diffTodos, readTodos, type Todo } from "../../service/map/todos.ts"
import type { MomentBody } from "../../shared/moments.ts"
import { officialData, readOfficial } from "../official.ts"
import { VERBATIM } from "../posture.ts"
import { sha256Hex } from "../replay.ts"

type Pin = { type: string; data: unknown; subject?: string } | null
interface Table {
  moments: Record<string, { input: MomentBody; expected: Pin }>
  todos: { input: { prev: unknown[]; next: unknown[] }; expected: Pin[] }
  fallback: { input: MomentBody; expected: Pin }
  sse_modes: { modes: Record<string, Record<ChannelMode, Pin>> }
}

const official = officialData()
const suite = official.kind === "present" ? describe : describe.skip

/** What the pins judge: type, data and subject, at the tables' posture. */
function told(draft: Draft | undefined, profile: Profile): Pin {
  if (draft === undefined) return null
  const ceiling = draft.type.startsWith("attention.") ? "redacted" : "metadata"
  // The pinned texts hold nothing that the pipeline would change, so the gate's own part is judged alone.
  const { data } = gateDraft(draft, { ceiling, agent: profile.agent, redactor: VERBATIM })
  return { type: draft.type, data, ...(draft.subject === undefined ? {} : { subject: draft.subject }) }
}

for (const [agent, fixture] of [
  ["opencode", "opencode"],
  ["kilocode", "kilocode"],
] as const) {
  suite(`official mapping table ${fixture}`, () => {
    const table = (
      official.kind === "present"
        ? readOfficial(`conformance/fixtures/mappings/${fixture}.json`)
        : {
            moments: {},
            todos: { input: { prev: [], next: [] }, expected: [] },
            fallback: {},
            sse_modes: { modes: {} },
          }
    ) as Table
    const profile = profileOf(agent) as Profile
    const context: MapContext = { profile, digest: (value) => digestOf(value, sha256Hex) }

    for (const [name, { input, expected }] of Object.entries(table.moments)) {
      test(`moment ${name} becomes its pin`, () => {
        expect(told(mapMoment(input, context), profile)).toEqual(expected)
      })
    }

    for (const [name, modes] of Object.entries(table.sse_modes.modes)) {
      for (const mode of ["companion", "primary"] as const) {
        test(`moment ${name} on a ${mode} channel becomes its pin`, () => {
          const input = table.moments[name]?.input
          if (input?.kind !== "bus") throw new Error(`${name} is no bus moment`)
          expect(told(mapChannel(input, mode, context), profile)).toEqual(modes[mode])
        })
      }
    }

    test("an unknown bus name takes the mechanical fallback", () => {
      expect(told(mapMoment(table.fallback.input, context), profile)).toEqual(table.fallback.expected)
    })

    test("the todo snapshots become the pinned transitions", () => {
      const todos = (list: unknown[]): Todo[] =>
        readTodos(list).map((item) => ({ id: item.id ?? "", key: "", completed: item.completed }))
      const titles = new Map(readTodos(table.todos.input.next).map((item) => [item.id, item.content]))
      const drafts = diffTodos(todos(table.todos.input.prev), todos(table.todos.input.next), (id) =>
        titles.get(id),
      )
      expect(drafts.map((draft) => told(draft, profile))).toEqual(table.todos.expected)
    })

    test("the session of every moment is read from where the table says", () => {
      const sessions = Object.fromEntries(
        Object.entries(table.moments).map(([name, { input }]) => [name, sessionOf(input)]),
      )
      for (const [name, session] of Object.entries(sessions)) {
        const isPlaceless = name === "server_connected" || name === "file_edited"
        if (isPlaceless) expect(session).toBeUndefined()
        else expect(session).toMatch(/^s_fix_/)
      }
    })

    test("the counts driven equal the counts in the file", () => {
      const moments = Object.keys(table.moments).length
      const modes = Object.keys(table.sse_modes.modes).length * 2
      process.stdout.write(
        `mappings/${fixture}.json: ${moments} moments, ${modes} channel pins, 1 todo diff, 1 fallback\n`,
      )
      expect(moments).toBeGreaterThan(15)
      expect(modes).toBeGreaterThan(25)
    })
  })
}
