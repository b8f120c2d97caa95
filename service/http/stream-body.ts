/**
 * The body of one SSE stream: drawn by its reader from a queue, so that a reader who does not read costs the queue's bounds
 * and no more (a stream that is pushed into buffers without any). Knows no request; `stream.ts` makes and ends it.
 */
import type { Timers } from "../emit/shelf.ts"
import { Queue } from "../hub/queue.ts"
import { frameComment, frameItem } from "../hub/sse.ts"

/** Bounds of a body, and who is told of its end. */
export interface StreamBodyParts {
  timers: Timers
  /** Above this backlog `debug` and `info` are dropped and counted, bytes. */
  softBytes: number
  /** Above this one the stream ends, bytes. */
  hardBytes: number
  /** Called once, when the stream ended by whichever side. */
  onEnd: () => void
}

/** A comment at least every 30 s is asked for (AEP-0003 §3.3). */
const TICK_MS = 15_000
/** A reader who takes nothing for so many ticks, with a backlog, is gone or as good as gone: 30 to 45 s. */
const STALLED_TICKS = 3
/** The most a reader is given at once, bytes: one who takes so much of a large event in a while is slow and not gone. */
const CHUNK = 64 * 1024
const NOTHING = new Uint8Array()

const encoder = new TextEncoder()

/** See the head of the file. */
export class StreamBody {
  readonly queue: Queue
  readonly stream: ReadableStream<Uint8Array>
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Set while the reader waits for more. */
  private answer: (() => void) | undefined
  private timer: unknown
  private ticks = 0
  /** Framed and not yet given. */
  private rest: Uint8Array = NOTHING
  private isComplete = false
  private hasEnded = false

  constructor(private readonly parts: StreamBodyParts) {
    this.queue = new Queue({
      softBytes: parts.softBytes,
      hardBytes: parts.hardBytes,
      wake: () => {
        if (this.answer !== undefined && this.flush()) this.release()
      },
      overflow: () => this.end("too slow"),
    })
    this.stream = new ReadableStream(
      {
        start: (controller) => {
          this.controller = controller
          // Without a first byte the runtime would hold the headers back.
          this.write(frameComment("open"))
        },
        pull: () => this.pull(),
        cancel: () => this.finish(),
      },
      { highWaterMark: 0 },
    )
    this.timer = parts.timers.set(() => this.tick(), TICK_MS)
  }

  /** Ends the stream behind what it was given already, and says why. May be called twice. */
  end(reason: string): void {
    // What was published in this turn still reaches a reader who waits for it.
    if (this.answer !== undefined) this.flush()
    if (this.hasEnded) return
    // A frame that was begun is ended: half of one would be read as a whole with what follows.
    if (this.rest.length > 0) this.controller?.enqueue(this.rest)
    this.write(frameComment(`closing ${reason}`))
    this.close()
  }

  /** Lets go of everything; the reader is gone. May be called twice. */
  finish(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.parts.timers.clear(this.timer)
    this.queue.close()
    this.release()
    this.parts.onEnd()
  }

  private pull(): Promise<void> | undefined {
    this.ticks = 0
    if (this.hasEnded || this.flush()) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    this.answer = resolve
    return promise
  }

  /** Gives the reader one chunk of what is queued; false when there is nothing. */
  private flush(): boolean {
    if (this.rest.length === 0) this.rest = encoder.encode(this.gather())
    if (this.rest.length === 0) return false
    this.controller?.enqueue(this.rest.subarray(0, CHUNK))
    this.rest = this.rest.subarray(CHUNK)
    if (this.isComplete && this.rest.length === 0) this.close()
    return true
  }

  private gather(): string {
    let text = ""
    while (text.length < CHUNK && !this.isComplete) {
      const item = this.queue.pull()
      if (item === undefined) break
      text += frameItem(item)
      this.isComplete = item.kind === "replayed"
    }
    const dropped = this.queue.isEmpty ? this.queue.takeDropped() : 0
    return dropped === 0 ? text : `${text}${frameComment(`dropped ${dropped}`)}`
  }

  private tick(): void {
    if (this.hasEnded) return
    this.timer = this.parts.timers.set(() => this.tick(), TICK_MS)
    if (this.answer !== undefined) {
      this.write(frameComment("ping"))
      this.release()
      return
    }
    this.ticks += 1
    const hasBacklog = this.rest.length > 0 || !this.queue.isEmpty
    if (this.ticks >= STALLED_TICKS && hasBacklog) this.end("too slow")
  }

  private write(text: string): void {
    this.controller?.enqueue(encoder.encode(text))
  }

  private close(): void {
    this.controller?.close()
    this.finish()
  }

  private release(): void {
    this.answer?.()
    this.answer = undefined
  }
}
