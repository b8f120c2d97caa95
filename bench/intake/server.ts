/**
 * The servers that are measured, each in a fresh process: the real service with a home of its own, as it comes and
 * with redaction of everything, the bare Hono route, the bare `Bun.serve`.
 */
import { createHmac } from "node:crypto"
import { type Server, startMeasured } from "../server.ts"

const KEY = "0123456789abcdef0123456789abcdef"

/** What is measured; `redacting` is the service with everything told at `redacted`. */
export const SERVERS = ["service", "redacting", "hono", "plain"] as const
export type ServerName = (typeof SERVERS)[number]

/** What its door wants to see; the bare ones do not look. */
export const CREDENTIAL = createHmac("sha256", KEY).update("door/1").digest("hex")

/** Starts a server and waits until it listens. */
export function startServer(
  name: ServerName,
  port: number,
  extra: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const isBare = name === "hono" || name === "plain"
  const env = {
    AEP_OPENCODE_KEY: KEY,
    ...(name === "redacting" ? { AEP_CAPTURE: "redacted" } : {}),
    ...extra,
  }
  return startMeasured({ name, port, ...(isBare ? { bare: `bench/intake/${name}.ts` } : {}), env })
}
