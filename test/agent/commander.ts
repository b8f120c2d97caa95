/**
 * Whoever commands a session from elsewhere: a consumer on the service's socket that sees what happens, sends commands and
 * waits for what comes of them. Speaks the protocol by hand, so that our own sender is not judged by itself.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Sandbox } from "./sandbox.ts"
import type { LoggedEvent } from "./service.ts"
import { waitFor } from "./wait.ts"

const WAIT_MS = 15_000

/** A frame of ours or of the service's. */
export interface Frame {
  type: string
  code?: string
  cause?: string
  [member: string]: unknown
}

export interface Commander {
  /** Sends a command as it is; its id. Members may be replaced. */
  send: (type: string, session: string, members?: Record<string, unknown>) => string
  /** Every text that is an acknowledgement of this command, in order, with its repetitions. */
  acks: (command: string) => string[]
  /** The first acknowledgement. */
  ack: (command: string) => Promise<LoggedEvent>
  /** The refusal of the router. */
  refusal: (command: string) => Promise<Frame>
  /** The first of the two. */
  said: (command: string) => Promise<LoggedEvent | Frame>
  /** The first event that fits. */
  event: (what: string, fits: (event: LoggedEvent) => boolean, deadlineMs?: number) => Promise<LoggedEvent>
  close: () => void
}

let sent = 0

/** Connects with the token of the sandbox's home, and follows every session. */
export async function openCommander(url: string, { aepHome }: Pick<Sandbox, "aepHome">): Promise<Commander> {
  const token = readFileSync(join(aepHome, "token"), "utf8").trim()
  const texts: string[] = []
  const socket: WebSocket = Reflect.construct(WebSocket, [
    `${url.replace("http", "ws")}/socket`,
    { headers: { authorization: `Bearer ${token}` } },
  ])
  socket.onmessage = ({ data }) => void texts.push(String(data))
  const frames = () => texts.map((text) => JSON.parse(text) as Frame & LoggedEvent)
  const first = <T>(what: string, pick: () => T | undefined, deadlineMs = WAIT_MS): Promise<T> =>
    waitFor(what, deadlineMs, pick, () => texts.slice(-10).join("\n"))
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve()
    socket.onerror = () => reject(new Error("the service's socket could not be opened"))
  })
  socket.send(JSON.stringify({ type: "hello", versions: ["0.1"], role: "consumer" }))
  socket.send(JSON.stringify({ type: "subscribe", id: "all", filter: {} }))
  await first("subscription", () => frames().find(({ type }) => type === "subscribed"))
  const isAck = (event: LoggedEvent, command: string) =>
    event.cause === command && (event.type === "control.accepted" || event.type === "control.rejected")
  const isRefusal = ({ type, cause }: Frame, command: string) => type === "error" && cause === command
  return {
    send: (type, session, members = {}) => {
      sent += 1
      const id = `CMD-${process.pid}-${sent}`
      socket.send(
        JSON.stringify({
          aep: "0.1",
          id,
          type,
          time: new Date().toISOString(),
          source: "aep://host-b/agent/commander",
          agent: "commander",
          session,
          capture: "metadata",
          ...members,
        }),
      )
      return String(members.id ?? id)
    },
    acks: (command) => texts.filter((text) => isAck(JSON.parse(text), command)),
    ack: (command) => first(`decision on ${command}`, () => frames().find((event) => isAck(event, command))),
    refusal: (command) =>
      first(`refusal of ${command}`, () => frames().find((frame) => isRefusal(frame, command))),
    said: (command) =>
      first(`word on ${command}`, () =>
        frames().find((frame) => isAck(frame, command) || isRefusal(frame, command)),
      ),
    event: (what, fits, deadlineMs) =>
      first(what, () => frames().find((event) => event.type.includes(".") && fits(event)), deadlineMs),
    close: () => socket.close(),
  }
}
