/**
 * A plain HTTP client on a connection of its own, which can stop in the middle of a request: what `fetch` cannot.
 */
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { waitFor } from "../agent/wait.ts"

/** One connection. */
export interface Connection {
  write(text: string): void
  /** All that came back so far. */
  received(): string
  /** Waits until what came back holds `text`. */
  until(text: string): Promise<void>
  readonly closed: boolean
  close(): void
}

/** Where to connect: a TCP port of loopback, or a Unix socket. */
export type Address = { port: number; host: "127.0.0.1" } | { path: string }

/** Connects. Throws when nobody listens. */
export async function openConnection(address: Address): Promise<Connection> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opened = connect(address, () => resolve(opened))
    opened.once("error", reject)
  })
  let text = ""
  let closed = false
  socket.on("data", (chunk) => {
    text += chunk.toString("utf8")
  })
  socket.on("close", () => {
    closed = true
  })
  socket.on("error", () => {
    closed = true
  })
  return {
    write: (chunk) => void socket.write(chunk),
    received: () => text,
    until: (part) =>
      waitFor(
        `\`${part}\` from the service`,
        10_000,
        () => text.includes(part),
        () => text,
      ).then(() => undefined),
    get closed() {
      return closed
    },
    close: () => socket.destroy(),
  }
}

/** Whether somebody listens there. */
export async function isListening(address: Address): Promise<boolean> {
  try {
    const connection = await openConnection(address)
    connection.close()
    return true
  } catch {
    // Refused, or the socket's file is gone.
    return false
  }
}

/** Head and body of a batch for the service that owns `home` and listens on `port`. */
export function writeRequest(home: string, port: number, batch: unknown): { head: string; body: string } {
  const { key } = JSON.parse(readFileSync(join(home, "plugin.json"), "utf8")) as { key: string }
  const credential = createHmac("sha256", key).update("door/1").digest("hex")
  const body = JSON.stringify(batch)
  const head = [
    "POST /opencode/moments HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${credential}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "",
    "",
  ].join("\r\n")
  return { head, body }
}
