/**
 * `GET /events` and `GET /.well-known/aep`: what this endpoint is and where its doors are (AEP-0003 §3.4). The
 * capabilities are handed in, for the WebSocket hello tells the same.
 */

/** Where the capabilities come from: the block of the hello (AEP-0003 §4.1). */
export interface DiscoveryDoor {
  capabilities: () => Readonly<Record<string, unknown>>
}

/** Paths and no addresses: behind a proxy we do not know our own scheme, and a reader resolves them against where it
 *  found the document. */
const ENDPOINTS = { events: "/events", stream: "/stream", socket: "/socket" }

/** Handles one request that was let in. */
export function discoveryDoor(door: DiscoveryDoor): Response {
  return Response.json(
    { aep: ["0.1"], endpoints: ENDPOINTS, role: "both", capabilities: door.capabilities() },
    { headers: { "cache-control": "no-store" } },
  )
}
