/**
 * `opencode-aep cancel`: stops what an agent is working on. Exit codes: 0 the agent took it, 2 a wrong call or no service, 3
 * refused, 4 no decision in time.
 */
import { homedir } from "node:os"
import type { Command } from "commander"
import { ulid } from "ulid"
import { findService, keepProxiesOut } from "./connection.ts"
import { EXITS, explainDecided, WINDOW_MS } from "./decided.ts"
import type { Output } from "./output.ts"
import { refusalInside } from "./person.ts"
import { sendCommand } from "./sender.ts"
import { visible } from "./visible.ts"

const EXAMPLES = `
Stops the run that is open in the session: the same as the agent's own interrupt. The session stays, and can be prompted
again. "accepted" means that the agent was told; its record shows what became of the run.
Exit code: 0 accepted; 2 a wrong call, or a service that is not there; 3 refused, with the reason; 4 no decision in time.

Examples:
  $ opencode-aep cancel ses_1234
  $ opencode-aep cancel ses_1234 --run msg_5678      # only if this is still the run
`

const REASONS = { refused: "there is no such open run; next: opencode-aep tail --session shows what it does" }

interface CancelOptions {
  run?: string
  json?: boolean
  url?: string
  home?: string
}

/** Adds the command to the program. `exit` takes the code the process shall end with. */
export function addCancel(program: Command, output: Output, exit: (code: number) => void): void {
  program
    .command("cancel")
    .summary("stop what an agent is working on")
    .description("Stops the open run of a session, over the protocol.")
    .argument("<session>", "the session's id")
    .option("--run <id>", "only this run")
    .option("--json", "the decision, as received")
    .option("--url <address>", "address of the service")
    .option("--home <folder>", "home of the service (AEP_HOME, ~/.aep)")
    .addHelpText("after", EXAMPLES)
    .action(async (session: string, options: CancelOptions) => {
      exit(await run(session, options, output))
    })
}

async function run(
  session: string,
  { run: runId, json, url, home }: CancelOptions,
  output: Output,
): Promise<number> {
  const inside = refusalInside("cancel", process.env)
  if (inside !== undefined) {
    output.complain(inside)
    return EXITS.lost
  }
  const found = findService({ url, home, env: process.env, userHome: homedir() })
  if (found.kind === "invalid") {
    output.complain(found.detail)
    return EXITS.lost
  }
  keepProxiesOut(found.service)
  const decided = await sendCommand(
    {
      type: "control.cancel",
      session,
      ...(runId === undefined ? {} : { run: runId }),
      capture: "metadata",
      data: { scope: "run" },
    },
    { service: found.service, newId: ulid, now: Date.now, windowMs: WINDOW_MS },
  )
  if (json === true && "texts" in decided) for (const line of decided.texts) await output.say(line)
  if (decided.kind !== "accepted") output.complain(explainDecided(decided, session, REASONS))
  else if (json !== true) await output.say(`accepted: the agent was told to stop ${visible(session)}`)
  return EXITS[decided.kind]
}
