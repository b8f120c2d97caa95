/** Whoever answers: one socket of the service that sees every session's requests and sends commands. */

/** See the head of the file. */
export interface CommandSocket {
  /** Resolves once so many sessions have begun. */
  sessions(count: number): Promise<void>
  /** Resolves once so many requests were seen. */
  requests(count: number): Promise<void>
  /** Answers the request of the vendor's ask with `once`. */
  answer(ask: string): void
  /** Resolves once so many answers were applied. */
  applied(count: number): Promise<void>
  /** Resolves once a run of each of these sessions has finished. */
  finished(sessions: readonly string[]): Promise<void>
  close(): void
}

interface Seen {
  id: string
  type: string
  session: string
  t?: unknown
  opencoderequest?: string
  data?: { via?: string }
}

/** Connects with the token. */
export async function openCommandSocket(url: string, token: string): Promise<CommandSocket> {
  const requests = new Map<string, Seen>()
  const finished = new Set<string>()
  const counts = { sessions: 0, applied: 0 }
  const checks = new Set<() => void>()
  let lost: string | undefined
  const until = (holds: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = () => {
        if (lost !== undefined) reject(new Error(lost))
        else if (!holds()) return
        checks.delete(check)
        resolve()
      }
      checks.add(check)
      check()
    })
  const socket: WebSocket = Reflect.construct(WebSocket, [
    `${url.replace("http", "ws")}/socket`,
    { headers: { authorization: `Bearer ${token}` } },
  ])
  socket.onclose = ({ code, reason }) => {
    lost = `the commander's socket was closed: ${code} ${reason}`
    for (const check of checks) check()
  }
  socket.onmessage = ({ data }) => {
    const event = JSON.parse(String(data)) as Seen
    // Who does not answer is taken for dead after a while, and its commands would go nowhere.
    if (event.type === "ping") socket.send(JSON.stringify({ type: "pong", t: event.t }))
    if (event.type === "error") throw new Error(`the commander was refused: ${String(data)}`)
    if (event.type === "run.finished") finished.add(event.session)
    if (event.type === "session.started" && !event.session.startsWith("instance-")) counts.sessions += 1
    if (event.type === "attention.requested") requests.set(event.opencoderequest ?? "", event)
    if (event.type === "attention.answered" && event.data?.via === "control") counts.applied += 1
    for (const check of checks) check()
  }
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }))
  const type = ["session.started", "attention.*", "run.finished"]
  socket.send(JSON.stringify({ type: "hello", versions: ["0.1"], role: "consumer" }))
  socket.send(JSON.stringify({ type: "subscribe", id: "all", filter: { type } }))
  let sent = 0
  return {
    sessions: (count) => until(() => counts.sessions >= count),
    requests: (count) => until(() => requests.size >= count),
    applied: (count) => until(() => counts.applied >= count),
    finished: (sessions) => until(() => sessions.every((session) => finished.has(session))),
    answer(ask) {
      if (lost !== undefined) throw new Error(lost)
      const request = requests.get(ask)
      if (request === undefined) throw new Error(`no request of ${ask}`)
      sent += 1
      socket.send(
        JSON.stringify({
          ...{ aep: "0.1", id: `BENCH-${process.pid}-${sent}`, type: "control.attention.respond" },
          ...{ time: new Date().toISOString(), source: "aep://bench/agent/bench", agent: "bench" },
          ...{ session: request.session, subject: request.id, cause: request.id, capture: "metadata" },
          data: { answer: { option: "once" } },
        }),
      )
    },
    close() {
      socket.onclose = null
      socket.close()
    },
  }
}
