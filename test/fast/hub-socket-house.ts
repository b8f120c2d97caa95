/**
 * The whole endpoint behind a port: all AEP doors on one hub and one roster, as `main.ts` puts them together. Its timers
 * stand, so that nothing ends by itself.
 */
import { type AccessPolicy, tokenTest } from "../../service/http/access.ts"
import { createApp } from "../../service/http/app.ts"
import { ownHosts } from "../../service/http/guard.ts"
import { type Listening, listen } from "../../service/http/listen.ts"
import { createSocketDoor, type SocketDoor } from "../../service/http/socket.ts"
import { createStreamDoor } from "../../service/http/stream.ts"
import { judgeAdmission } from "../../service/hub/admission.ts"
import { Hub } from "../../service/hub/hub.ts"
import type { Message } from "../../service/hub/message.ts"
import { Roster } from "../../service/hub/roster.ts"
import { Clock } from "../clock.ts"
import { CREDENTIAL, TOKEN } from "./doors-house.ts"

export interface SocketHouseOptions {
  port: number
  auth?: AccessPolicy["auth"]
  depth?: number
  maxSockets?: number
  softBytes?: number
  hardBytes?: number
}

/** Largest frame taken, bytes. */
export const MAX_FRAME = 256 * 1024

/** See the head of the file. */
export class SocketHouse {
  readonly hub: Hub
  readonly roster = new Roster()
  readonly door: SocketDoor
  readonly faults: string[] = []
  /** What was told of answerers, in order. */
  readonly answerable: boolean[] = []
  /** The address of the HTTP doors. */
  readonly base: string
  private readonly listening: Extract<Listening, { kind: "listening" }>

  constructor({ port, auth = "all", depth = 10_000, maxSockets = 100, ...bounds }: SocketHouseOptions) {
    const { timers } = new Clock()
    const isOurs = (): boolean => false
    const publish = (messages: readonly Message[]): void => this.hub.publish(messages)
    this.hub = new Hub({
      bounds: { depth, sessions: 1000, bytes: 64 * 1024 * 1024 },
      defer: setImmediate,
      onFault: (error) => this.faults.push(String(error)),
    })
    const reading = { timers, maxFrom: 1024, softBytes: 256 * 1024, hardBytes: 1024 * 1024, ...bounds }
    this.door = createSocketDoor({
      hub: this.hub,
      roster: this.roster,
      isOurs,
      hello: () => ({ role: "both", identity: { agent: "endpoint" }, capabilities: { roster: {} } }),
      publish,
      timers,
      limits: { ...reading, maxSubscriptions: 100 },
      maxFrameBytes: MAX_FRAME,
      maxSockets,
      onAnswerable: (can) => this.answerable.push(can),
    })
    const app = createApp({
      policy: { hosts: ownHosts("127.0.0.1", port, []), origins: new Set() },
      moments: {
        credential: Buffer.from(CREDENTIAL),
        maxBody: MAX_FRAME,
        maxBatch: 1000,
        apply: () => ({ next: 0, rejected: [] }),
      },
      health: { token: Buffer.from(TOKEN), health: () => ({ ok: true, relay: true, counts: {} }) },
      aep: {
        access: { isToken: tokenTest([TOKEN]), auth },
        discovery: { capabilities: () => ({}) },
        events: {
          maxBody: MAX_FRAME,
          maxBatch: 1000,
          admit: (message) => judgeAdmission(message, isOurs),
          publish,
        },
        stream: createStreamDoor({ ...reading, hub: this.hub, maxStreams: 100 }),
        socket: this.door,
        metrics: { metrics: () => [] },
      },
      onFault: (where, error) => this.faults.push(`${where} ${String(error)}`),
    })
    const config = { host: "127.0.0.1", port, maxBody: MAX_FRAME }
    // Longer than any system takes, so that there is a TCP port only.
    const listening = listen(config, "/".repeat(200), app.fetch, this.door.websocket)
    if (listening.kind === "refused") throw new Error(listening.detail)
    this.listening = listening
    this.base = listening.url
  }

  /** The socket's address, with the token unless said otherwise. */
  url(token: string | undefined = TOKEN): string {
    const query = token === "" ? "" : `?access_token=${token}`
    return `${this.base.replace("http", "ws")}/socket${query}`
  }

  /** Posts one event, as JSON. */
  post(event: object): Promise<Response> {
    return fetch(`${this.base}/events`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${TOKEN}`,
        "aep-version": "0.1",
        "content-type": "application/json",
      },
      body: JSON.stringify(event),
    })
  }

  /** What `/stream` holds for a query, as text; ends with what is held. */
  async history(query: string): Promise<string> {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const answer = await fetch(`${this.base}/stream?live=0&${query}`, { headers })
    return answer.text()
  }

  async close(): Promise<void> {
    this.door.closeAll("stopping")
    await this.listening.close()
  }
}
