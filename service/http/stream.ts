/**
 * `GET /stream`: events as they happen, over SSE (AEP-0003 §3.3), after what is held of them where the reader asks for it.
 * Makes a subscription of a request and ends it with the request; whoever was let in may read everything the hub has.
 */
import type { Hub, Subscription } from "../hub/hub.ts"
import { type Refusal, refuse } from "./guard.ts"
import { StreamBody, type StreamBodyParts } from "./stream-body.ts"
import { readStreamQuery } from "./stream-query.ts"

/** What the door is made of. */
export interface StreamParts extends Omit<StreamBodyParts, "onEnd"> {
  hub: Pick<Hub, "subscribe" | "unsubscribe">
  /** Most positions in one `from`. */
  maxFrom: number
  /** Most streams at once. */
  maxStreams: number
}

/** What a stream needs of the server: to be waited for, or no longer. Seconds; 0 is for ever. */
export interface Patience {
  timeout: (request: Request, seconds: number) => void
}

/** The door with its open streams. */
export interface StreamDoor {
  /** Handles one request that was let in. In process there is no server. */
  open: (request: Request, server: Patience | undefined) => Response
  /** Ends all streams with the comment `: closing {reason}`, and refuses new ones. May be called twice. */
  closeAll: (reason: string) => void
  readonly size: number
}

/** How long the rest of an ended stream may wait for a reader who takes nothing of it. */
const LINGER_S = 30
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // A proxy that buffers would hold events back until its buffer is full.
  "x-accel-buffering": "no",
}

/** Makes the door. */
export function createStreamDoor(parts: StreamParts): StreamDoor {
  const bodies = new Set<StreamBody>()
  let isClosed = false

  const open = (request: Request, server: Patience | undefined): Response => {
    const read = readStreamQuery(request, parts.maxFrom)
    if ("refusal" in read) return refuse(read.refusal)
    if (isClosed) return refuse(STOPPING)
    if (bodies.size >= parts.maxStreams) return refuse(tooMany(parts.maxStreams))
    const { filter, ceiling, from, live } = read.query
    const { timers, softBytes, hardBytes } = parts
    const body: StreamBody = new StreamBody({
      timers,
      softBytes,
      hardBytes,
      onEnd: () => {
        bodies.delete(body)
        parts.hub.unsubscribe(subscription)
        server?.timeout(request, LINGER_S)
      },
    })
    const subscription: Subscription = { id: "stream", filter, ceiling, queue: body.queue }
    bodies.add(body)
    server?.timeout(request, 0)
    request.signal.addEventListener("abort", () => body.finish(), { once: true })
    // Before the answer leaves: what happens while it is on its way is not missed.
    parts.hub.subscribe(subscription, from, live)
    return new Response(body.stream, { headers: HEADERS })
  }

  return {
    open,
    closeAll: (reason) => {
      isClosed = true
      for (const body of [...bodies]) body.end(reason)
    },
    get size() {
      return bodies.size
    },
  }
}

const STOPPING: Refusal = {
  status: 503,
  error: "stopping",
  detail: "the service is about to stop; connect again in a moment",
}

function tooMany(maxStreams: number): Refusal {
  return {
    status: 503,
    error: "too-many-streams",
    detail: `${maxStreams} streams are open already; end one that is not needed, or follow several sessions in one`,
  }
}
