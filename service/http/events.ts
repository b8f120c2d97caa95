/**
 * `POST /events` (AEP-0003 §3.2): events of others come in, one or many a request, all or none. Answers 202 once they are
 * with the hub, whose copies are the bytes that were posted; they are not written to our log. Commands do not ride here.
 */
import type { Message } from "../hub/message.ts"
import { type BatchRules, readLines, readSingle } from "./events-body.ts"
import { judgeLength, mediaTypeOf, refuse, tooLarge, wrongType } from "./guard.ts"

/** Bounds of the door and where its events go. */
export interface EventsDoor extends BatchRules {
  maxBody: number
  publish: (messages: readonly Message[]) => void
}

const VERSION = "0.1"
const READERS = { "application/json": readSingle, "application/x-ndjson": readLines }

/** Handles one request that was let in. The version is judged before the body is read: another version's body may mean
 *  anything. */
export async function eventsDoor(request: Request, door: EventsDoor): Promise<Response> {
  if (request.headers.get("aep-version")?.trim() !== VERSION) {
    return Response.json({ versions: [VERSION] }, { status: 426 })
  }
  const type = mediaTypeOf(request.headers)
  if (type !== "application/json" && type !== "application/x-ndjson") {
    return refuse(wrongType("application/json, or application/x-ndjson for one event a line"))
  }
  const refusal = judgeLength(request.headers, door.maxBody)
  if (refusal !== undefined) return refuse(refusal)
  const bytes = await readBytes(request)
  if (bytes === undefined) {
    return refuse({ status: 400, error: "invalid-event", detail: "the body ended before it was whole" })
  }
  // A chunked body declares no length.
  if (bytes.length > door.maxBody) return refuse(tooLarge(door.maxBody))
  const batch = READERS[type](bytes, door)
  if (batch.kind === "refused") return refuse(batch.refusal)
  door.publish(batch.messages)
  return Response.json({ accepted: batch.messages.length }, { status: 202 })
}

async function readBytes(request: Request): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await request.arrayBuffer())
  } catch {
    // The sender went away: no fault of ours, and nobody is left to be answered.
    return undefined
  }
}
