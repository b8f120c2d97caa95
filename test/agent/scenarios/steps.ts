/**
 * What several scenarios do and expect: calls as script lines, a prompt, the wait for the agent's idle, and the
 * digests every run begins with.
 */
import type { Served } from "../serve.ts"

/** Every wait for the agent itself; a loaded machine may need it, a good one does not come near. */
export const AGENT_MS = 20_000

/** The lines of a session that was prompted by a person. */
export const START = ["session.started", "run.started user"]

/** A tool call as a script line. */
export const call = (tool: string, args: Record<string, unknown>) => `RUN: ${tool} ${JSON.stringify(args)}`

/** A call that asks first, and what stands in the log when it does. */
export const touch = call("bash", { command: "echo hi > made.txt", description: "makes a file" })
export const ASK = "attention.requested permission bash once|always|reject"
export const ASKED = [...START, "tool.requested bash", ASK]

/** A call that needs no leave. */
export const read = (file: string) => call("read", { filePath: file })

/** A new session with that title and a first prompt; its id. */
export async function begin(agent: Served, title: string, text: string): Promise<string> {
  const session = await agent.createSession(title)
  await agent.prompt(session, text)
  return session
}

/** Waits until the session went idle `times` times since it was made. */
export async function idle(agent: Served, session: string, times = 1): Promise<void> {
  const isIdle = (event: { type: string; properties: Record<string, unknown> }) =>
    event.type === "session.idle" && event.properties.sessionID === session
  await agent.bus.until(`idle ${times} of ${session}`, AGENT_MS, isIdle, times)
}
