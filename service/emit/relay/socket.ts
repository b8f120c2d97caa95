/**
 * A WebSocket as the link needs it, and Bun's own behind it. The token goes in a header, never in the address
 * (AEP-0003 §8.1, §11). Knows no protocol; `link.ts` is its only user.
 */

/** One connection being made or made. Neither method throws. */
export interface RelaySocket {
  send(text: string): void
  /** Ends in good order. */
  close(): void
  /** Ends at once, whatever the other side does; one that does not read would keep an orderly end waiting. */
  abandon(): void
  /** Bytes handed over that the system has not taken yet. */
  readonly bufferedAmount: number
}

/** What the socket tells. `failed` and `closed` come in any order, either of them alone, or both. */
export interface SocketHandlers {
  opened(): void
  message(data: unknown): void
  /** `status`: what the other side answered instead of opening a WebSocket. */
  failed(status: number | undefined): void
  closed(): void
}

/** Begins to connect. May throw when the address cannot be used at all. */
export type Connect = (
  url: string,
  options: { headers: Readonly<Record<string, string>> },
  handlers: SocketHandlers,
) => RelaySocket

const STATUS = /status code: (\d{3})\b/

/** Connects with Bun's WebSocket. */
export const connectWebSocket: Connect = (url, { headers }, handlers) => {
  // The DOM's types, which our plugin needs, hide what Bun's client can do: headers, and an end at once.
  const socket: Bun.WebSocket = Reflect.construct(WebSocket, [url, { headers }])
  socket.onopen = () => handlers.opened()
  socket.onmessage = (event) => handlers.message(event.data)
  socket.onclose = () => handlers.closed()
  socket.onerror = (event) => {
    // The status of a refused upgrade stands in the message and nowhere else.
    const status = "message" in event ? STATUS.exec(String(event.message))?.[1] : undefined
    handlers.failed(status === undefined ? undefined : Number(status))
  }
  return {
    send: (text) => void socket.send(text),
    close: () => socket.close(1000),
    abandon: () => socket.terminate(),
    get bufferedAmount() {
      return socket.bufferedAmount
    },
  }
}
