/**
 * Who may observe and who may control at the AEP doors (AEP-0003 §8.1): a verdict over one request, whose Host and Origin
 * the guard has judged already. Whom a command may reach is not decided here but by routing.
 */
import { type Refusal, secretsEqual } from "./guard.ts"

/** Who opens the AEP doors. */
export interface AccessPolicy {
  /** Whether a shown secret is one of ours; compares in constant time. */
  isToken: (shown: string) => boolean
  /** `control`: who reaches us on this machine may observe and emit without a token, but never control. */
  auth: "all" | "control"
}

/** `isAuthenticated` is false for whoever may only observe and emit. */
export type Access = { kind: "granted"; isAuthenticated: boolean } | { kind: "refused"; refusal: Refusal }

/** Whether any of `tokens` was shown; all of them are compared, so that the time taken tells nothing. */
export function tokenTest(tokens: readonly string[]): (shown: string) => boolean {
  const secrets = tokens.map((token) => Buffer.from(token))
  return (shown) => {
    const bytes = Buffer.from(shown)
    return secrets.reduce((found, secret) => secretsEqual(bytes, secret) || found, false)
  }
}

/**
 * Judges a request. `takesQuery`: the door also reads `?access_token=`, for clients that cannot set headers; a header wins
 * over it. A wrong token is refused even where none is needed, since its sender believes to be somebody.
 */
export function judgeAccess(request: Request, policy: AccessPolicy, takesQuery = false): Access {
  const header = request.headers.get("authorization")
  const shown =
    header === null ? (takesQuery ? queryOf(request).get("access_token") : null) : bearerOf(header)
  if (shown !== null) return policy.isToken(shown) ? AUTHENTICATED : WRONG
  return policy.auth === "control" && isLocal(request.headers) ? ANONYMOUS : MISSING
}

/** The query of a request; from its text, since building a URL can fail on what a stranger sends. */
export function queryOf({ url }: Request): URLSearchParams {
  const from = url.indexOf("?")
  return new URLSearchParams(from === -1 ? "" : url.slice(from + 1))
}

const AUTHENTICATED: Access = { kind: "granted", isAuthenticated: true }
const ANONYMOUS: Access = { kind: "granted", isAuthenticated: false }
const REMEDY = "show the token (AEP_TOKEN, or the file token in AEP_HOME) as authorization: Bearer"
const WRONG = refused(`the token shown is not this service's; ${REMEDY}`)
const MISSING = refused(`this door takes a token; ${REMEDY}`)

function refused(detail: string): Access {
  return { kind: "refused", refusal: { status: 401, error: "unauthorized", detail } }
}

/** The empty text, which is no token, for another scheme: something was shown, and it is not ours. */
function bearerOf(header: string): string {
  return /^bearer /i.test(header) ? header.slice("bearer ".length) : ""
}

const LOCAL_NAME = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i

/** Off this machine a token is required whatever the policy: a public name, or a proxy that says for whom it asks, leads
 *  there. */
function isLocal(headers: Headers): boolean {
  const isForwarded = headers.has("forwarded") || headers.has("x-forwarded-for")
  return !isForwarded && LOCAL_NAME.test(headers.get("host") ?? "")
}
