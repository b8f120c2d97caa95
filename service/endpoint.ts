/**
 * The embedded AEP endpoint put together: the hub with what it holds, who speaks for which session, and the two bindings that
 * readers stay connected to. `main.ts` makes it before anything is said, and feeds it.
 */
import { CAPTURES } from "../shared/aep.ts"
import type { HubConfig } from "./config-hub.ts"
import { ACCEPTS, ACK_WINDOW_MS } from "./control/control.ts"
import type { Timers } from "./emit/shelf.ts"
import { createSocketDoor, type SocketDoor } from "./http/socket.ts"
import { createStreamDoor, type StreamDoor } from "./http/stream.ts"
import { Hub } from "./hub/hub.ts"
import { isCommand, type Message, readMessage } from "./hub/message.ts"
import { OwnSessions } from "./hub/own-sessions.ts"
import { Roster } from "./hub/roster.ts"

/** What the endpoint is made of. */
export interface EndpointParts {
  bounds: HubConfig
  /** Largest frame, bytes. */
  maxFrameBytes: number
  timers: Timers
  /** Lines of logs from before this start, to be held for readers that resume. */
  history: readonly (readonly string[])[]
  /** Takes a command for a session of ours. */
  take: (command: Message) => void
  /** See `OwnSessions`. */
  isLogged: (session: string) => boolean
  /** See `SocketParts`. */
  onAnswerable: (can: boolean) => void
  /** Told of a fault in a reader's binding. */
  onFault: (error: unknown) => void
}

/** The endpoint; see the head of the file. */
export interface Endpoint {
  hub: Hub
  roster: Roster
  own: OwnSessions
  streams: StreamDoor
  sockets: SocketDoor
  /** What discovery and hello tell (AEP-0003 §3.4, §4). */
  capabilities: () => Record<string, unknown>
  /** Hands a relay's frame to control, if it is a command for a session of ours; nothing else is meant for us. */
  takeFromRelay: (text: string) => void
  /** Says goodbye to all readers. May be called twice. */
  close: (reason: string) => void
}

// No variable sets these: what one reader may be behind, how many may come, and how much is held for them in all.
const SOFT_BYTES = 2 * 1024 * 1024
const HARD_BYTES = 8 * 1024 * 1024
const MAX_SUBSCRIPTIONS = 100
const MAX_READERS = 1000
const BUFFER_BYTES = 64 * 1024 * 1024

/** What our sessions declare, in hello, discovery and roster (AEP-0004 §4.2). */
const CONTROL: Readonly<Record<string, unknown>> = { accepts: ACCEPTS, ack_window_ms: ACK_WINDOW_MS }

/** Makes the endpoint. */
export function createEndpoint(parts: EndpointParts): Endpoint {
  const { bounds, timers, take, isLogged, onFault } = parts
  const roster = new Roster()
  const own = new OwnSessions({ roster, control: () => CONTROL, take, isLogged })
  const hub = new Hub({
    bounds: {
      depth: bounds.buffer,
      sessions: bounds.maxSessions,
      bytes: BUFFER_BYTES,
      // An instance's own session speaks seldom and is asked for when something goes wrong.
      isKept: (session) => session.startsWith("instance-") && own.holds(session),
    },
    defer: setImmediate,
    onFault,
  })
  for (const lines of parts.history) hub.hold(lines.flatMap(messageIn))

  const capabilities = (): Record<string, unknown> => ({
    filters: ["attr-match"],
    replay: { buffer: bounds.buffer, all: true },
    capture: CAPTURES,
    control: CONTROL,
    roster: {},
  })
  const reading = { timers, softBytes: SOFT_BYTES, hardBytes: HARD_BYTES, maxFrom: bounds.maxFrom }
  const streams = createStreamDoor({ ...reading, hub, maxStreams: MAX_READERS })
  const sockets = createSocketDoor({
    hub,
    roster,
    isOurs: (session) => own.owns(session),
    hello: () => ({ role: "both", identity: { agent: "opencode-aep" }, capabilities: capabilities() }),
    publish: (messages) => hub.publish(messages),
    timers,
    limits: { ...reading, maxSubscriptions: MAX_SUBSCRIPTIONS },
    maxFrameBytes: parts.maxFrameBytes,
    maxSockets: MAX_READERS,
    onAnswerable: parts.onAnswerable,
  })
  return {
    hub,
    roster,
    own,
    streams,
    sockets,
    capabilities,
    takeFromRelay: (text) => {
      for (const message of messageIn(text)) {
        const { type, session } = message.event
        if (session === undefined || !isCommand(type) || !own.holds(session)) continue
        // Here too the history shows who asked, before what was answered.
        hub.publish([message])
        take(message)
      }
    },
    close: (reason) => {
      streams.closeAll(reason)
      sockets.closeAll(reason)
    },
  }
}

/** A line as an event; none of what is no event. */
function messageIn(line: string): Message[] {
  const read = readMessage(line)
  return read.kind === "message" ? [read.message] : []
}
