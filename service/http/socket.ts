/**
 * `/socket`: the WebSocket binding on Bun's own handlers. Owns the sockets and their bounds and nothing of the protocol, which
 * is `hub/peer.ts`. Who may open one was judged before the upgrade.
 */
import { Peer, type PeerContext } from "../hub/peer.ts"
import { refuse } from "./guard.ts"

/** What a socket carries. */
export interface SocketData {
  access: { isAuthenticated: boolean }
  peer?: Peer
}

/** What the door is made of; the context but for what each connection brings. */
export interface SocketParts extends Omit<PeerContext, "access"> {
  /** Largest frame taken, bytes; the runtime closes with 1009 above it. */
  maxFrameBytes: number
  /** Most connections at once. */
  maxSockets: number
  /** Told whether somebody is connected who sees what is asked and may answer it, whenever that changes. */
  onAnswerable: (can: boolean) => void
}

/** The door with its open sockets. */
export interface SocketDoor {
  /** Upgrades a request that was let in; an answer instead, where that cannot be done. */
  upgrade: (
    request: Request,
    server: Bun.Server<SocketData>,
    access: { isAuthenticated: boolean },
  ) => Response | undefined
  /** The handlers the server is to be started with. */
  websocket: Bun.WebSocketHandler<SocketData>
  /** Ends all connections with the reason, and refuses new ones. May be called twice. */
  closeAll: (reason: string) => void
  readonly size: number
}

/** The runtime's own bound, well above what a queue hands it before the reader takes some. */
const BACKPRESSURE_LIMIT = 64 * 1024 * 1024

/** Makes the door. */
export function createSocketDoor(parts: SocketParts): SocketDoor {
  const peers = new Set<Peer>()
  /** Those who see what is asked and may answer it. */
  const answerers = new Set<Peer>()
  let isClosed = false
  const look = (peer: Peer, can: boolean): void => {
    if (answerers.has(peer) === can) return
    if (can) answerers.add(peer)
    else answerers.delete(peer)
    if (answerers.size === (can ? 1 : 0)) parts.onAnswerable(can)
  }
  return {
    upgrade: (request, server, access) => {
      if (isClosed || peers.size >= parts.maxSockets) {
        return refuse({
          status: 503,
          error: isClosed ? "stopping" : "too-many-sockets",
          detail: isClosed
            ? "the service is about to stop; connect again in a moment"
            : `${parts.maxSockets} connections are open already; end one that is not needed`,
        })
      }
      if (server.upgrade(request, { data: { access } })) return undefined
      return refuse({
        status: 400,
        error: "no-upgrade",
        detail: "the request is no WebSocket handshake of version 13",
      })
    },
    websocket: {
      // A frame of text compresses well, but each connection would hold its own window, and secrets beside chosen text leak.
      perMessageDeflate: false,
      // The peer pings by frames, which a client in a browser sees too.
      sendPings: false,
      idleTimeout: 0,
      maxPayloadLength: parts.maxFrameBytes,
      backpressureLimit: BACKPRESSURE_LIMIT,
      closeOnBackpressureLimit: false,
      open: (socket) => {
        const peer = new Peer(
          {
            send: (text) => socket.send(text),
            buffered: () => socket.getBufferedAmount(),
            cork: (run) => void socket.cork(run),
            close: (code, reason) => socket.close(code, reason),
          },
          { ...parts, access: socket.data.access },
        )
        socket.data.peer = peer
        peers.add(peer)
      },
      message: (socket, data) => {
        const { peer } = socket.data
        if (peer === undefined) return
        peer.message(data)
        look(peer, peers.has(peer) && peer.canAnswer)
      },
      drain: (socket) => socket.data.peer?.drained(),
      close: (socket) => {
        const { peer } = socket.data
        if (peer === undefined) return
        peers.delete(peer)
        look(peer, false)
        peer.closed()
      },
    },
    closeAll: (reason) => {
      isClosed = true
      for (const peer of [...peers]) peer.end(reason)
    },
    get size() {
      return peers.size
    },
  }
}
