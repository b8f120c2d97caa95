/**
 * The floor of the way down: a bare long poll. `GET /down?id=` is held until a frame on `/socket` names that id, and answered with
 * it; nothing is judged, proven, remembered or logged. `bun bench/asks/floor.ts <port>`.
 */
export {}

const held = new Map<string, (response: Response) => void>()

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  idleTimeout: 0,
  fetch(request, upgrading) {
    const url = new URL(request.url)
    if (url.pathname === "/socket") {
      return upgrading.upgrade(request) ? undefined : new Response("no upgrade", { status: 400 })
    }
    const { promise, resolve } = Promise.withResolvers<Response>()
    held.set(url.searchParams.get("id") ?? "", resolve)
    return promise
  },
  websocket: {
    message(_, data) {
      const { id } = JSON.parse(String(data)) as { id: string }
      const answer = held.get(id)
      held.delete(id)
      answer?.(Response.json({ messages: [{ request: id }], answerable: true }))
    },
  },
})
process.stdout.write(`listens on ${server.port}\n`)
