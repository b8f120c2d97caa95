/**
 * Follows a stream to its end, over as many connections as it takes: each goes on behind what was shown, and what the reader
 * should know about them is said. Knows neither address nor token nor how events are shown; the command hands that in.
 */
import { Backoff } from "../emit/relay/backoff.ts"
import type { Timers } from "../emit/shelf.ts"
import { type Message, readMessage } from "../hub/message.ts"
import { codeOf, type OpenedStream, type StreamRequest } from "./connection.ts"
import type { Progress } from "./progress.ts"
import { type SsePart, SseReader } from "./sse-reader.ts"
import { visible } from "./visible.ts"

/** What a tail is made of. */
export interface TailParts {
  open: (request: StreamRequest, signal: AbortSignal) => Promise<OpenedStream>
  /** What is asked for, apart from where to begin. Without `live` the end comes with the end of what is held. */
  request: Omit<StreamRequest, "from">
  /** Whether a lost connection is taken up again; else its loss is the end. */
  retries: boolean
  progress: Progress
  /** Shows an event, each once. Resolves when the next may come. */
  show: (message: Message) => Promise<void>
  /** One line about the connection. */
  complain: (line: string) => void
  /** What a failure means and what to do. */
  explain: (failure: Failure) => string
  timers: Timers
  /** From 0 to below 1. */
  random: () => number
  /** Its abort is the reader's wish to end. */
  signal: AbortSignal
}

/** A connection that did not come about. */
export type Failure = Exclude<OpenedStream, { kind: "open" }>

/** `ended`: as asked, with the number of events that came. `failed`: `detail` says what to do. */
export type TailEnd = { kind: "ended"; events: number } | { kind: "failed"; detail: string }

const BACKOFF_FIRST_MS = 500
const BACKOFF_MOST_MS = 10_000
/** A service that is there answers at once. */
const ANSWER_MS = 15_000
/** A service speaks at least every 30 s (AEP-0003 §3.3); one that misses three times is gone. */
const SILENCE_MS = 90_000

/** Its name is what a reader is told. */
const LATE = new DOMException("too late", "TimeoutError")

/** What asking again cannot mend: the call, or the token. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403])
/** Answers of servers to whom an address is too long. */
const TOO_LONG: ReadonlySet<number> = new Set([413, 414, 431])

/** Runs until the end of what was asked for, the reader's wish, or a failure that waiting does not mend. */
export function tail(parts: TailParts): Promise<TailEnd> {
  return new Tail(parts).run()
}

type Ending = { kind: "complete" } | { kind: "lost"; reason: string }
const COMPLETE: Ending = { kind: "complete" }

class Tail {
  private readonly backoff: Backoff
  private events = 0
  private isFirst = true
  /** An outage that was told of. */
  private isLost = false
  /** Sessions that the last request did not go on in. */
  private left = 0
  /** The service said that it ends this connection. */
  private isClosing = false
  private hasToldOfStrange = false

  constructor(private readonly parts: TailParts) {
    this.backoff = new Backoff(parts.random, BACKOFF_FIRST_MS, BACKOFF_MOST_MS)
  }

  async run(): Promise<TailEnd> {
    const { signal, request, complain } = this.parts
    while (!signal.aborted) {
      const connection = new AbortController()
      const both = AbortSignal.any([signal, connection.signal])
      const opened = await this.within(ANSWER_MS, connection, () => this.open(both))
      if (signal.aborted) break
      if (opened.kind !== "open") {
        const verdict = this.judge(opened)
        if (verdict === "again") continue
        if (verdict === "end") return { kind: "failed", detail: this.parts.explain(opened) }
      } else {
        this.isFirst = false
        this.tellBack()
        const ending = await this.read(opened.chunks, connection)
        if (ending.kind === "complete") break
        if (signal.aborted) break
        if (!request.live) return { kind: "failed", detail: cutShort(ending.reason) }
        if (!this.parts.retries) return { kind: "failed", detail: leftAlone(ending.reason) }
        complain(`the connection is lost (${ending.reason}); trying to connect again`)
        this.isLost = true
      }
      await this.pause(this.backoff.next())
    }
    return { kind: "ended", events: this.events }
  }

  private tellBack(): void {
    const { complain } = this.parts
    if (this.isLost) complain("the connection is back")
    this.isLost = false
    if (this.left > 0) {
      complain(`sessions not resumed, since more do not fit: ${this.left}; events of theirs may be missing`)
    }
  }

  private open(signal: AbortSignal): Promise<OpenedStream> {
    const { progress, request, open } = this.parts
    const { text, left } = this.isFirst ? progress.first() : progress.resume()
    this.left = left
    return open({ ...request, from: text }, signal)
  }

  private judge(failure: Failure): "again" | "wait" | "end" {
    if (this.isFirst) return "end"
    if (failure.kind === "unreachable") return "wait"
    if (failure.error === "limit-exceeded" || TOO_LONG.has(failure.status)) {
      return this.parts.progress.shrink() ? "again" : "end"
    }
    return FINAL.has(failure.status) ? "end" : "wait"
  }

  private async read(chunks: ReadableStream<Uint8Array>, connection: AbortController): Promise<Ending> {
    const sse = new SseReader()
    const reader = chunks.getReader()
    const { request, signal } = this.parts
    this.isClosing = false
    try {
      for (;;) {
        const drawn = await this.within(SILENCE_MS, connection, () => draw(reader))
        if (drawn.kind === "broken") return { kind: "lost", reason: drawn.code }
        if (drawn.kind === "over") break
        for (const part of sse.push(drawn.chunk)) {
          if (!request.live && part.kind === "comment" && part.text === "replay-complete") return COMPLETE
          await this.take(part)
          if (signal.aborted) return COMPLETE
        }
      }
    } finally {
      connection.abort()
    }
    // Other servers may end what is held without a word; one that says why has not come to its end.
    return request.live || this.isClosing ? { kind: "lost", reason: "the service ended it" } : COMPLETE
  }

  private async take(part: SsePart): Promise<void> {
    switch (part.kind) {
      case "event":
        await this.takeEvent(part.data)
        return
      case "comment":
        this.hear(part.text)
        return
      case "oversize":
        this.parts.complain("an event that is too long was passed over")
        return
      default:
        part satisfies never
    }
  }

  private async takeEvent(data: string): Promise<void> {
    this.backoff.reset()
    const read = readMessage(data)
    if (read.kind === "invalid") {
      if (!this.hasToldOfStrange) {
        this.parts.complain(`what is no event is passed over: ${visible(read.detail)}; more such is not told`)
      }
      this.hasToldOfStrange = true
      return
    }
    if (!this.parts.progress.take(read.message.event)) return
    this.events += 1
    await this.parts.show(read.message)
  }

  private hear(text: string): void {
    const { complain } = this.parts
    const [, session, earliest] = /^replay-exhausted ([\s\S]+) (\d+:\d+)$/.exec(text) ?? []
    const [, dropped] = /^dropped (\d+)$/.exec(text) ?? []
    const [, reason] = /^closing\b ?([\s\S]*)$/.exec(text) ?? []
    if (text === "ping") this.backoff.reset()
    else if (session !== undefined && earliest !== undefined) {
      complain(
        `session ${visible(session)}: what came before ${earliest} is no longer held there; its log has it`,
      )
    } else if (dropped !== undefined) {
      complain(`${dropped} events of severity debug or info were dropped there, since we read too slowly`)
    } else if (reason !== undefined) {
      this.isClosing = true
      complain(`the service closes the stream: ${visible(reason)}`)
    }
  }

  /** Aborts the connection when `run` takes longer. */
  private async within<T>(ms: number, connection: AbortController, run: () => Promise<T>): Promise<T> {
    const timer = this.parts.timers.set(() => connection.abort(LATE), ms)
    try {
      return await run()
    } finally {
      this.parts.timers.clear(timer)
    }
  }

  private pause(ms: number): Promise<void> {
    const { timers, signal } = this.parts
    if (signal.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = timers.set(resolve, ms)
    const wake = (): void => {
      timers.clear(timer)
      resolve()
    }
    signal.addEventListener("abort", wake, { once: true })
    return promise.finally(() => signal.removeEventListener("abort", wake))
  }
}

type Drawn = { kind: "chunk"; chunk: Uint8Array } | { kind: "over" } | { kind: "broken"; code: string }

async function draw(reader: {
  read: () => Promise<{ done: boolean; value?: Uint8Array | undefined }>
}): Promise<Drawn> {
  try {
    const { done, value } = await reader.read()
    return done || value === undefined ? { kind: "over" } : { kind: "chunk", chunk: value }
  } catch (error) {
    return { kind: "broken", code: codeOf(error) }
  }
}

function leftAlone(reason: string): string {
  return `the connection is lost (${reason}); next: the same call, which goes on over an outage without --no-retry`
}

function cutShort(reason: string): string {
  return `the connection was lost before all that is held was shown (${reason}); next: the same call again`
}
