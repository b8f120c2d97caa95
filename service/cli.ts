#!/usr/bin/env bun
/**
 * The program `opencode-aep <command>`: what people run beside the service. One file a command in `cli/`; here they are
 * put together, and a wrong call gets its exit code 2. Starting the service is `main.ts`.
 */
import { Command, CommanderError } from "commander"
import manifest from "../package.json" with { type: "json" }
import { addCancel } from "./cli/cancel-command.ts"
import { processOutput } from "./cli/output.ts"
import { addPending } from "./cli/pending-command.ts"
import { addRespond } from "./cli/respond-command.ts"
import { addTail } from "./cli/tail-command.ts"
import { addTimeline } from "./cli/timeline-command.ts"
import { addValidate } from "./cli/validate-command.ts"

const EXAMPLES = `
Examples:
  $ opencode-aep tail
  $ opencode-aep pending
  $ opencode-aep respond 01KX2 once
  $ opencode-aep cancel ses_1234
  $ opencode-aep timeline ~/.aep/logs/opencode/ses_1234.jsonl
  $ opencode-aep validate ~/.aep/logs/opencode/*.jsonl

opencode-aep help <command> tells more.
`

/** Exit code of a call that cannot be understood. */
const EXIT_USAGE = 2

const output = processOutput()
const exit = (code: number): void => {
  process.exitCode = code
}

const program = new Command("opencode-aep")
  .description("Shows what your agent sessions do and left on disk, and answers what they ask.")
  .version(manifest.version)
  .exitOverride()
  .showHelpAfterError("next: opencode-aep help <command> shows how it is called, with examples")
  .configureOutput({
    outputError: (text, write) => write(text.replace(/^error: /, "opencode-aep: ")),
  })
  .addHelpText("after", EXAMPLES)
addValidate(program, output, exit)
addTimeline(program, output, exit)
addTail(program, output, exit)
addPending(program, output, exit)
addRespond(program, output, exit)
addCancel(program, output, exit)

try {
  await program.parseAsync(process.argv.slice(2), { from: "user" })
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // It has been said already, by commander: help asked for is 0, all else was a wrong call.
  exit(error.exitCode === 0 ? 0 : EXIT_USAGE)
}
