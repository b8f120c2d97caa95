/**
 * What is derived from the key, which itself never travels: the credential that opens the service's doors, and the key by which
 * decisions of the service are known to be its own.
 */

const encoder = new TextEncoder()
const HMAC = { name: "HMAC", hash: "SHA-256" }

/** HMAC-SHA-256 of the key (its UTF-8 bytes) over `door/1`, as lower-case hex. */
export async function doorCredential(key: string): Promise<string> {
  return [...(await derive(key, "door/1"))].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}

/** What decisions are proven by: the 32 bytes of HMAC-SHA-256(key, `proof/1`), as a key that can only verify. */
export async function proofKey(key: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", await derive(key, "proof/1"), HMAC, false, ["verify"])
}

/** Whether `proof` (64 hex digits) is the key's HMAC over the parts, joined by NUL. Compared in constant time. */
export async function isProven(key: CryptoKey, proof: string, parts: readonly string[]): Promise<boolean> {
  const bytes = bytesOf(proof)
  if (bytes === undefined) return false
  return crypto.subtle.verify("HMAC", key, bytes, encoder.encode(parts.join("\0")))
}

async function derive(key: string, purpose: string): Promise<Uint8Array<ArrayBuffer>> {
  const secret = await crypto.subtle.importKey("raw", encoder.encode(key), HMAC, false, ["sign"])
  return new Uint8Array(await crypto.subtle.sign("HMAC", secret, encoder.encode(purpose)))
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[0-9a-f]{64}$/.test(hex)) return undefined
  const bytes = new Uint8Array(32)
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number(`0x${hex.slice(at * 2, at * 2 + 2)}`)
  return bytes
}
