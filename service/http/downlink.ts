/**
 * `GET /opencode/instances/:id/down?nonce=[&answerable=]`: the plugin's long poll. Answers with what was decided for it, each decision
 * proven for this very poll, or with nothing after a while; at once where it is believed to be `answerable` (`true`, `false`) and is
 * not, or the other way round; and renews the instance's lease.
 */
import type { DownAnswer, DownMessage } from "../../shared/moments.ts"
import { DOOR_REMEDY, judgeBearer, refuse } from "./guard.ts"
import { INSTANCE_ID } from "./sound.ts"
import type { Patience } from "./stream.ts"

/** What the door needs. */
export interface DownlinkDoor {
  /** The door credential, as bytes. */
  credential: Buffer
  /** Renews the lease; false when nobody knows the instance: its next batch introduces it. */
  renew: (instance: string) => boolean
  poll: (
    instance: string,
    nonce: string,
    signal: AbortSignal,
    believesAnswerable: boolean | undefined,
  ) => Promise<DownMessage[]>
  /** Whether somebody could answer asks now. */
  isAnswerable: () => boolean
}

const NONCE = /^[A-Za-z0-9._-]{16,128}$/

/** Handles one poll of the instance named in the path. */
export async function downlinkDoor(
  request: Request,
  instance: string,
  door: DownlinkDoor,
  server: Patience | undefined,
): Promise<Response> {
  const refusal = judgeBearer(request.headers, door.credential, DOOR_REMEDY)
  if (refusal !== undefined) return refuse(refusal)
  const { searchParams } = new URL(request.url)
  const nonce = searchParams.get("nonce") ?? ""
  const believed = searchParams.get("answerable")
  if (!INSTANCE_ID.test(instance) || !NONCE.test(nonce)) {
    return refuse({
      status: 400,
      error: "invalid-poll",
      detail: "nonce: give a fresh one of 16 to 128 characters A-Z a-z 0-9 . _ - with each poll",
    })
  }
  if (!door.renew(instance)) {
    return refuse({
      status: 404,
      error: "unknown-instance",
      detail: "no instance of this id has spoken yet; send a batch of moments first",
    })
  }
  server?.timeout(request, 0)
  const believes = believed === null ? undefined : believed === "true"
  const messages = await door.poll(instance, nonce, request.signal, believes)
  return Response.json({ messages, answerable: door.isAnswerable() } satisfies DownAnswer, {
    headers: { "cache-control": "no-store" },
  })
}
