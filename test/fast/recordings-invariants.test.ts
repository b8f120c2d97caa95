/**
 * Every recording of a real agent, replayed: what must hold of every session's record whatever the agent did
 * (AEP-0001 §5, AEP-0002 §2.5 and §7, design section 6). The raw hook calls and what the plugin's table lets through
 * must tell the same.
 */
import { describe, expect, test } from "bun:test"
import { readMoment } from "../../service/http/moments-body.ts"
import { RULES } from "../record-rules.ts"
import { momentFiles, readMomentFile, readRecording, recordings } from "../recordings.ts"
import { type Replayed, replaySteps, type Step } from "../replay.ts"

function faultsOf(replayed: Replayed): string[] {
  const faults = replayed.refused.map((refusal) => `refused ${refusal}`)
  for (const events of replayed.events.values()) {
    for (const [rule, broken] of Object.entries(RULES)) {
      for (const fault of broken(events)) faults.push(`${rule}: ${fault}`)
    }
  }
  const ids = [...replayed.events.values()].flat().map((event) => event.id)
  if (new Set(ids).size !== ids.length) faults.push("an event id is used twice")
  return faults
}

/** Core events only, with what depends on how many vendor events were told between them taken out. */
function coreOf(replayed: Replayed): Record<string, unknown[]> {
  const numbers = new Map<string, string>()
  let count = 0
  for (const events of replayed.events.values()) {
    for (const event of events) if (!event.type.startsWith("x.")) numbers.set(event.id, `#${++count}`)
  }
  return Object.fromEntries(
    // An instance's own session starts with its first moment, whatever that is.
    [...replayed.events.entries()]
      .filter(([session]) => !session.startsWith("instance-"))
      .map(([session, events]) => [
        session,
        events
          .filter((event) => !event.type.startsWith("x."))
          .map(
            ({
              aep: _aep,
              id,
              seq: _seq,
              cause,
              subject,
              opencodemoment: _o,
              kilocodemoment: _k,
              ...rest
            }) => {
              const { opencodemore: _om, kilocodemore: _km, ...told } = rest
              return {
                ...told,
                id: numbers.get(id),
                ...(cause === undefined ? {} : { cause: numbers.get(cause) }),
                ...(subject === undefined ? {} : { subject: numbers.get(subject) ?? subject }),
              }
            },
          ),
      ]),
  )
}

function acceptedByTheDoor(steps: readonly Step[]): string[] {
  return steps.flatMap(({ moment }) => {
    const read = readMoment(JSON.parse(JSON.stringify(moment)), moment.n)
    return "moment" in read ? [] : [`${moment.n} ${moment.kind}: ${read.rejection.reason}`]
  })
}

const found = recordings()
if (found.kind === "absent") {
  test.skip(`recordings replayed: ${found.reason}`, () => undefined)
} else {
  describe.each(found.names)("%s", (name) => {
    test.each(["raw", "table"] as const)("as %s: keeps every rule of a record", (way) => {
      const steps = readRecording(name, way)
      expect(steps.length).toBeGreaterThan(0)
      expect(acceptedByTheDoor(steps)).toEqual([])
      expect(faultsOf(replaySteps(steps, "leases-lapse"))).toEqual([])
    })

    test("the plugin's table takes nothing away from the core events", () => {
      const [raw, table] = (["raw", "table"] as const).map((way) =>
        coreOf(replaySteps(readRecording(name, way), "time-passes")),
      )
      expect(table).toEqual(raw)
    })
  })

  test("every file of the recordings is replayed", () => {
    process.stdout.write(`recordings: ${found.names.length} replayed, each raw and through the table\n`)
    expect(found.names.length).toBeGreaterThanOrEqual(70)
  })
}

const moments = momentFiles()
test("moments our own plugin sent are replayed where they were recorded", () => {
  process.stdout.write(`fixtures/moments: ${moments.length} file(s)\n`)
  for (const name of moments) expect(readMomentFile(name).length, name).toBeGreaterThan(0)
})

for (const name of moments) {
  test(`fixtures/moments/${name}: keeps every rule of a record`, () => {
    const steps = readMomentFile(name)
    expect(acceptedByTheDoor(steps)).toEqual([])
    expect(faultsOf(replaySteps(steps, "leases-lapse"))).toEqual([])
  })
}
