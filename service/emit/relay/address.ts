/**
 * What `AEP_RELAY_URL` may be, and the WebSocket address it stands for. Pure; for the configuration. The
 * token is no part of it: it travels in a header (AEP-0003 §8.1).
 */

/** `url` is what to connect to, and the name under which the cursors of this relay are kept. */
export type RelayAddress = { kind: "address"; url: string } | { kind: "invalid"; detail: string }

const SCHEMES: Readonly<Record<string, "ws:" | "wss:">> = {
  "http:": "ws:",
  "https:": "wss:",
  "ws:": "ws:",
  "wss:": "wss:",
}
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * Reads the base address of a relay (`{base}/socket` is its WebSocket, AEP-0003 §2) or the address of the
 * socket itself. Off this machine only TLS is taken (AEP-0003 §8.1). `detail` says what to give, without the
 * value: it may hold a secret.
 */
export function readRelayAddress(text: string): RelayAddress {
  const url = URL.parse(text)
  const scheme = url === null ? undefined : SCHEMES[url.protocol]
  if (url === null || scheme === undefined || url.hostname === "") {
    return invalid("is no address of a relay; give one like https://relay.example.org or ws://127.0.0.1:8787")
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return invalid(
      "holds a user, a query or a fragment; give the plain address, and the token in AEP_RELAY_TOKEN",
    )
  }
  if (scheme === "ws:" && !LOOPBACK.test(url.hostname)) {
    return invalid("is not encrypted and leads off this machine; give an https: or wss: address")
  }
  const base = url.pathname.replace(/\/+$/, "")
  const path = base.endsWith("/socket") ? base : `${base}/socket`
  return { kind: "address", url: `${scheme}//${url.host}${path}` }
}

function invalid(what: string): RelayAddress {
  return { kind: "invalid", detail: `AEP_RELAY_URL ${what}` }
}
