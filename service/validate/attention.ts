/**
 * The life of an attention request (AEP-0002 §7): requested, routed any number of times, answered or not, and exactly
 * one terminal, before the session ends. `subject` names the request in everything that follows it.
 */
import type { Ask, Asks } from "./asks.ts"
import type { Read, Rule, Tell } from "./event.ts"

const FOLLOWING: ReadonlySet<string> = new Set([
  "attention.routed",
  "attention.answered",
  "attention.resolved",
  "attention.timeout",
  "control.attention.respond",
])

/** The lifecycle rule over the requests it shares with the form rule; it alone changes them. */
export function attention(asks: Asks): Rule {
  return (event, tell) => {
    if (event.type === "attention.requested") asks.add(event)
    else if (event.type === "session.ended") judgeEnd(event, asks, tell)
    else if (FOLLOWING.has(event.type)) follow(event, asks, tell)
  }
}

function judgeEnd({ owner }: Read, asks: Asks, tell: Tell): void {
  if (owner === undefined) return
  for (const { line } of asks.openOf(owner)) {
    tell("attention.open", `the request of line ${line} is still open when the session ends`)
  }
}

function follow(event: Read, asks: Asks, tell: Tell): void {
  if (event.subject === undefined) {
    tell("attention.subject", "subject must be the id of the attention.requested event", "subject")
    return
  }
  const ask = asks.find(event)
  if (ask?.line === undefined) {
    tell(
      "attention.unknown",
      "subject is the id of no attention.requested of this session in the file",
      "subject",
    )
  }
  if (event.type === "attention.answered") answer(event, ask, tell)
  if (event.type === "attention.resolved" || event.type === "attention.timeout") close(event, ask, asks, tell)
}

function answer(event: Read, ask: Ask | undefined, tell: Tell): void {
  if (ask === undefined) return
  if (ask.closed !== undefined) {
    tell("attention.answer", `the request was closed in line ${ask.closed} already`)
  } else if (ask.answered !== undefined) {
    tell("attention.answer", `the request was answered in line ${ask.answered} already`)
  }
  ask.answered ??= event.line
}

function close(event: Read, ask: Ask | undefined, asks: Asks, tell: Tell): void {
  if (ask?.closed !== undefined) {
    tell("attention.terminal", `the request was closed in line ${ask.closed} already`)
    return
  }
  // `resolved{answered}` without an answer before it is what some adapters know to say, and legal.
  const isAnswered = event.type === "attention.resolved" && event.data?.resolution === "answered"
  if (ask?.answered !== undefined && !isAnswered) {
    tell(
      "attention.resolution",
      `the request was answered in line ${ask.answered} and is not closed as answered`,
    )
  }
  asks.close(event, ask)
}
