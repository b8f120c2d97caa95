/**
 * `opencode-aep validate`: reads files, has `service/validate` judge them and prints what it found, for people or as one
 * JSON document. Exit codes: 0 valid, 1 problems, 2 something could not be read.
 */
import type { Command } from "commander"
import type { Finding } from "../validate/codes.ts"
import { type Counts, Validator } from "../validate/validator.ts"
import type { Output } from "./output.ts"
import { type FileRead, readChunks, shownName } from "./read-file.ts"

interface Options {
  json?: boolean
  strict?: boolean
}

/** One file judged. `findings` holds the first `MAX_FINDINGS`; the counts count all. */
interface Judged {
  path: string
  counts: Counts
  findings: Finding[]
  outcome: FileRead
}

/** Findings of one file that are shown; a file with more is broken in one way many times. */
const MAX_FINDINGS = 1000

const EXAMPLES = `
Prints one line for each finding, file:line: code: what is wrong (the section that demands it), and a summary.
Exit code: 0 valid (warnings are no failure), 1 problems, 2 a file could not be read.

Examples:
  $ opencode-aep validate ~/.aep/logs/opencode/*.jsonl
  $ opencode-aep validate --strict --json session.jsonl
  $ tail -n 100 session.jsonl | opencode-aep validate -
`

/** Adds the command to the program. `exit` takes the code the process shall end with. */
export function addValidate(program: Command, output: Output, exit: (code: number) => void): void {
  program
    .command("validate")
    .summary("check event logs against the protocol")
    .description(
      "Checks files of events (AEP 0.1, one JSON object a line) against the protocol, rule by rule.",
    )
    .argument("<files...>", "log files; - reads standard input")
    .option(
      "--strict",
      "hold them to the invariants of this service's own logs too; doubts count as problems",
    )
    .option("--json", "print one JSON document instead of lines")
    .addHelpText("after", EXAMPLES)
    .action(async (files: string[], options: Options) => {
      const judged: Judged[] = []
      for (const path of files) judged.push(await judge(path, options.strict === true))
      if (options.json === true) await output.say(JSON.stringify(asDocument(judged, options), null, 2))
      else await print(judged, options, output)
      for (const { outcome } of judged) if (outcome.kind === "unreadable") output.complain(outcome.detail)
      exit(exitCode(judged))
    })
}

async function judge(path: string, isStrict: boolean): Promise<Judged> {
  const findings: Finding[] = []
  const validator = new Validator({
    isStrict,
    hash: (text) => Number(BigInt.asUintN(53, BigInt(Bun.hash(text)))),
    onFinding: (finding) => {
      if (findings.length < MAX_FINDINGS) findings.push(finding)
    },
  })
  const outcome = await readChunks(path, (chunk) => validator.push(chunk))
  return { path, outcome, counts: validator.end(), findings }
}

function exitCode(judged: readonly Judged[]): number {
  if (judged.some(({ outcome }) => outcome.kind === "unreadable")) return 2
  return judged.some(({ counts }) => counts.errors > 0) ? 1 : 0
}

async function print(judged: readonly Judged[], options: Options, output: Output): Promise<void> {
  for (const { path, findings, counts } of judged) {
    const name = shownName(path)
    for (const { line, code, severity, detail, rule } of findings) {
      const mark = severity === "warning" ? "warning " : ""
      await output.say(`${name}:${line}: ${mark}${code}: ${detail} (${rule})`)
    }
    const left = counts.errors + counts.warnings - findings.length
    if (left > 0) await output.say(`${name}: ${left} more findings are not shown; --json counts them all`)
  }
  const read = judged.filter(({ outcome }) => outcome.kind === "read")
  if (read.length > 0) await output.say(summary(read, options.strict === true))
}

function summary(judged: readonly Judged[], isStrict: boolean): string {
  const sum = (name: keyof Counts) => judged.reduce((total, { counts }) => total + counts[name], 0)
  const amount = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`
  const errors = sum("errors")
  const [only] = judged
  const where = judged.length === 1 && only ? shownName(only.path) : amount(judged.length, "file")
  const held = `${amount(sum("events"), "event")} in ${amount(sum("sessions"), "session")}`
  const asides = [
    ...(sum("warnings") === 0 ? [] : [amount(sum("warnings"), "warning")]),
    ...(sum("skipped") === 0 ? [] : [`${amount(sum("skipped"), "line")} of another version passed over`]),
    ...(isStrict ? ["strict"] : []),
  ]
  const aside = asides.length === 0 ? "" : ` (${asides.join(", ")})`
  if (errors > 0) return `${amount(errors, "problem")} in ${where}, ${held}${aside}`
  return `${held}${judged.length === 1 ? "" : ` of ${where}`}: valid${aside}`
}

/** The document of `--json`: totals, then each file with its counts and findings. */
function asDocument(judged: readonly Judged[], options: Options): unknown {
  const sum = (name: keyof Counts) => judged.reduce((total, { counts }) => total + counts[name], 0)
  return {
    valid: exitCode(judged) === 0,
    strict: options.strict === true,
    errors: sum("errors"),
    warnings: sum("warnings"),
    files: judged.map(({ path, outcome, counts, findings }) =>
      outcome.kind === "unreadable"
        ? { file: path, unreadable: { code: outcome.code, detail: outcome.detail } }
        : {
            file: path,
            ...counts,
            findings,
            omitted: counts.errors + counts.warnings - findings.length,
          },
    ),
  }
}
