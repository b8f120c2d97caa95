/**
 * `opencode-aep tail`: what sessions do, as they do it, from the service's stream. Exit codes: 0 ended as asked, 1 nothing
 * matched and nothing was waited for, 2 a wrong call, or a service that is not there, refuses, or is lost for good.
 */
import { homedir } from "node:os"
import { type Command, Option } from "commander"
import { CAPTURES, SEVERITIES } from "../../shared/aep.ts"
import type { Message } from "../hub/message.ts"
import { findService, keepProxiesOut, openStream } from "./connection.ts"
import { explainFailure } from "./failures.ts"
import { LiveLines } from "./live-lines.ts"
import type { Output } from "./output.ts"
import { Progress } from "./progress.ts"
import { tail } from "./tail.ts"
import { filterOf, readFromOption, type TailOptions } from "./tail-call.ts"
import { visible } from "./visible.ts"

const EXAMPLES = `
The service is found by --url, else by plugin.json in its home, else at http://127.0.0.1:8390. Its token is read from
AEP_TOKEN, else, for a service on this machine, from the file token in its home.
A lost connection is taken up again where it was. Of sessions that began while it was lost, --from all shows everything, any
other start what they do from then on.
Exit code: 0 ended as asked, also by ctrl+c; 1 nothing matched with --no-follow; 2 a wrong call, a service that is not
there or refuses, or with --no-retry a lost connection.

Examples:
  $ opencode-aep tail
  $ opencode-aep tail --type 'attention.*' --type 'run.*'
  $ opencode-aep tail --session ses_1234 --from all --verbose
  $ opencode-aep tail --json --severity warning | jq -r .type
  $ opencode-aep tail --json --no-follow --from ses_1234:0:17
  $ opencode-aep tail --filter '{"agent":["opencode","kilo"],"severity":{"lte":"info"}}'
`

const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value]

/** Adds the command to the program. `exit` takes the code the process shall end with. */
export function addTail(program: Command, output: Output, exit: (code: number) => void): void {
  program
    .command("tail")
    .summary("show what sessions do, as they do it")
    .description(
      "Shows the events of a running service as they happen, and after --from what it still holds.",
    )
    .option("--url <address>", "address of the service")
    .option("--home <folder>", "home of the service (AEP_HOME, ~/.aep)")
    .option("--session <id>", "only this session")
    .option("--agent <name>", "only this agent")
    .option("--type <pattern>", "only this type, or all below it as in 'tool.*'; may be repeated", collect)
    .addOption(new Option("--severity <least>", "only what matters as much").choices([...SEVERITIES]))
    .addOption(
      new Option("--filter <json>", "any other filter, as attr-match (AEP-0003 §6)").conflicts([
        "session",
        "agent",
        "type",
        "severity",
      ]),
    )
    .addOption(new Option("--capture <level>", "the most an event tells").choices([...CAPTURES]))
    .option(
      "--from <start>",
      "all, or a position session:epoch:seq to go on behind; that may be repeated",
      collect,
    )
    .option("--no-follow", "show what is held and end")
    .option("--no-retry", "end when the connection is lost")
    .option("--json", "one event a line, as received")
    .addOption(new Option("--timeline", "as people read it (the default)").conflicts("json"))
    .option("--verbose", "show machinery (severity debug) in the timeline too")
    .addHelpText("after", EXAMPLES)
    .action(async (options: TailOptions) => {
      exit(await run(options, output))
    })
}

async function run(options: TailOptions, output: Output): Promise<number> {
  const start = readFromOption(options)
  if ("fault" in start) return wrong(output, start.fault)
  const { url, home, capture, follow, retry } = options
  const found = findService({ url, home, env: process.env, userHome: homedir() })
  if (found.kind === "invalid") return wrong(output, found.detail)
  const { service } = found
  keepProxiesOut(service)

  const wish = new AbortController()
  const end = (): void => wish.abort()
  // Once: whoever presses again while the last line cannot be written means it.
  process.once("SIGINT", end)
  const ending = await tail({
    open: (request, signal) => openStream(service, request, signal),
    request: { filter: filterOf(options), capture, live: follow },
    retries: retry,
    progress: new Progress(start.from),
    show: shower(options, output),
    complain: output.complain,
    explain: (failure) => explainFailure(service, failure, "tail"),
    timers: {
      set: (task, afterMs) => setTimeout(task, afterMs),
      clear: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout> | undefined),
    },
    random: Math.random,
    signal: wish.signal,
  })
  process.removeListener("SIGINT", end)
  if (ending.kind === "failed") {
    output.complain(ending.detail)
    return 2
  }
  if (follow || ending.events > 0 || wish.signal.aborted) return 0
  output.complain("nothing that is held matches; next: opencode-aep tail waits for what comes")
  return 1
}

function wrong(output: Output, detail: string): number {
  output.complain(`${visible(detail)}; next: opencode-aep help tail`)
  return 2
}

function shower({ json, verbose }: TailOptions, { say }: Output): (message: Message) => Promise<void> {
  if (json === true) return ({ text }) => say(text)
  const lines = new LiveLines(verbose === true)
  return async ({ event }) => {
    for (const line of lines.next(event)) await say(line)
  }
}
