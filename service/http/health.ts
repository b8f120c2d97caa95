/**
 * `GET /healthz`: bare liveness for anyone, counts for whoever shows the token. With no relay configured `relay`
 * says whether the log accepts events.
 */
import { hasBearer } from "./guard.ts"

export interface Health {
  /** False while events cannot be written. */
  ok: boolean
  relay: boolean
  /** Told only with the token. */
  counts: Readonly<Record<string, number | string>>
}

export interface HealthDoor {
  token: Buffer
  health: () => Health
}

/** Handles one request. */
export function healthDoor(request: Request, door: HealthDoor): Response {
  const { ok, relay, counts } = door.health()
  const told = hasBearer(request.headers, door.token) ? { ok, relay, ...counts } : { ok, relay }
  return Response.json(told, { status: ok ? 200 : 503, headers: { "cache-control": "no-store" } })
}
