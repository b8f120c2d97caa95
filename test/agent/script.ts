/**
 * The language that steers the scripted model, and what a script says next. Pure: text and position in, answer
 * out. A script is a user message; each line is one step, and a step is one answer of the model:
 *
 *   RUN: bash {"command":"ls"}   one tool call        AND: read {...}   one more in the same answer
 *   SAY: text                    an answer that ends  SAY*20: text      the same in 20 deltas
 *   LENGTH: text                 cut short by length  THINK: text       reasoning in front of the next step
 *   ERR: 429 times=2 retry-after-ms=50                HANG:             no answer, ever
 *   ERR: 400 because it is long  an error's message   CUT: text         a delta, then the connection drops
 *
 * An error comes for ever unless `times` says otherwise, a cut comes once. After its last step a script answers `done.`; a message without a step is answered with `ok.`.
 */

export interface ToolCall {
  tool: string
  args: Record<string, unknown>
}

/** One answer of the model. */
export type Step =
  | { kind: "calls"; calls: ToolCall[]; thought?: string }
  | { kind: "say"; text: string; deltas: number; finish: "stop" | "length"; thought?: string }
  | { kind: "error"; status: number; times: number; headers: Record<string, string>; message: string }
  | { kind: "hang" }
  | { kind: "cut"; text: string; times: number }

const LINE = /^(RUN|AND|SAY|LENGTH|THINK|ERR|HANG|CUT)(?:\*(\d+))?:\s?(.*)$/

/** The steps of a message; none when it holds no line of the language. Throws on a line it cannot read. */
export function parseScript(text: string): Step[] {
  const steps: Step[] = []
  let thought: { thought?: string } = {}
  for (const line of text.split("\n")) {
    const found = LINE.exec(line.trim())
    if (found === null) continue
    const [, word = "", count = "1", rest = ""] = found
    if (word === "THINK") {
      thought = { thought: rest }
      continue
    }
    const last = steps.at(-1)
    if (word === "AND") {
      if (last?.kind !== "calls") throw new Error(`AND without a RUN before it: ${line}`)
      last.calls.push(parseCall(rest))
      continue
    }
    steps.push(parseStep(word, rest, Number(count), thought))
    thought = {}
  }
  return steps
}

function parseStep(word: string, rest: string, count: number, thought: { thought?: string }): Step {
  switch (word) {
    case "RUN":
      return { kind: "calls", calls: [parseCall(rest)], ...thought }
    case "SAY":
      return { kind: "say", text: rest, deltas: count, finish: "stop", ...thought }
    case "LENGTH":
      return { kind: "say", text: rest, deltas: count, finish: "length", ...thought }
    case "ERR":
      return parseError(rest)
    case "CUT":
      return { kind: "cut", text: rest, times: 1 }
    default:
      return { kind: "hang" }
  }
}

function parseCall(rest: string): ToolCall {
  const space = rest.indexOf(" ")
  if (space < 0) return { tool: rest, args: {} }
  return { tool: rest.slice(0, space), args: JSON.parse(rest.slice(space + 1)) as Record<string, unknown> }
}

function parseError(rest: string): Step {
  const [facts = "", reason] = rest.split(" because ")
  const [status = "500", ...options] = facts.split(/\s+/)
  const headers: Record<string, string> = {}
  let times = Number.POSITIVE_INFINITY
  for (const option of options) {
    const [name = "", value = ""] = option.split("=")
    if (name === "times") times = Number(value)
    else headers[name] = value
  }
  return { kind: "error", status: Number(status), times, headers, message: reason ?? `scripted ${status}` }
}

/** A message of a chat request, as far as a script looks at it. */
export interface ChatMessage {
  role: string
  content?: unknown
}

/**
 * Where a conversation stands: the script of the last user message that holds one (agents slip reminders in as
 * user messages of their own), and how many answers were given to it. Undefined when no message holds one.
 */
export function findScript(messages: ChatMessage[]): { script: string; answered: number } | undefined {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index]
    if (message?.role !== "user") continue
    const script = textOf(message.content)
    if (parseScript(script).length === 0) continue
    const answered = messages.slice(index + 1).filter(({ role }) => role === "assistant").length
    return { script, answered }
  }
  return undefined
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content
    .map((part: { text?: unknown }) => (typeof part.text === "string" ? part.text : ""))
    .join("\n")
}
