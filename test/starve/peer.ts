/**
 * Services that are none: each listens on a TCP port and on a Unix socket and fails in its own way. What a healthy
 * one does is not here; tests of that start the real service.
 */
import { createServer, type Server, type Socket } from "node:net"

/**
 * How a peer fails. `busy`: 503 at once. `stranger`: 401 at once. `reset`: takes the connection and drops it.
 * `silent`: takes the request and never answers. `half`: begins its answer and never ends it. `garbage`: 202 with a
 * page instead of an answer.
 */
export type Failure = "busy" | "stranger" | "reset" | "silent" | "half" | "garbage"

/** A peer that listens. */
export interface Peer {
  /** Requests begun so far. */
  requests(): number
  stop(): Promise<void>
}

/** Starts a peer on both roads. Throws when the port is taken. */
export async function startPeer(failure: Failure, port: number, socketPath: string): Promise<Peer> {
  let requests = 0
  const open = new Set<Socket>()
  const serve = (socket: Socket) => {
    open.add(socket)
    socket.on("close", () => open.delete(socket))
    // The agent leaves when it is done; how it does is its own matter.
    socket.on("error", () => open.delete(socket))
    socket.on("data", (chunk) => {
      if (!chunk.toString("latin1").startsWith("POST ")) return
      requests += 1
      fail(failure, socket)
    })
  }
  const servers = [createServer(serve), createServer(serve)] as const
  await listen(servers[0], { host: "127.0.0.1", port })
  await listen(servers[1], { path: socketPath })
  return {
    requests: () => requests,
    async stop() {
      for (const socket of open) socket.destroy()
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

function fail(failure: Failure, socket: Socket): void {
  switch (failure) {
    case "busy":
      socket.write(answer("503 Service Unavailable", '{"error":"busy"}'))
      return
    case "stranger":
      socket.write(answer("401 Unauthorized", '{"error":"unauthorized"}'))
      return
    case "reset":
      socket.resetAndDestroy()
      return
    case "half":
      socket.write(answer("202 Accepted", '{"next":').replace(/content-length: \d+/, "content-length: 500"))
      return
    case "garbage":
      socket.write(answer("202 Accepted", "<html>a page of something else</html>"))
      return
    case "silent":
      return
    default:
      failure satisfies never
  }
}

function answer(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

function listen(server: Server, where: { host: string; port: number } | { path: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(where, () => resolve())
  })
}
