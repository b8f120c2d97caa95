/**
 * One agent's connection to the relay as a state machine: connect, hello each way, ready, lost, wait, again
 * (AEP-0003 §3.5, §4). Whatever ends an attempt first, and in whatever order the rest follows, the next
 * attempt is armed once. It does not know what is sent over it; that is `lane.ts`, its only user.
 */
import type { Timers } from "../shelf.ts"
import { Backoff } from "./backoff.ts"
import type { RelayCounts, Teller } from "./counts.ts"
import { closingText, helloText, type Introduction, pingText, readFrame } from "./frames.ts"
import type { RelayLimits } from "./limits.ts"
import type { Connect, RelaySocket } from "./socket.ts"

/** What a link is made of. */
export interface LinkParts {
  /** Full `ws:` or `wss:` address. */
  url: string
  token: string | undefined
  introduction: Introduction
  connect: Connect
  timers: Timers
  /** Epoch milliseconds. */
  now: () => number
  /** From 0 to below 1. */
  random: () => number
  limits: RelayLimits
  counts: RelayCounts
  teller: Teller
  /** The relay said hello: events may leave. */
  onReady: () => void
  /** A connection that was ready is gone. */
  onLost: () => void
  /** The relay has everything that was sent before the ping of this number. */
  onPong: (t: number) => void
  /** A message that is no frame: an event addressed to us, as received. */
  onCommand: (text: string) => void
}

/** Why an attempt ended. The first two only a person can change. */
type End = "auth" | "version" | "unreachable" | "no-hello" | "no-pong" | "closed"

interface Attempt {
  socket: RelaySocket | undefined
  stage: "connecting" | "greeting" | "ready"
  /** The relay's word, should it close on us. */
  refusal: "auth" | "version" | undefined
  /** It answered a ping: the connection carries in both directions. */
  proven: boolean
  /** It said that it is about to close. */
  closing: boolean
  /** Pings without a pong, oldest first. */
  readonly pings: number[]
}

/** HTTP answers to the upgrade that say no to us rather than to the moment. */
const REFUSING_STATUS: ReadonlyMap<number, "auth" | "version"> = new Map([
  [401, "auth"],
  [403, "auth"],
  [426, "version"],
])

const REMEDY: Readonly<Record<End, string>> = {
  auth: "it refused our token; check AEP_RELAY_TOKEN",
  version: "it does not speak AEP 0.1; use a relay that does, or check AEP_RELAY_URL",
  unreachable: "it cannot be reached; check AEP_RELAY_URL and whether it runs",
  "no-hello": "it opened no AEP conversation in time; check that AEP_RELAY_URL is an AEP relay",
  "no-pong": "it takes nothing or answers no ping",
  closed: "it closed the connection before it answered a ping",
}

/** See the head of the file. */
export class Link {
  private attempt: Attempt | undefined
  private readonly backoff: Backoff
  /** The one thing waited for: the end of a stage, a pong, the time to ping, or the time to try again. */
  private alarm: unknown
  private lastPing = 0
  private attempts = 0
  private closed = false

  constructor(private readonly parts: LinkParts) {
    const { random, limits } = parts
    this.backoff = new Backoff(random, limits.backoffFirstMs, limits.backoffMostMs)
  }

  /** Begins to connect, and keeps at it until `close`. */
  start(): void {
    if (this.closed || this.attempt !== undefined) return
    const { url, token, connect, limits } = this.parts
    if (this.attempts > 0) this.parts.counts.reconnects += 1
    this.attempts += 1
    const attempt: Attempt = {
      socket: undefined,
      stage: "connecting",
      refusal: undefined,
      proven: false,
      closing: false,
      pings: [],
    }
    this.attempt = attempt
    this.setAlarm(limits.connectMs, () => this.end(attempt, "unreachable"))
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    try {
      attempt.socket = connect(
        url,
        { headers },
        {
          opened: () => this.opened(attempt),
          message: (data) => this.heard(attempt, data),
          failed: (status) => {
            const refusal = status === undefined ? undefined : REFUSING_STATUS.get(status)
            this.end(attempt, refusal ?? "unreachable")
          },
          closed: () => this.end(attempt, attempt.stage === "connecting" ? "unreachable" : "closed"),
        },
      )
    } catch {
      // An address that the runtime refuses: told like any other relay that is not there.
      this.end(attempt, "unreachable")
    }
    // It may have ended before `connect` returned.
    if (this.attempt !== attempt) attempt.socket?.abandon()
  }

  /** Whether events may leave: from the relay's hello to its loss. */
  get isReady(): boolean {
    return this.attempt?.stage === "ready"
  }

  /** Whether more may be sent now: ready, and the relay is not about to close. */
  get isOpen(): boolean {
    return this.attempt?.stage === "ready" && !this.attempt.closing
  }

  /** Bytes that wait in the socket. */
  get bufferedAmount(): number {
    return this.attempt?.socket?.bufferedAmount ?? 0
  }

  /** Sends one text frame. Only while `isOpen`. */
  send(text: string): void {
    this.attempt?.socket?.send(text)
  }

  /** Sends a ping and returns its number. Only while `isOpen`. */
  ping(): number {
    this.lastPing = Math.max(this.parts.now(), this.lastPing + 1)
    const { attempt } = this
    if (attempt === undefined) return this.lastPing
    attempt.socket?.send(pingText(this.lastPing))
    attempt.pings.push(this.lastPing)
    if (attempt.pings.length === 1) this.awaitPong(attempt)
    return this.lastPing
  }

  /** Takes leave and ends for good. May be called twice. */
  close(): void {
    if (this.closed) return
    this.closed = true
    const { attempt } = this
    this.clearAlarm()
    this.attempt = undefined
    if (attempt?.stage === "ready") {
      attempt.socket?.send(closingText("shutdown"))
      attempt.socket?.close()
    } else attempt?.socket?.abandon()
  }

  private opened(attempt: Attempt): void {
    if (this.attempt !== attempt || attempt.stage !== "connecting") return
    attempt.stage = "greeting"
    this.setAlarm(this.parts.limits.helloMs, () => this.end(attempt, "no-hello"))
    attempt.socket?.send(helloText(this.parts.introduction))
  }

  private heard(attempt: Attempt, data: unknown): void {
    if (this.attempt !== attempt || this.closed) return
    const frame = readFrame(data)
    switch (frame.kind) {
      case "hello":
        if (attempt.stage === "greeting") this.greeted(attempt, frame.agreed)
        return
      case "error":
        this.refused(attempt, frame.code)
        return
      case "ping":
        attempt.socket?.send(frame.answer)
        return
      case "pong":
        this.ponged(attempt, frame.t)
        return
      case "closing":
        // What is sent from now on may be lost. The pongs under way still count.
        attempt.closing = true
        if (attempt.pings.length === 0) this.awaitPong(attempt)
        return
      case "event":
        if (attempt.stage !== "ready" || typeof data !== "string") return
        this.parts.counts.commands += 1
        this.parts.onCommand(data)
        return
      case "unreadable":
        this.parts.counts.errors += 1
        return
      case "other":
        return
      default:
        frame satisfies never
    }
  }

  private greeted(attempt: Attempt, agreed: boolean): void {
    if (!agreed) {
      this.end(attempt, "version")
      return
    }
    attempt.stage = "ready"
    // Its pong proves that the relay reads us, and ends the backoff.
    this.ping()
    this.parts.onReady()
  }

  private refused(attempt: Attempt, code: string): void {
    const { counts, teller } = this.parts
    counts.errors += 1
    const about = code.includes("version") ? "version" : isAboutAuth(code) ? "auth" : undefined
    if (about !== undefined && !attempt.proven) {
      // Told when it closes on us, as it will.
      attempt.refusal = about
      return
    }
    const remedy = about === undefined ? "what it refused is in the log all the same" : REMEDY[about]
    teller.once(`error ${code}`, `the relay answered with the error \`${code}\`: ${remedy}`)
  }

  private ponged(attempt: Attempt, t: number): void {
    const at = attempt.pings.indexOf(t)
    if (attempt.stage !== "ready" || at < 0) return
    attempt.pings.splice(0, at + 1)
    if (!attempt.proven) {
      attempt.proven = true
      this.backoff.reset()
      for (const reason of Object.keys(REMEDY)) this.parts.teller.over(`outage ${reason}`)
    }
    if (attempt.pings.length > 0 || attempt.closing) this.awaitPong(attempt)
    else this.setAlarm(this.parts.limits.keepaliveMs, () => void this.ping())
    this.parts.onPong(t)
  }

  /** A relay that is slow takes bytes from us; one that is frozen does not. */
  private awaitPong(attempt: Attempt): void {
    const before = this.bufferedAmount
    this.setAlarm(this.parts.limits.pongMs, () => {
      if (this.bufferedAmount < before) this.awaitPong(attempt)
      else this.end(attempt, "no-pong")
    })
  }

  /** The one place where an attempt ends; whatever comes second finds another attempt, or none. */
  private end(attempt: Attempt, why: End): void {
    if (this.attempt !== attempt) return
    this.attempt = undefined
    attempt.socket?.abandon()
    const reason = attempt.refusal ?? why
    const isRefused = reason === "auth" || reason === "version"
    this.setAlarm(isRefused ? this.backoff.slowest() : this.backoff.next(), () => this.start())
    if (!attempt.proven) {
      this.parts.teller.once(
        `outage ${reason}`,
        `the relay does not take events: ${REMEDY[reason]}. They stay in the logs and are sent when it does`,
      )
    }
    if (attempt.stage === "ready") this.parts.onLost()
  }

  private setAlarm(afterMs: number, run: () => void): void {
    this.clearAlarm()
    this.alarm = this.parts.timers.set(() => {
      this.alarm = undefined
      run()
    }, afterMs)
  }

  private clearAlarm(): void {
    if (this.alarm !== undefined) this.parts.timers.clear(this.alarm)
    this.alarm = undefined
  }
}

function isAboutAuth(code: string): boolean {
  return code.includes("auth") || code === "forbidden"
}
