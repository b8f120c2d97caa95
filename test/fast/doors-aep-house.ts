/**
 * The AEP doors in process, on a real hub: the app as `main.ts` puts it together, and `listen` puts it behind a port where
 * a test needs a socket. Clock and deferring are the test's; nothing of the plugin's side is there but its doors.
 */

import { type AccessPolicy, tokenTest } from "../../service/http/access.ts"
import { type App, createApp } from "../../service/http/app.ts"
import { ownHosts } from "../../service/http/guard.ts"
import { listen } from "../../service/http/listen.ts"
import type { Metric } from "../../service/http/metrics.ts"
import { createStreamDoor, type StreamDoor } from "../../service/http/stream.ts"
import { judgeAdmission } from "../../service/hub/admission.ts"
import { Hub } from "../../service/hub/hub.ts"
import type { Message } from "../../service/hub/message.ts"
import { Clock } from "../clock.ts"
import { type Answer, CREDENTIAL, HOST, MAX_BODY, readAnswer, TOKEN } from "./doors-house.ts"

/** An origin that is configured. */
export const ORIGIN = "https://console.example.org"
/** The session that is ours, in which no peer may speak. */
export const OURS = "ses_ours"
/** A value that no answer may repeat. */
export const CANARY = "canary-7f3a"

export interface AepHouseOptions {
  auth?: AccessPolicy["auth"]
  maxBatch?: number
  depth?: number
  maxFrom?: number
  maxStreams?: number
  replayBytes?: number
  softBytes?: number
  hardBytes?: number
  port?: number
  metrics?: readonly Metric[]
}

/** See the head of the file. */
export class AepHouse {
  readonly clock = new Clock()
  readonly hub: Hub
  readonly stream: StreamDoor
  readonly app: App
  /** What the doors gave the hub. */
  readonly published: Message[] = []
  readonly faults: string[] = []
  private close_: () => Promise<void> = async () => undefined

  constructor(private readonly options: AepHouseOptions = {}) {
    const { auth = "all", maxBatch = 1000, maxFrom = 10, maxStreams = 1000, port = 8390 } = options
    this.hub = new Hub({
      bounds: {
        depth: options.depth ?? 10_000,
        sessions: 100,
        bytes: options.replayBytes ?? 64 * 1024 * 1024,
      },
      defer: queueMicrotask,
    })
    this.stream = createStreamDoor({
      hub: this.hub,
      timers: this.clock.timers,
      maxFrom,
      maxStreams,
      softBytes: options.softBytes ?? 256 * 1024,
      hardBytes: options.hardBytes ?? 1024 * 1024,
    })
    this.app = createApp({
      policy: {
        hosts: ownHosts("127.0.0.1", port, ["aep.example.org"]),
        origins: new Set([ORIGIN]),
      },
      moments: {
        credential: Buffer.from(CREDENTIAL),
        maxBody: MAX_BODY,
        maxBatch,
        apply: () => ({ next: 0, rejected: [] }),
      },
      health: { token: Buffer.from(TOKEN), health: () => ({ ok: true, relay: true, counts: {} }) },
      aep: {
        access: { isToken: tokenTest([TOKEN]), auth },
        discovery: {
          capabilities: () => ({ filters: ["attr-match"], replay: { buffer: 10_000, all: true } }),
        },
        events: {
          maxBody: MAX_BODY,
          maxBatch,
          admit: (message) => judgeAdmission(message, (session) => session === OURS),
          publish: (messages) => {
            this.published.push(...messages)
            this.hub.publish(messages)
          },
        },
        stream: this.stream,
        socket: { upgrade: () => undefined },
        metrics: { metrics: () => options.metrics ?? [] },
      },
      onFault: (where, error) =>
        this.faults.push(`${where} ${error instanceof Error ? error.message : "unknown"}`),
    })
  }

  /** Asks the app in process, with the token and a Host of ours unless said otherwise. */
  async ask(path: string, init: RequestInit = {}): Promise<Answer> {
    return readAnswer(await this.open(path, init))
  }

  /** The same, its body not read. */
  async open(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    if (!headers.has("host")) headers.set("host", HOST)
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${TOKEN}`)
    if (headers.get("authorization") === "none") headers.delete("authorization")
    return this.app.fetch(new Request(`http://${HOST}${path}`, { ...init, headers }))
  }

  /** Posts to `/events` with all that a good request has, unless said otherwise. */
  post(body: BodyInit, headers: Record<string, string> = {}): Promise<Answer> {
    return this.ask("/events", {
      method: "POST",
      headers: { "aep-version": "0.1", "content-type": "application/x-ndjson", ...headers },
      body,
    })
  }

  /** Posts events, one a line. */
  postEvents(...events: object[]): Promise<Answer> {
    return this.post(linesOf(...events))
  }

  /** Puts the doors behind the port of the options; returns the address. */
  serve(): string {
    const { port = 0 } = this.options
    // Longer than any system takes, so that there is a TCP port only.
    const listening = listen({ host: "127.0.0.1", port, maxBody: MAX_BODY }, "/".repeat(200), this.app.fetch)
    if (listening.kind === "refused") throw new Error(listening.detail)
    this.close_ = listening.close
    return listening.url
  }

  async close(): Promise<void> {
    this.stream.closeAll("test over")
    await this.close_()
  }
}

/** A sound event of a peer. */
export function eventOf(seq: number, members: Record<string, unknown> = {}): Record<string, unknown> {
  const session = String(members.session ?? "ses_peer")
  return {
    aep: "0.1",
    id: `evt-${session.replace(/\W/g, "-")}-${seq}`,
    type: "progress.status",
    time: "2026-11-03T09:00:00Z",
    source: "aep://peer/agent/peer/session/1",
    agent: "peer",
    session,
    seq,
    data: { message: `step ${seq}` },
    ...members,
  }
}

/** Events as NDJSON. */
export function linesOf(...events: object[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join("")
}
