/**
 * The doors of the embedded AEP endpoint as routes: for each what must be passed (Host, Origin, token), and what a page of
 * another origin is told. `app.ts` opens them beside the plugin's.
 */
import { type AccessPolicy, judgeAccess } from "./access.ts"
import { answerPreflight, shareWithOrigin } from "./cors.ts"
import { type DiscoveryDoor, discoveryDoor } from "./discovery.ts"
import { type EventsDoor, eventsDoor } from "./events.ts"
import { type GuardPolicy, judgeOrigin, type Refusal, refuse } from "./guard.ts"
import { type MetricsDoor, metricsDoor } from "./metrics.ts"
import type { SocketData, SocketDoor } from "./socket.ts"
import type { StreamDoor } from "./stream.ts"

/** What the routes are made of. */
export interface AepDoors {
  access: AccessPolicy
  discovery: DiscoveryDoor
  events: EventsDoor
  stream: Pick<StreamDoor, "open">
  socket: Pick<SocketDoor, "upgrade">
  metrics: MetricsDoor
}

/** The server a request came in by; none in process. */
export type Server = Bun.Server<SocketData> | undefined

/** Handles requests of one method at one path. */
export type Handler = (request: Request, server: Server) => Response | Promise<Response>

/** The routes: by path, then by method. */
export type Routes = Readonly<Record<string, Readonly<Record<string, Handler>>>>

/** The routes of the endpoint; each handler judges for itself who asks. */
export function aepRoutes(doors: AepDoors, policy: GuardPolicy): Routes {
  const { access } = doors
  const observer = admit(access)
  const guarded =
    (judge: Admit, open: Handler): Handler =>
    (request, server) => {
      const refusal = judgeOrigin(request.headers, policy) ?? judge(request)
      return refusal === undefined ? open(request, server) : refuse(refusal)
    }
  const shared =
    (handler: Handler): Handler =>
    async (request, server) =>
      shareWithOrigin(await handler(request, server), request.headers, policy)

  const discover = shared(guarded(observer, () => discoveryDoor(doors.discovery)))
  const preflight = (path: string) => shared(guarded(anyone, () => answerPreflight(path)))
  return {
    "/events": {
      GET: discover,
      POST: shared(guarded(observer, (request) => eventsDoor(request, doors.events))),
      OPTIONS: preflight("/events"),
    },
    "/.well-known/aep": { GET: discover, OPTIONS: preflight("/.well-known/aep") },
    "/stream": {
      GET: shared(guarded(admit(access, true), (request, server) => doors.stream.open(request, server))),
      OPTIONS: preflight("/stream"),
    },
    "/socket": { GET: (request, server) => openSocket(request, server, doors, policy) },
    "/metrics": { GET: guarded(admit({ ...access, auth: "all" }), () => metricsDoor(doors.metrics)) },
  }
}

type Admit = (request: Request) => Refusal | undefined

const anyone: Admit = () => undefined

function admit(access: AccessPolicy, takesQuery = false): Admit {
  return (request) => {
    const judged = judgeAccess(request, access, takesQuery)
    return judged.kind === "refused" ? judged.refusal : undefined
  }
}

function openSocket(request: Request, server: Server, doors: AepDoors, policy: GuardPolicy): Response {
  const foreign = judgeOrigin(request.headers, policy)
  if (foreign !== undefined) return refuse(foreign)
  const access = judgeAccess(request, doors.access, true)
  if (access.kind === "refused") return refuse(access.refusal)
  if (server === undefined || request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    return refuse(NO_UPGRADE)
  }
  // The runtime has taken the connection by then, and passes over what is returned.
  return doors.socket.upgrade(request, server, access) ?? new Response(null)
}

const NO_UPGRADE: Refusal = {
  status: 426,
  error: "no-upgrade",
  detail: "this door speaks WebSocket only; for plain HTTP there are /events and /stream",
}
