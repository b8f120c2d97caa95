/**
 * The doors, one Hono app: what every request must pass, then one route a door. Knows no part of the service but
 * through the functions it is given; `main.ts` puts it behind a TCP port and a Unix socket.
 */
import { type Context, Hono } from "hono"
import { type AepDoors, aepRoutes, type Server } from "./aep.ts"
import { isCrossOrigin, shareWithOrigin } from "./cors.ts"
import { type DownlinkDoor, downlinkDoor } from "./downlink.ts"
import { type GuardPolicy, judgeOrigin, refuse } from "./guard.ts"
import { type HealthDoor, healthDoor } from "./health.ts"
import { type MomentsDoor, momentsDoor } from "./moments.ts"

/** What the doors are made of. */
export interface Doors {
  policy: GuardPolicy
  moments: MomentsDoor
  /** The plugin's way down; without it there is no such door. */
  downlink?: DownlinkDoor
  health: HealthDoor
  /** The embedded endpoint; without it there are no such doors. */
  aep?: AepDoors
  /** Told of a fault inside a door; gets no content. */
  onFault: (where: string, error: unknown) => void
}

/** The app as a server calls it; in process there is no server, and so no way to upgrade. */
export interface App {
  fetch: (request: Request, server?: Server) => Response | Promise<Response>
}

/** The app. Its `fetch` never throws: a fault inside a door is a counted 500 that says so. */
export function createApp(doors: Doors): App {
  const app = new Hono<{ Bindings: NonNullable<Server> }>()
  // Around each door and not as a middleware, with which every batch would pay for a chain of promises.
  const guarded =
    (open: (request: Request) => Response | Promise<Response>) =>
    ({ req: { raw } }: Context): Response | Promise<Response> => {
      const refusal = judgeOrigin(raw.headers, doors.policy)
      return refusal === undefined ? open(raw) : refuse(refusal)
    }
  app.post(
    "/opencode/moments",
    guarded((request) => momentsDoor(request, doors.moments)),
  )
  const { downlink } = doors
  if (downlink !== undefined) {
    app.get("/opencode/instances/:id/down", (context) => {
      const { raw } = context.req
      const refusal = judgeOrigin(raw.headers, doors.policy)
      return refusal === undefined
        ? downlinkDoor(raw, context.req.param("id"), downlink, context.env)
        : refuse(refusal)
    })
  }
  app.get(
    "/healthz",
    guarded((request) => healthDoor(request, doors.health)),
  )
  const methods = new Map([
    ["/opencode/moments", "POST"],
    ["/healthz", "GET, HEAD"],
  ])
  const missed = guarded((request) => {
    const path = new URL(request.url).pathname
    const answer = noDoor(request.method, path, methods.get(path))
    return doors.aep !== undefined && isCrossOrigin(path)
      ? shareWithOrigin(answer, request.headers, doors.policy)
      : answer
  })
  for (const [path, handlers] of Object.entries(
    doors.aep === undefined ? {} : aepRoutes(doors.aep, doors.policy),
  )) {
    methods.set(path, Object.keys(handlers).join(", "))
    for (const [method, handler] of Object.entries(handlers)) {
      // The router asks GET for HEAD too, which would open a stream that nobody reads.
      app.on(method, path, (context) =>
        context.req.raw.method === method ? handler(context.req.raw, context.env) : missed(context),
      )
    }
  }
  app.notFound(missed)
  app.onError((error, context) => {
    // A client that went away while sending is an agent that was ended: nothing to complain of, nobody to answer.
    if (!context.req.raw.signal.aborted) doors.onFault(context.req.path.slice(0, 100), error)
    return context.json(
      { error: "internal", detail: "the service could not handle this; its own log says why" },
      500,
    )
  })
  return { fetch: (request, server) => app.fetch(request, server) }
}

/** `allowed`: the methods that this path does know. */
function noDoor(method: string, path: string, allowed: string | undefined): Response {
  const detail = `no door at ${method} ${path.slice(0, 100)}`
  if (allowed === undefined) return refuse({ status: 404, error: "not-found", detail })
  const answer = refuse({ status: 405, error: "wrong-method", detail: `${detail}; it takes ${allowed}` })
  answer.headers.set("allow", allowed)
  return answer
}
