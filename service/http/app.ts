/**
 * The doors, one Hono app: what every request must pass, then one route a door. Knows no part of the service but
 * through the functions it is given; `main.ts` puts it behind a TCP port and a Unix socket.
 */
import { type Context, Hono } from "hono"
import { type GuardPolicy, judgeOrigin, refuse } from "./guard.ts"
import { type HealthDoor, healthDoor } from "./health.ts"
import { type MomentsDoor, momentsDoor } from "./moments.ts"

export interface Doors {
  policy: GuardPolicy
  moments: MomentsDoor
  health: HealthDoor
  /** Told of a fault inside a door; gets no content. */
  onFault: (where: string, error: unknown) => void
}

/** The app. Its `fetch` never throws: a fault inside a door is a counted 500 that says so. */
export function createApp(doors: Doors): Hono {
  const app = new Hono()
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
  app.get(
    "/healthz",
    guarded((request) => healthDoor(request, doors.health)),
  )
  app.notFound(guarded(noDoor))
  app.onError((error, context) => {
    // A client that went away while sending is an agent that was ended: nothing to complain of, nobody to answer.
    if (!context.req.raw.signal.aborted) doors.onFault(context.req.path.slice(0, 100), error)
    return context.json(
      { error: "internal", detail: "the service could not handle this; its own log says why" },
      500,
    )
  })
  return app
}

function noDoor({ method, url }: Request): Response {
  const { pathname } = new URL(url)
  const detail = `no door at ${method} ${pathname.slice(0, 100)}`
  return Response.json({ error: "not-found", detail }, { status: 404 })
}
