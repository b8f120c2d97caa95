/**
 * `opencode-aep pending`: what agents wait for an answer to, and the calls that give it. Exit codes: 0 told, also that nothing
 * waits; 2 a wrong call, or a service that is not there or refuses.
 */
import { homedir } from "node:os"
import type { Command } from "commander"
import type { AepEvent } from "../../shared/aep.ts"
import { findService, keepProxiesOut } from "./connection.ts"
import { readRequests } from "./held-requests.ts"
import type { Output } from "./output.ts"
import { requestLines } from "./request-lines.ts"
import type { Change } from "./requests.ts"
import { visible } from "./visible.ts"

const EXAMPLES = `
Shows permission prompts and questions that wait, of all agents of the service, with what can be answered and the call that
does it. The agents' own dialogs stay open meanwhile; whoever is first decides.
Exit code: 0 told, also that nothing waits; 2 a wrong call, or a service that is not there or refuses.

Examples:
  $ opencode-aep pending
  $ opencode-aep pending --watch                     # and what comes, until ctrl+c
  $ opencode-aep pending --session ses_1234 --json | jq -r .data.prompt
`

interface PendingOptions {
  session?: string
  watch?: boolean
  json?: boolean
  url?: string
  home?: string
}

/** Adds the command to the program. `exit` takes the code the process shall end with. */
export function addPending(program: Command, output: Output, exit: (code: number) => void): void {
  program
    .command("pending")
    .summary("show what waits for an answer")
    .description("Shows the requests of agents that nobody has answered yet.")
    .option("--session <id>", "only this session")
    .option("--watch", "go on with what comes, and with how it ends")
    .option("--json", "one event a line, as received")
    .option("--url <address>", "address of the service")
    .option("--home <folder>", "home of the service (AEP_HOME, ~/.aep)")
    .addHelpText("after", EXAMPLES)
    .action(async (options: PendingOptions) => {
      exit(await run(options, output))
    })
}

async function run({ session, watch, json, url, home }: PendingOptions, output: Output): Promise<number> {
  const { say, complain } = output
  const found = findService({ url, home, env: process.env, userHome: homedir() })
  if (found.kind === "invalid") {
    complain(`${visible(found.detail)}; next: opencode-aep help pending`)
    return 2
  }
  const { service } = found
  keepProxiesOut(service)
  const held = await readRequests({ service, session, command: "pending", complain })
  if (held.kind === "failed") {
    complain(held.detail)
    return 2
  }
  const show = async (request: AepEvent): Promise<void> => {
    if (json === true) await say(JSON.stringify(request))
    else for (const line of ["", ...requestLines(request, Date.now())]) await say(line)
  }
  const { open } = held.requests
  for (const request of open) await show(request)
  if (open.length === 0)
    complain(watch === true ? "nothing waits now; waiting for what comes" : "nothing waits")
  if (watch !== true) return 0

  const wish = new AbortController()
  process.once("SIGINT", () => wish.abort())
  const followed = await held.follow({
    onChange: async (change: Change, text) => {
      if (json === true) await say(text)
      else if (change.kind === "asked") await show(change.request)
      else await say(visible(`${change.request.id}  ${change.how}`))
    },
    signal: wish.signal,
  })
  if (followed.kind === "ended") return 0
  complain(followed.detail)
  return 2
}
