/**
 * The part of the configuration that says who may watch, how much the embedded endpoint keeps, and to which relay events
 * are forwarded (AEP-0003 §5, §8). Reads nothing but its arguments. An address that may hold a secret, in its userinfo
 * or query, never stands in an error.
 */
import { type Named, type PickVariable, wholeNumber } from "./config-values.ts"

/** What a request without the token may do: nothing, or watch and emit. Control always takes the token. */
export type Auth = "all" | "control"

/** Bounds and openness of the embedded endpoint. */
export interface HubConfig {
  auth: Auth
  /** Events kept for replay, per session. */
  buffer: number
  /** Sessions kept for replay. */
  maxSessions: number
  /** Most positions in one `from`. */
  maxFrom: number
}

/** The relay that events are forwarded to. */
export interface RelayConfig {
  /** Its socket: a `ws:` or `wss:` URL. */
  url: string
  token: string | undefined
}

const DEFAULT_BUFFER = 10_000
const DEFAULT_MAX_SESSIONS = 500

/** Reads `AEP_AUTH`, `AEP_BUFFER`, `AEP_MAX_SESSIONS` and `AEP_MAX_FROM` (default: as many as sessions). */
export function readHub(pick: PickVariable, isLoopback: boolean, faults: string[]): HubConfig {
  const maxSessions = wholeNumber(pick("AEP_MAX_SESSIONS"), DEFAULT_MAX_SESSIONS, 1, 100_000, faults)
  return {
    auth: authOf(pick("AEP_AUTH"), isLoopback, faults),
    buffer: wholeNumber(pick("AEP_BUFFER"), DEFAULT_BUFFER, 1, 1_000_000, faults),
    maxSessions,
    maxFrom: wholeNumber(pick("AEP_MAX_FROM"), maxSessions, 1, 100_000, faults),
  }
}

function authOf(given: Named | undefined, isLoopback: boolean, faults: string[]): Auth {
  if (given === undefined || given.value === "all") return "all"
  if (given.value !== "control") {
    faults.push(`${given.name} is \`${given.value}\`; give all or control`)
  } else if (!isLoopback) {
    faults.push(
      `${given.name} is \`control\`, which lets anyone who reaches this service watch; give all, or listen on 127.0.0.1`,
    )
  }
  return given.value === "control" ? "control" : "all"
}

/** Reads `AEP_RELAY_URL` and `AEP_RELAY_TOKEN`; nothing without the first. */
export function readRelay(pick: PickVariable, faults: string[]): RelayConfig | undefined {
  const address = pick("AEP_RELAY_URL")
  const token = pick("AEP_RELAY_TOKEN")
  // Said of the token and not of its length: any other rule about it would be the relay's to make.
  if (token !== undefined && /\s/.test(token.value)) {
    faults.push(`${token.name} holds white space; give the relay's token as it is`)
  }
  if (address === undefined) {
    if (token !== undefined) faults.push(`${token.name} is set without AEP_RELAY_URL; give both or neither`)
    return undefined
  }
  const url = socketUrl(address, faults)
  return url === undefined ? undefined : { url, token: token?.value }
}

const SOCKET_PROTOCOLS: Readonly<Record<string, string>> = {
  "ws:": "ws:",
  "wss:": "wss:",
  "http:": "ws:",
  "https:": "wss:",
}
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"])

/** `{base}/socket` (AEP-0003 §3.5) of a base address, or the address itself where it names the socket already. */
function socketUrl({ name, value }: Named, faults: string[]): string | undefined {
  const url = URL.parse(value)
  const protocol = url === null ? undefined : SOCKET_PROTOCOLS[url.protocol]
  if (url === null || protocol === undefined) {
    faults.push(`${name} is no address of a relay; give one like https://relay.example.org`)
    return undefined
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    faults.push(`${name} holds more than host, port and path; give the token as AEP_RELAY_TOKEN instead`)
    return undefined
  }
  if (protocol === "ws:" && !LOOPBACK.has(url.hostname)) {
    faults.push(
      `${name} is \`${value}\`: without TLS everybody on the way reads along; give an https or wss address`,
    )
    return undefined
  }
  const path = url.pathname.replace(/\/$/, "")
  return `${protocol}//${url.host}${path.endsWith("/socket") ? path : `${path}/socket`}`
}
