/** A consumer that subscribes to everything and never reads again, over a bare socket. */
import { BENCH_TOKEN } from "./server.ts"

/** Resolves when the subscription stands. */
export async function startStuck(port: number): Promise<{ end: () => void }> {
  const subscribed = Promise.withResolvers<void>()
  let got = ""
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data: (self, chunk) => {
        got += chunk.toString("latin1")
        if (got.includes("101 ") && !got.includes('"hello"') && got.endsWith("\r\n\r\n")) {
          self.write(frame('{"type":"hello","versions":["0.1"],"role":"consumer"}'))
          self.write(frame('{"type":"subscribe","id":"stuck","filter":{}}'))
        }
        if (!got.includes('"subscribed"')) return
        self.pause()
        subscribed.resolve()
      },
      error: (_, error) => subscribed.reject(error),
      close: () => subscribed.reject(new Error("the service closed the connection")),
    },
  })
  const head = [
    "GET /socket HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${BENCH_TOKEN}`,
    "upgrade: websocket",
    "connection: Upgrade",
    "sec-websocket-version: 13",
    `sec-websocket-key: ${btoa("bench-bench-bench").slice(0, 22)}==`,
  ]
  socket.write(`${head.join("\r\n")}\r\n\r\n`)
  await subscribed.promise
  return { end: () => socket.terminate() }
}

/** A text frame of a client, masked with zeros. */
function frame(text: string): Uint8Array {
  const payload = Buffer.from(text)
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), payload])
}
