/**
 * `opencode-aep respond`: answers a request of an agent. Exit codes: 0 the answer was applied, 2 a wrong call or no service, 3
 * refused, or the request has ended, 4 nobody said what came of it in time.
 */
import { homedir } from "node:os"
import type { Command } from "commander"
import { ulid } from "ulid"
import type { AepEvent } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import { readAnswer } from "./answer-call.ts"
import { findService, keepProxiesOut, type ServiceAddress } from "./connection.ts"
import { EXITS, explainDecided, WINDOW_MS } from "./decided.ts"
import { readRequests } from "./held-requests.ts"
import type { Output } from "./output.ts"
import { refusalInside } from "./person.ts"
import { type Requests, takesCommands } from "./requests.ts"
import { type Decided, type Frame, sendCommand } from "./sender.ts"
import { visible } from "./visible.ts"

const EXAMPLES = `
The request is named by its id as "opencode-aep pending" shows it; four or more characters of its beginning or end will do
where it is the only one. An option is named by its id or label. A text is an option's id or label, or refuses and is the
reason. Questions take --value for each, with a choice's id or label, or own words where the question takes some; once more
for another choice.
Exit code: 0 applied; 2 a wrong call, or a service that is not there; 3 refused, with the reason; 4 not confirmed in time.

Examples:
  $ opencode-aep respond 01KX2 once
  $ opencode-aep respond 01KX2 reject --text 'use the make target'
  $ opencode-aep respond 01KX2 --value 1=2 --value 2='my own words'
`

/** What becomes of an answer comes within moments; an agent that does not confirm is told of after some seconds. */
const OUTCOME_MS = 12_000
const ENDS = ["attention.answered", "attention.resolved", "attention.timeout"]
const UNCONFIRMED = /^x\.[a-z0-9.-]+\.attention\.unconfirmed$/

const REASONS: Readonly<Record<string, string>> = {
  answered: "the request was answered already",
  expired: "nobody answered the request in time; what the agent asks now is another request",
  withdrawn: "the agent does not wait for this any more",
  stale: "the agent does not wait for this any more",
  oob: "this request can be answered in the agent's own dialog only",
  underway: "another answer is on its way to the agent",
  subject: "the session made no such request",
  option: "there is no such option; next: opencode-aep pending shows them",
  text: "the words name no option; give one by its id",
  form: "there are several questions; give --value for each of them",
  values: "an answer is none that its question takes; next: opencode-aep pending shows them",
}

interface RespondOptions {
  text?: string
  value?: string[]
  session?: string
  json?: boolean
  url?: string
  home?: string
}

/** Adds the command to the program. `exit` takes the code the process shall end with. */
export function addRespond(program: Command, output: Output, exit: (code: number) => void): void {
  const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value]
  program
    .command("respond")
    .summary("answer what an agent waits for")
    .description("Answers a permission prompt or a question of an agent, over the protocol.")
    .argument("<request>", "the request's id")
    .argument("[option]", "the option's id or label")
    .option("--text <words>", "your words: a reason, or an answer")
    .option("--value <question=choice>", "the answer to a question of a form; may be repeated", collect)
    .option("--session <id>", "only a request of this session")
    .option("--json", "the decision and what came of it, one event a line")
    .option("--url <address>", "address of the service")
    .option("--home <folder>", "home of the service (AEP_HOME, ~/.aep)")
    .addHelpText("after", EXAMPLES)
    .action(async (request: string, option: string | undefined, options: RespondOptions) => {
      exit(await run(request, option, options, output))
    })
}

async function run(
  name: string,
  option: string | undefined,
  { text, value, session, json, url, home }: RespondOptions,
  output: Output,
): Promise<number> {
  const { complain } = output
  const stop = (detail: string, code: number): number => {
    complain(detail)
    return code
  }
  const inside = refusalInside("respond", process.env)
  if (inside !== undefined) return stop(inside, EXITS.lost)
  const found = findService({ url, home, env: process.env, userHome: homedir() })
  if (found.kind === "invalid") return stop(found.detail, EXITS.lost)
  const { service } = found
  keepProxiesOut(service)
  const held = await readRequests({ service, session, command: "respond", complain })
  if (held.kind === "failed") return stop(held.detail, EXITS.lost)
  const picked = pick(held.requests, name)
  if (picked.kind === "none") return stop(picked.detail, picked.code)
  const { request } = picked
  const read = readAnswer({ option, text, values: value }, request)
  if (read.kind === "wrong") return stop(`${visible(read.detail)}; next: opencode-aep pending`, EXITS.lost)
  const decided = await send(service, request, read.answer, read.capture)
  if (json === true && "texts" in decided) for (const line of decided.texts) await output.say(line)
  if (decided.kind !== "accepted") {
    return stop(explainDecided(decided, request.session ?? "", REASONS), EXITS[decided.kind])
  }
  const { outcome } = decided
  if (outcome === undefined || UNCONFIRMED.test(String(outcome.type))) {
    return stop(
      "the agent took the answer and does not confirm it; the request is open still: next: opencode-aep pending",
      EXITS.silent,
    )
  }
  if (json !== true) await output.say(`applied: ${visible(request.id)} ${said(outcome)}`)
  return EXITS.accepted
}

/** The one request that is meant, or why there is none. */
function pick(
  requests: Requests,
  name: string,
): { kind: "one"; request: AepEvent } | { kind: "none"; detail: string; code: number } {
  const { open, ended } = requests.named(name)
  const [request, ...others] = open
  if (request === undefined) {
    const detail = `no request ${visible(name)} waits${ended === undefined ? "" : `: ${visible(ended)}`}`
    return { kind: "none", detail: `${detail}; next: opencode-aep pending`, code: EXITS.rejected }
  }
  if (others.length > 0) {
    const ids = open.map(({ id }) => visible(id)).join(", ")
    return {
      kind: "none",
      detail: `${visible(name)} is not one request: ${ids}; give more of its id`,
      code: EXITS.lost,
    }
  }
  if (!takesCommands(request)) {
    return {
      kind: "none",
      detail: `${REASONS.oob}: session ${visible(request.session ?? "")}`,
      code: EXITS.rejected,
    }
  }
  return { kind: "one", request }
}

function send(
  service: ServiceAddress,
  { id, session, agent }: AepEvent,
  answer: Record<string, unknown>,
  capture: "metadata" | "redacted",
): Promise<Decided> {
  return sendCommand(
    {
      type: "control.attention.respond",
      session: session ?? "",
      subject: id,
      cause: id,
      capture,
      data: { answer },
    },
    { service, newId: ulid, now: Date.now, windowMs: WINDOW_MS },
    {
      types: [...ENDS, `x.${agent}.attention.unconfirmed`],
      isIt: ({ type, subject }) =>
        subject === id && (ENDS.includes(String(type)) || UNCONFIRMED.test(String(type))),
      forMs: OUTCOME_MS,
    },
  )
}

/** What was applied, from the record and not from what was sent. */
function said({ data }: Frame): string {
  const answer = isObject(data) && isObject(data.answer) ? data.answer : {}
  return typeof answer.option === "string" ? visible(answer.option) : "as given"
}
