/**
 * The control loop under chance: many short runs of a model agent on the real service, each held against what truly happened.
 * `AEP_PROPERTY_SEED` plays one seed and prints its story, `AEP_PROPERTY_RUNS` another number of them.
 */
import { beforeAll, describe, expect, test } from "bun:test"
import { type Evidence, faultsOf, type Line } from "./control-property-judge.ts"
import { Plays } from "./control-property-play.ts"

const SEED = Number(process.env.AEP_PROPERTY_SEED ?? Number.NaN)
const RUNS = Number(process.env.AEP_PROPERTY_RUNS ?? 10_000)

/** What must have happened, each many times, for the runs to mean something. */
const SITUATIONS = [
  ...["applied reply", "applied hook", "applied answers", "applied dismiss", "answered at the agent"],
  ...[
    "command in time",
    "command too late",
    "command about nothing",
    "command again",
    "decision lost on its way",
  ],
  ...[
    "rejected refused answered",
    "rejected refused expired",
    "rejected refused withdrawn",
    "rejected busy underway",
  ],
  ...["rejected busy offline", "rejected invalid option", "rejected invalid text", "rejected invalid values"],
  ...[
    "rejected invalid subject",
    "rejected invalid answer",
    "resolved answered",
    "resolved auto",
    "resolved dismissed",
  ],
  ...[
    "attention.timeout",
    "x.opencode.attention.unconfirmed",
    "confirmed late",
    "offered again",
    "pending",
    "lapse",
  ],
  ...["restart amid an ask"],
]

test("every request ends once, nothing is allowed that nobody allowed, every decision stays as it was", async () => {
  const plays = new Plays()
  try {
    if (!Number.isNaN(SEED)) {
      const { evidence, story } = await plays.play(SEED)
      process.stdout.write(`${story.join("\n")}\n${evidence.logs.flat().join("\n")}\n`)
      expect(faultsOf(evidence)).toEqual([])
      return
    }
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const { evidence, story } = await plays.play(seed)
      const faults = faultsOf(evidence)
      if (faults.length > 0) {
        throw new Error(`AEP_PROPERTY_SEED=${seed}\n${faults.join("\n")}\n${story.join("\n")}`)
      }
    }
    expect(SITUATIONS.filter((situation) => (plays.situations.get(situation) ?? 0) < 10)).toEqual([])
  } finally {
    plays.close()
  }
}, 120_000)

describe("the judge finds", () => {
  const played: Evidence[] = []
  beforeAll(async () => {
    const plays = new Plays()
    for (let seed = 1; seed <= 200; seed += 1) played.push((await plays.play(seed)).evidence)
    plays.close()
  })

  /** A change of one line of a log: what stands in its place. */
  type Plant = (line: Line, text: string, log: readonly string[]) => readonly object[] | undefined

  const ENDS = /^attention\.(resolved|timeout)$/
  const answer = ({ data }: Line) => (data?.answer ?? {}) as Record<string, unknown>
  const plants: [string, Plant, RegExp][] = [
    ["a request that ends twice", (line) => (ENDS.test(line.type) ? [line, line] : undefined), /has 2 ends/],
    ["a request without an end", (line) => (ENDS.test(line.type) ? [] : undefined), /has 0 ends/],
    [
      "an answer that was not given",
      (line) =>
        line.type === "attention.resolved" && line.data?.resolution === "dismissed"
          ? [{ ...line, type: "attention.answered", data: { answer: { option: "once" }, via: "oob" } }, line]
          : undefined,
      /that the agent never got/,
    ],
    [
      "a refusal told as a consent",
      (line) =>
        line.type === "attention.answered" && answer(line).option === "reject"
          ? [{ ...line, data: { ...line.data, answer: { option: "once" } } }]
          : undefined,
      /a consent to .* that nobody gave/,
    ],
    [
      "an answer in another's name",
      (line) =>
        line.type === "attention.answered" && line.data?.via === "control"
          ? [{ ...line, cause: "CMD-other" }]
          : undefined,
      /caused by CMD-other/,
    ],
    [
      "an answer told as the terminal's",
      (line) =>
        line.type === "attention.answered" && line.data?.via === "control"
          ? [{ ...line, data: { ...line.data, via: "oob" } }]
          : undefined,
      /told as oob/,
    ],
    [
      "two decisions on one command",
      (line) => (line.type.startsWith("control.") ? [line, { ...line, id: "another" }] : undefined),
      /2 decisions on/,
    ],
    [
      "a command without a decision",
      (line) => (line.type.startsWith("control.") ? [] : undefined),
      /no decision on/,
    ],
    [
      "an end after its session's",
      (line, _, log) =>
        ENDS.test(line.type) && log.some((text) => text.includes('"session.ended"'))
          ? [{ ...line, type: "session.ended" }, line]
          : undefined,
      /after the session's end/,
    ],
  ]
  test.each(plants)("%s", (_, plant, words) => {
    for (const evidence of played) {
      for (const [at, log] of evidence.logs.entries()) {
        for (const [nth, text] of log.entries()) {
          const planted = plant(JSON.parse(text), text, log)
          if (planted === undefined) continue
          const lines = planted.map((line) => JSON.stringify(line))
          const other = log.toSpliced(nth, 1, ...lines)
          const faults = faultsOf({ ...evidence, logs: evidence.logs.with(at, other) })
          if (faults.some((fault) => words.test(fault))) return
        }
      }
    }
    throw new Error("nowhere found")
  })

  const roads: [string, (evidence: Evidence) => Evidence | undefined, RegExp][] = [
    [
      "a decision told again with other bytes",
      (evidence) => {
        const [first] = evidence.repeated
        return first === undefined
          ? undefined
          : { ...evidence, repeated: [first.replace('"seq":', '"seq" :')] }
      },
      /with other bytes/,
    ],
    [
      "a consent that its command did not say",
      (evidence) => {
        const refusals = evidence.sent.filter(
          ({ answer: { option } }) => option === "reject" || option === "deny",
        )
        const isRefusal = ({ command }: { command: string }) => refusals.some(({ id }) => id === command)
        return changed(evidence, isRefusal, { isPermissive: true })
      },
      /a consent in the name of/,
    ],
    [
      "a decision that comes late",
      (evidence) => changed(evidence, () => true, { isLate: true }),
      /after the end of/,
    ],
    [
      "a decision about another ask",
      (evidence) => changed(evidence, () => true, { ask: "per_other" }),
      /went to per_other/,
    ],
    [
      "a decision of no command",
      (evidence) => changed(evidence, () => true, { command: "CMD-x" }),
      /nobody sent/,
    ],
  ]
  test.each(roads)("%s", (_, plant, words) => {
    const planted = played.flatMap((evidence) => plant(evidence) ?? [])
    expect(planted.length).toBeGreaterThan(0)
    for (const evidence of planted) {
      expect(faultsOf(evidence)).toContainEqual(expect.stringMatching(words))
    }
  })

  function changed(
    evidence: Evidence,
    fits: (came: Evidence["cameDown"][number]) => boolean,
    members: Partial<Evidence["cameDown"][number]>,
  ): Evidence | undefined {
    const at = evidence.cameDown.findIndex(fits)
    const came = evidence.cameDown[at]
    return came === undefined
      ? undefined
      : { ...evidence, cameDown: evidence.cameDown.with(at, { ...came, ...members }) }
  }
})
