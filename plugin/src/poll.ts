/**
 * One long poll for what was decided, and a verdict on its answer. Bounded in time and in what it reads; never throws; proves
 * nothing and decides nothing about what happens next.
 */
import type { DownMessage } from "../../shared/moments.ts"
import { readText } from "./answer.ts"
import type { Target } from "./config.ts"
import { asFields, asText } from "./fields.ts"

/** What came of a poll. Messages are well formed and not proven yet. */
export type Polled =
  | { kind: "answered"; messages: DownMessage[]; answerable: boolean }
  /** The service does not know this instance (404): it wants to be told of it. */
  | { kind: "unknown" }
  /** The credential is not the service's (401). */
  | { kind: "unauthorized" }
  /** No service, no connection, no time, another status, no sense. */
  | { kind: "failed" }

/** More in one answer is none of ours. */
const MOST_MESSAGES = 1000

/** One poll. */
export interface Poll {
  instance: string
  /** Fresh; what is answered is proven for it. */
  nonce: string
  /** What is believed of `answerable`: the service ends the poll when it is not so. */
  answerable: boolean
  signal: AbortSignal
}

/** Polls over the target's socket, or its URL when it names none. Settles when `signal` aborts at the latest. */
export async function pollDown(
  target: Target,
  credential: string,
  { instance, nonce, answerable, signal }: Poll,
): Promise<Polled> {
  const query = `nonce=${nonce}&answerable=${answerable}`
  try {
    const answer = await fetch(`${target.url}/opencode/instances/${instance}/down?${query}`, {
      headers: { authorization: `Bearer ${credential}` },
      redirect: "error",
      signal,
      ...(target.socket === undefined ? {} : { unix: target.socket }),
    })
    if (answer.ok) return read(JSON.parse(await readText(answer)))
    await answer.body?.cancel()
    if (answer.status === 404) return { kind: "unknown" }
    return { kind: answer.status === 401 ? "unauthorized" : "failed" }
  } catch {
    // Refused, reset, timed out or unreadable: the next poll gets what this one did not.
    return { kind: "failed" }
  }
}

function read(parsed: unknown): Polled {
  const { messages, answerable } = asFields(parsed)
  if (!Array.isArray(messages) || messages.length > MOST_MESSAGES) return { kind: "failed" }
  const sound: DownMessage[] = []
  for (const message of messages) {
    const fields = asFields(message)
    const request = asText(fields.request)
    const decision = asText(fields.decision)
    const proof = asText(fields.proof)
    if (request === undefined || decision === undefined || proof === undefined) continue
    if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(request)) sound.push({ request, decision, proof })
  }
  return { kind: "answered", messages: sound, answerable: answerable === true }
}
