/**
 * What a browser must be told so that a page of a configured origin may read our answers, refusals included, and the
 * answer to its preflight. Who is let in is decided elsewhere: these headers open nothing that the guard refuses.
 */
import type { GuardPolicy } from "./guard.ts"

/** The methods a browser may use on the doors it may ask across origins. */
const METHODS: Readonly<Record<string, string>> = {
  "/events": "GET, POST",
  "/stream": "GET",
  "/.well-known/aep": "GET",
}
const HEADERS = "authorization, aep-version, content-type, last-event-id"
const MAX_AGE_S = "600"

/** Whether a path is one that pages of other origins may ask. */
export function isCrossOrigin(path: string): boolean {
  return Object.hasOwn(METHODS, path)
}

/** Adds to an answer what the page that asked must see; nothing but `vary` for an origin that is not configured. */
export function shareWithOrigin(response: Response, request: Headers, policy: GuardPolicy): Response {
  const origin = request.get("origin")
  response.headers.append("vary", "Origin")
  if (origin !== null && policy.origins.has(origin)) {
    response.headers.set("access-control-allow-origin", origin)
  }
  return response
}

/** The answer to `OPTIONS` on a path that `isCrossOrigin`; the guard has passed the request. */
export function answerPreflight(path: string): Response {
  const methods = METHODS[path] ?? ""
  return new Response(null, {
    status: 204,
    headers: {
      allow: `${methods}, OPTIONS`,
      "access-control-allow-methods": methods,
      "access-control-allow-headers": HEADERS,
      "access-control-max-age": MAX_AGE_S,
    },
  })
}
