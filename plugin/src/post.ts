/**
 * One request to `POST /opencode/moments` and a verdict on its answer. Bounded in time and in what it reads;
 * never throws; decides nothing about what happens next.
 */
import { readText } from "./answer.ts"
import type { Target } from "./config.ts"
import { isFields } from "./fields.ts"

/** What came of a batch. */
export type Outcome =
  /** Applied below `next`. */
  | { kind: "accepted"; next: number }
  /** The service will not take this batch as it is (400, 413). */
  | { kind: "refused" }
  /** The credential is not the service's (401). */
  | { kind: "unauthorized" }
  /** Nothing can be said about the batch: no service, no connection, no time, another status, no sense. */
  | { kind: "failed" }

/** Sends a body over the target's socket, or its URL when it names none. Settles when `signal` aborts at the latest. */
export async function postMoments(
  target: Target,
  credential: string,
  body: string,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const answer = await fetch(`${target.url}/opencode/moments`, {
      method: "POST",
      headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
      body,
      redirect: "error",
      signal,
      ...(target.socket === undefined ? {} : { unix: target.socket }),
    })
    return await judge(answer)
  } catch {
    // Refused, reset, timed out or unreadable: the caller sends the same indexes again.
    return { kind: "failed" }
  }
}

async function judge(answer: Response): Promise<Outcome> {
  if (answer.ok) {
    const parsed: unknown = JSON.parse(await readText(answer))
    const next = isFields(parsed) ? parsed.next : undefined
    return typeof next === "number" && Number.isSafeInteger(next)
      ? { kind: "accepted", next }
      : { kind: "failed" }
  }
  await answer.body?.cancel()
  if (answer.status === 400 || answer.status === 413) return { kind: "refused" }
  return answer.status === 401 ? { kind: "unauthorized" } : { kind: "failed" }
}
