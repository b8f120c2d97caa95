/**
 * `POST /opencode/moments`: the plugin's uplink. Reads one bounded JSON body, hands its moments to the intake and
 * answers when they are durable: 202 `{next, rejected, degraded?}`. A malformed moment is a counted rejection, the
 * rest of the batch is kept; only an unreadable body or shell is a 400.
 */
import type { MomentAck } from "../../shared/moments.ts"
import { DOOR_REMEDY, judgeBearer, judgeBody, refuse, tooLarge } from "./guard.ts"
import { readShell, type Shell } from "./moments-body.ts"

export interface MomentsDoor {
  /** The door credential, as bytes. */
  credential: Buffer
  maxBody: number
  maxBatch: number
  /** Applies a batch and makes it durable before returning. */
  apply: (shell: Shell) => MomentAck
}

/** Handles one request. */
export async function momentsDoor(request: Request, door: MomentsDoor): Promise<Response> {
  const refusal =
    judgeBearer(request.headers, door.credential, DOOR_REMEDY) ?? judgeBody(request.headers, door.maxBody)
  if (refusal !== undefined) return refuse(refusal)
  const text = await readText(request)
  if (text === undefined) return badRequest("the body ended before it was whole")
  // A chunked body declares no length.
  if (isLonger(text, door.maxBody)) return refuse(tooLarge(door.maxBody))
  const body = parseJson(text)
  if (body === undefined) return badRequest("the body is not JSON")
  const read = readShell(body.value, text.length, door.maxBatch)
  if ("fault" in read) return badRequest(read.fault)
  return Response.json(door.apply(read.shell), { status: 202 })
}

async function readText(request: Request): Promise<string | undefined> {
  try {
    return await request.text()
  } catch {
    // The sender went away: no fault of ours, and nobody is left to be answered.
    return undefined
  }
}

/** Whether a text takes more bytes than the bound. No character takes more than three a unit, so few are counted. */
function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes
}

/** The error text of the parser quotes the input, so it is not passed on. */
function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    // Told to the sender as a 400 by the caller.
    return undefined
  }
}

function badRequest(detail: string): Response {
  return refuse({ status: 400, error: "invalid-batch", detail })
}
