/**
 * The floor of the fan-out: a bare `Bun.serve` that publishes each line of a posted body to every socket, with no
 * filter, no buffer, no check and no bound. `bun bench/fanout/floor.ts <port>`.
 */
const port = Number(process.argv[2])
const held: string[] = []

const server = Bun.serve({
  hostname: "127.0.0.1",
  port,
  maxRequestBodySize: 64 * 1024 * 1024,
  async fetch(request, self) {
    const { pathname } = new URL(request.url)
    if (pathname === "/socket") {
      return self.upgrade(request) ? undefined : new Response("", { status: 400 })
    }
    const lines = (await request.text()).split("\n")
    for (const line of lines) {
      if (line === "") continue
      held.push(line)
      self.publish("all", line)
    }
    return new Response(`{"accepted":${lines.length}}`, { status: 202 })
  },
  websocket: {
    backpressureLimit: 256 * 1024 * 1024,
    message(socket, text) {
      const frame = JSON.parse(String(text))
      if (frame.type === "hello") socket.send('{"type":"hello","versions":["0.1"]}')
      if (frame.type !== "subscribe") return
      socket.subscribe("all")
      socket.send(`{"type":"subscribed","id":"${frame.id}"}`)
      if (frame.from === undefined) return
      socket.cork(() => {
        for (const line of held) socket.send(line)
      })
    },
  },
})
process.stdout.write(`listens on ${server.port}\n`)
