/**
 * Who may come through a door: verdicts over plain values, and one translation to an answer. Host and Origin are
 * checked on every door, since a web page or a rebound DNS name can reach a loopback port as well as we can.
 */
import { timingSafeEqual } from "node:crypto"

export interface Refusal {
  status: 400 | 401 | 403 | 404 | 405 | 413 | 415 | 426 | 503
  error: string
  detail: string
}

export interface GuardPolicy {
  /** `host[:port]` values that are ours, lower case. */
  hosts: ReadonlySet<string>
  /** Foreign-looking origins that are ours. */
  origins: ReadonlySet<string>
}

/** The hosts under which a listener on loopback is reached. */
export function ownHosts(host: string, port: number, extra: readonly string[]): Set<string> {
  const names = ["127.0.0.1", "localhost", "[::1]", host.includes(":") ? `[${host}]` : host]
  return new Set([...names.map((name) => `${name}:${port}`), ...extra].map((value) => value.toLowerCase()))
}

/** Refuses a request whose Host is not ours or whose Origin is foreign; a client that is no browser sends none. */
export function judgeOrigin(headers: Headers, policy: GuardPolicy): Refusal | undefined {
  const host = headers.get("host")?.toLowerCase()
  if (host === undefined || !policy.hosts.has(host)) {
    return {
      status: 403,
      error: "foreign-host",
      detail:
        "the Host header does not name this service; set AEP_PUBLIC_URL if it is reached under another name",
    }
  }
  const origin = headers.get("origin")
  if (
    origin === null ||
    policy.origins.has(origin) ||
    origin === `http://${host}` ||
    origin === `https://${host}`
  ) {
    return undefined
  }
  return {
    status: 403,
    error: "foreign-origin",
    detail:
      "the request comes from a web page that is not ours; list its origin in AEP_ALLOWED_ORIGINS if it is",
  }
}

/** What to do about a refusal at the plugin's doors. */
export const DOOR_REMEDY =
  "show the door credential derived from the key in plugin.json (AEP_HOME); it changes with the key"

/** Refuses a request without the bearer this door takes; compared in constant time, never repeated in the answer. */
export function judgeBearer(headers: Headers, expected: Buffer, remedy: string): Refusal | undefined {
  return hasBearer(headers, expected) ? undefined : { status: 401, error: "unauthorized", detail: remedy }
}

/** Whether the request shows this bearer. */
export function hasBearer(headers: Headers, expected: Buffer): boolean {
  const header = headers.get("authorization")
  if (header === null || !/^bearer /i.test(header)) return false
  return secretsEqual(Buffer.from(header.slice("bearer ".length)), expected)
}

/** Whether a shown secret is the expected one, in constant time. */
export function secretsEqual(shown: Buffer, expected: Buffer): boolean {
  // The length of our own secrets is public; only their bytes are worth guarding.
  return shown.length === expected.length && timingSafeEqual(shown, expected)
}

/** Refuses a body that is not declared as JSON, or declared larger than the bound. */
export function judgeBody(headers: Headers, maxBytes: number): Refusal | undefined {
  if (mediaTypeOf(headers) !== "application/json") return wrongType("application/json")
  return judgeLength(headers, maxBytes)
}

/** The media type of the body without its parameters, lower case. */
export function mediaTypeOf(headers: Headers): string | undefined {
  return headers.get("content-type")?.split(";")[0]?.trim().toLowerCase()
}

/** The answer to a body of another type than the door takes. */
export function wrongType(accepted: string): Refusal {
  return { status: 415, error: "wrong-content-type", detail: `send the body with content-type: ${accepted}` }
}

/** Refuses a body that is declared larger than the bound. */
export function judgeLength(headers: Headers, maxBytes: number): Refusal | undefined {
  const length = Number(headers.get("content-length") ?? 0)
  return length > maxBytes ? tooLarge(maxBytes) : undefined
}

/** The answer to a body over the bound. */
export function tooLarge(maxBytes: number): Refusal {
  return {
    status: 413,
    error: "too-large",
    detail: `the body is larger than ${maxBytes} bytes; send less at once or raise AEP_MAX_BODY`,
  }
}

/** A refusal as every door answers it: `{error, detail}`. */
export function refuse(refusal: Refusal): Response {
  return Response.json({ error: refusal.error, detail: refusal.detail }, { status: refusal.status })
}
