/**
 * `opencode-aep timeline`: a session's log as people read it, its sub-agents where they were started. Exit codes: 0
 * shown, 1 the file holds no event, 2 it could not be read.
 */
import type { Command } from "commander"
import type { AepEvent } from "../../shared/aep.ts"
import { LogFolder, readEvents } from "./log-events.ts"
import type { Output } from "./output.ts"
import { shownName } from "./read-file.ts"
import { timeline } from "./timeline.ts"

const EXAMPLES = `
One line for each event, in seconds since the session's first one. The logs of sub-agents are looked for beside the file.
Exit code: 0 shown, 1 there is no event in the file, 2 the file could not be read.

Examples:
  $ opencode-aep timeline ~/.aep/logs/opencode/ses_1234.jsonl
  $ opencode-aep timeline --verbose session.jsonl | less
`

/** Adds the command to the program. `exit` takes the code the process shall end with. */
export function addTimeline(program: Command, output: Output, exit: (code: number) => void): void {
  program
    .command("timeline")
    .summary("show a session as a list of what happened")
    .description(
      "Shows the events of a log, one line each: runs, tool calls, prompts and their answers, sub-agents.",
    )
    .argument("<file>", "log file; - reads standard input")
    .option("--verbose", "show machinery (severity debug) too")
    .addHelpText("after", EXAMPLES)
    .action(async (path: string, options: { verbose?: boolean }) => {
      exit(await show(path, options.verbose === true, output))
    })
}

async function show(path: string, verbose: boolean, output: Output): Promise<number> {
  const log = await readEvents(path)
  if (log.kind === "unreadable") {
    output.complain(log.detail)
    return 2
  }
  const name = shownName(path)
  if (log.passedOver > 0) {
    const lines = log.passedOver === 1 ? "1 line is no event" : `${log.passedOver} lines are no events`
    output.complain(`${lines} and not shown; next: opencode-aep validate ${name}`)
  }
  if (log.sessions.length === 0) {
    output.complain(`there is no event in ${name}; next: opencode-aep validate ${name}`)
    return 1
  }
  const folder = new LogFolder(path, log.sessions)
  await folder.load()
  const children = (session: string): readonly AepEvent[] => folder.eventsOf(session)
  let isFirst = true
  for (const events of folder.roots) {
    if (!isFirst) await output.say("")
    isFirst = false
    for (const line of timeline(events, children, { verbose })) await output.say(line)
  }
  for (const session of folder.missing) {
    output.complain(
      `the log of sub-agent ${shownName(session)} is not beside ${name}; its events are not shown`,
    )
  }
  return 0
}
