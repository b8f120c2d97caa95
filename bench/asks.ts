/**
 * Open asks: `bun bench/asks.ts [--quick]`. What 5,000 of them over 50 instances weigh in the service; how long a command takes
 * until the agent is told, beside a bare long poll in the same run; and whether 300 asks in one real agent slow its model calls.
 */
import { CELLS, type Cell, playAgents, type Timed } from "./asks/agents.ts"
import { type CrowdFigures, playCrowd } from "./asks/crowd.ts"
import { median, quantile, row, say } from "./sample.ts"

const quick = process.argv.includes("--quick")
const INSTANCES = quick ? 10 : 50
const COMMANDS = quick ? 400 : 2_000
const ROUNDS = quick ? 2 : 5
const ASKS = quick ? 60 : 300
const PROMPTS = quick ? 6 : 30
const WIDTHS = [36, 24, 24]
const WHAT = ["call", "whole"] as const
const [oursOpen, oursAllowed, emptyOpen, emptyAllowed] = CELLS
/** What is held against what; the last line is what the plugin costs where nothing is asked. */
const COMPARED: readonly [string, Cell, Cell][] = [
  ["ours: asks open, of allowed", oursOpen, oursAllowed],
  ["empty: asks open, of allowed", emptyOpen, emptyAllowed],
  ["asks open: ours, of empty", oursOpen, emptyOpen],
  ["asks allowed: ours, of empty", oursAllowed, emptyAllowed],
]

const rounds: CrowdFigures[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  rounds.push(await playCrowd({ instances: INSTANCES, commands: COMMANDS }))
}
tellCrowd()
await tellAgents()
process.exit()

/** The median of the rounds, and between which it lay. */
function overRounds(of: (figures: CrowdFigures) => number, digits: number, unit: string): string {
  const values = rounds.map(of)
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits))
  return `${median(values).toFixed(digits)}${unit} (${least} to ${most})`
}

function tellCrowd(): void {
  const asks = rounds[0]?.asks ?? 0
  say(`${asks} asks open across ${INSTANCES} instances, ${ROUNDS} fresh services; medians (least to most)`)
  say(`an ask holds ${overRounds(({ live }) => live / 1024, 1, " KiB")} of the service's memory, its events`)
  say(`and history included; resident memory grew by ${overRounds((of) => of.resident / 1024, 1, " KiB")}`)
  say(`\nfrom a command to the agent's client, ${COMMANDS} a service, in turns with a bare long poll`)
  const widths = [14, 24, 24]
  say(row(["", "p50", "p99"], widths))
  for (const name of ["service", "floor"] as const) {
    const cells = [0.5, 0.99].map((share) => overRounds((of) => quantile(of[name], share), 0, " us"))
    say(row([name, ...cells], widths))
  }
  const ratios = [0.5, 0.99].map((share) =>
    overRounds((of) => quantile(of.service, share) / quantile(of.floor, share), 1, "x"),
  )
  say(row(["of the floor", ...ratios], widths))
}

async function tellAgents(): Promise<void> {
  const figures = await playAgents(ASKS, PROMPTS)
  say(
    `\n${figures.open} asks open in one real agent (${figures.label}), against the same calls allowed; four agents in turns, ${PROMPTS} prompts each`,
  )
  say(row(["medians", "model call ms", "prompt ms"], WIDTHS))
  for (const cell of CELLS) {
    const values = WHAT.map((what) => median(timedOf(cell).map((one) => one[what])).toFixed(0))
    say(row([`${cell.plugin} plugin, asks ${cell.asks}`, ...values], WIDTHS))
  }
  say(row(["ratios in a round", ...WHAT.map(() => "median (middle half)")], WIDTHS))
  for (const [name, over, under] of COMPARED) {
    say(row([name, ...WHAT.map((what) => ratioOf(timedOf(over), timedOf(under), what))], WIDTHS))
  }
  say(
    `connections of the two plugins to the service: ${figures.connections}; answered over the protocol afterwards: ${figures.answered} of ${figures.open}; sessions that then came to their end: ${figures.finished} of ${figures.sessions}`,
  )
  if (figures.answered !== figures.open || figures.finished !== figures.sessions) process.exitCode = 1

  function timedOf(cell: Cell): readonly Timed[] {
    return figures.timed.get(cell) ?? []
  }
}

/** Of the same round, so that what else the machine does hits both; with the middle half, without which it says nothing. */
function ratioOf(over: readonly Timed[], under: readonly Timed[], what: keyof Timed): string {
  const ratios = over.map((one, round) => one[what] / (under[round]?.[what] ?? Number.NaN))
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(2))
  return `${middle}x (${low} to ${high})`
}
