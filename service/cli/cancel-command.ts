/**
 * `opencode-aep cancel`: stops what an agent is working on. Exit codes: 0 the agent took it, 2 a wrong call or no service, 3
 * refused, 4 no decision in time.
 */
import { homedir } from "node:os"
import type { Command } from "commander"
import { ulid } from "ulid"
import { findService } from "./connection.ts"
import type { Output } from "./output.ts"
import { type Decided, sendCommand } from "./sender.ts"
import { visible } from "./visible.ts"

const EXAMPLES = `
Stops the run that is open in the session: the same as the agent's own interrupt. The session stays, and can be prompted
again. "accepted" means that the agent was told; its record shows what became of the run.
Exit code: 0 accepted; 2 a wrong call, or a service that is not there; 3 refused, with the reason; 4 no decision in time.

Examples:
  $ opencode-aep cancel ses_1234
  $ opencode-aep cancel ses_1234 --run msg_5678      # only if this is still the run
`

const WINDOW_MS = 10_000
const EXITS = { accepted: 0, lost: 2, refused: 3, rejected: 3, silent: 4 } as const

/** Adds the command to the program. `exit` takes the code the process shall end with. */
export function addCancel(program: Command, output: Output, exit: (code: number) => void): void {
  program
    .command("cancel")
    .summary("stop what an agent is working on")
    .description("Stops the open run of a session, over the protocol.")
    .argument("<session>", "the session's id")
    .option("--run <id>", "only this run")
    .option("--url <address>", "address of the service")
    .option("--home <folder>", "home of the service (AEP_HOME, ~/.aep)")
    .addHelpText("after", EXAMPLES)
    .action(async (session: string, options: { run?: string; url?: string; home?: string }) => {
      exit(await run(session, options, output))
    })
}

async function run(
  session: string,
  { run: runId, url, home }: { run?: string; url?: string; home?: string },
  output: Output,
): Promise<number> {
  // Commands come from people. What an agent runs may read this home, but not command with it.
  if (process.env.OPENCODE !== undefined || process.env.AGENT !== undefined) {
    output.complain(
      "cancel does not run inside an agent (OPENCODE or AGENT is set); call it from a terminal of your own",
    )
    return EXITS.lost
  }
  const found = findService({ url, home, env: process.env, userHome: homedir() })
  if (found.kind === "invalid") {
    output.complain(found.detail)
    return EXITS.lost
  }
  const decided = await sendCommand(
    {
      type: "control.cancel",
      session,
      ...(runId === undefined ? {} : { run: runId }),
      data: { scope: "run" },
    },
    { service: found.service, newId: ulid, now: Date.now, windowMs: WINDOW_MS },
  )
  if (decided.kind === "accepted")
    await output.say(`accepted: the agent was told to stop ${visible(session)}`)
  else output.complain(explain(decided, session))
  return EXITS[decided.kind]
}

const REASONS: Readonly<Record<string, string>> = {
  refused: "there is no such open run; next: opencode-aep tail --session shows what it does",
  busy: "the agent does not listen just now; try again in a few seconds",
  invalid: "the service does not understand the command; is it of this version?",
  unsupported: "the session's owner takes no such command",
  unauthorized: "the service does not take the token; next: check AEP_TOKEN, or the file token in its home",
}

function explain(decided: Exclude<Decided, { kind: "accepted" }>, session: string): string {
  switch (decided.kind) {
    case "rejected":
      return `rejected (${visible(decided.reason)}): ${REASONS[decided.reason] ?? "the owner of the session said no"}`
    case "refused":
      return decided.code === "no-route"
        ? `no agent that runs now speaks for ${visible(session)}; next: opencode-aep tail shows who works`
        : `refused (${visible(decided.code)}): ${REASONS[decided.code] ?? visible(decided.detail)}`
    case "silent":
      return "no decision within 10 s; what became of it is in the session's record"
    case "lost":
      return `${decided.why}; next: start it with bun run service, or name another with --url`
  }
}
