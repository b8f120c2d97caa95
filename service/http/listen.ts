/**
 * Listens on the TCP address and on the Unix socket, both with the same app. The socket comes first for the plugin:
 * a loopback `fetch` obeys HTTP_PROXY and would hand everything to the proxy, the socket does not.
 */
import { chmodSync, rmSync } from "node:fs"
import type { Config } from "../config.ts"

/** Paths longer than this do not fit a socket address on any system we know. */
const MAX_SOCKET_PATH = 100
/** How long requests under way may take to end; one whose client hangs must not keep the service from stopping. */
const DRAIN_MS = 2000
/** Headroom above the bound, so that a body slightly over it still gets our own answer. */
const BODY_HEADROOM = 1024 * 1024

/**
 * On a Unix socket Bun 1.4.5 does not hear a request's own `timeout` and ends a poll that is held; its types know no limit there.
 * Whoever can open the socket is the user.
 */
const NO_IDLE_LIMIT: object = { idleTimeout: 0 }

export type Listening =
  | {
      kind: "listening"
      url: string
      /** Absent where no socket could be made. */
      socket: string | undefined
      warning: string | undefined
      /** Ends both listeners once the requests under way are answered. May be called twice. */
      close: () => Promise<void>
    }
  | { kind: "refused"; detail: string }

/**
 * Starts listening, or says in one line why not and what to do. `websocket` gets the connections that `fetch` upgraded;
 * without it none can be.
 */
export function listen<Data>(
  config: Pick<Config, "host" | "port" | "maxBody">,
  socketPath: string,
  fetch: (request: Request, server: Bun.Server<Data>) => Response | Promise<Response>,
  websocket: Bun.WebSocketHandler<Data> = { message: () => undefined },
): Listening {
  const options = { fetch, websocket, maxRequestBodySize: config.maxBody + BODY_HEADROOM }
  const tcp = attempt(() => Bun.serve<Data>({ ...options, hostname: config.host, port: config.port }))
  if ("fault" in tcp) {
    return {
      kind: "refused",
      detail: `port ${config.port} on ${config.host} cannot be used (${tcp.fault}); stop what listens there or give another with --port or AEP_OPENCODE_PORT`,
    }
  }
  const unix = listenUnix(socketPath, (unix) => Bun.serve<Data>({ ...options, ...NO_IDLE_LIMIT, unix }))
  const host = config.host.includes(":") ? `[${config.host}]` : config.host
  return {
    kind: "listening",
    url: `http://${host}:${config.port}`,
    socket: "server" in unix ? socketPath : undefined,
    warning: "warning" in unix ? unix.warning : undefined,
    close: async () => {
      const servers = [tcp.server, ...("server" in unix ? [unix.server] : [])]
      const drained = Promise.all(servers.map((server) => server.stop()))
      await Promise.race([drained, new Promise((resolve) => setTimeout(resolve, DRAIN_MS))])
      await Promise.all(servers.map((server) => server.stop(true)))
    },
  }
}

interface Stoppable {
  stop: (now?: boolean) => Promise<void>
}

function listenUnix(
  path: string,
  serve: (path: string) => Stoppable,
): { server: Stoppable } | { warning: string } {
  if (path.length > MAX_SOCKET_PATH) {
    return {
      warning: `no Unix socket: the path of AEP_HOME is too long for one; plugins use TCP, where HTTP_PROXY needs NO_PROXY=127.0.0.1`,
    }
  }
  const unix = attempt(() => {
    // Left behind by a process that was killed; the lock of the home says that it is nobody's.
    rmSync(path, { force: true })
    const server = serve(path)
    chmodSync(path, 0o600)
    return server
  })
  if ("server" in unix) return unix
  return {
    warning: `no Unix socket (${unix.fault}); plugins use TCP, where HTTP_PROXY needs NO_PROXY=127.0.0.1`,
  }
}

function attempt<S>(open: () => S): { server: S } | { fault: string } {
  try {
    return { server: open() }
  } catch (error) {
    return { fault: error instanceof Error && "code" in error ? String(error.code) : "unknown fault" }
  }
}
