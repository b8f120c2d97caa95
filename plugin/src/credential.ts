/**
 * The door credential: what the plugin shows the service instead of the key, which never travels.
 */

const encoder = new TextEncoder()

/** HMAC-SHA-256 of the key (its UTF-8 bytes) over `door/1`, as lower-case hex. */
export async function doorCredential(key: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" }
  const secret = await crypto.subtle.importKey("raw", encoder.encode(key), algorithm, false, ["sign"])
  const mac = await crypto.subtle.sign("HMAC", secret, encoder.encode("door/1"))
  return [...new Uint8Array(mac)].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}
