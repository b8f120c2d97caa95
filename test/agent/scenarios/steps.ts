/**
 * What several scenarios do and expect: calls as script lines, a prompt, the wait for the agent's idle, and the
 * digests every run begins with.
 */
import type { Client } from "../client.ts"

/** Every wait for the agent itself; a loaded machine may need it, a good one does not come near. */
export const AGENT_MS = 20_000

/** A scenario driven over the API with the file in the project's folder alone. */
export const SERVE = { mode: "serve", copies: "project", budgetMs: 10_000 } as const

/** The lines of a session that was prompted by a person. */
export const START = ["session.started", "run.started user"]

/** A tool call as a script line. */
export const call = (tool: string, args: Record<string, unknown>) => `RUN: ${tool} ${JSON.stringify(args)}`

/** A call that asks first, and what stands in the log when it does. */
export const touch = call("bash", { command: "echo hi > made.txt", description: "makes a file" })
export const ASK = asks("bash")
export const ASKED = [...START, "tool.requested bash", ASK]

/** The line of an ask by that rule. */
export function asks(rule: string): string {
  return `attention.requested permission ${rule} once|always|reject`
}

/** The lines of an answer in the agent's own dialog. */
export const answered = (reply: string) => [`attention.answered ${reply} oob`, "attention.resolved answered"]

/** One more call in the answer of the `call` before it. */
export const and = (tool: string, args: Record<string, unknown>) => `AND: ${tool} ${JSON.stringify(args)}`

/** A call that needs no leave. */
export const read = (file: string) => call("read", { filePath: file })

/** A new session with that title and a first prompt; its id. */
export async function begin(agent: Client, title: string, text: string): Promise<string> {
  const session = await agent.createSession(title)
  await agent.prompt(session, text)
  return session
}

/** Waits until the session went idle `times` times since it was made. */
export async function idle(agent: Client, session: string, times = 1): Promise<void> {
  const isIdle = (event: { type: string; properties: Record<string, unknown> }) =>
    event.type === "session.idle" && event.properties.sessionID === session
  await agent.bus.until(`idle ${times} of ${session}`, AGENT_MS, isIdle, times)
}

/** Answers the asks of a session one after the other, so many of them. */
export async function allow(agent: Client, session: string, count: number): Promise<void> {
  for (let nth = 1; nth <= count; nth += 1) {
    await agent.answerAsk(session, await agent.ask(session, AGENT_MS, nth), "once")
  }
}

/** Waits until the model was asked for an answer it will never give. */
export async function answering(agent: Client, session: string): Promise<void> {
  const isAnswer = (info: unknown) => {
    const { role, sessionID } = (info ?? {}) as { role?: unknown; sessionID?: unknown }
    return role === "assistant" && sessionID === session
  }
  await agent.bus.until(
    `answer in ${session}`,
    AGENT_MS,
    ({ type, properties }) => type === "message.updated" && isAnswer(properties.info),
  )
}

/** Waits for the session's sub-agent; the session of it. */
export async function childOf(agent: Client, session: string): Promise<string> {
  const parentOf = (info: unknown) => (info as { parentID?: unknown } | undefined)?.parentID
  const made = await agent.bus.until(
    `child of ${session}`,
    AGENT_MS,
    ({ type, properties }) => type === "session.created" && parentOf(properties.info) === session,
  )
  return (made.properties.info as { id: string }).id
}

/** Waits until the agent waits to try its provider again. */
export async function retrying(agent: Client, session: string): Promise<void> {
  const isRetry = (status: unknown) => (status as { type?: unknown } | undefined)?.type === "retry"
  await agent.bus.until(
    `retry in ${session}`,
    AGENT_MS,
    ({ type, properties }) =>
      properties.sessionID === session &&
      // Kilo asks whether the network is back.
      (type === "session.network.asked" || (type === "session.status" && isRetry(properties.status))),
  )
}
