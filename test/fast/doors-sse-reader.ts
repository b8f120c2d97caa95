/**
 * Reads an SSE stream the way the strictest reader would: LF only, messages end with an empty line, one data line with one
 * space, members in order. Anything else is an error that names the frame. Parts are taken one by one.
 */

/** One message of a stream; a comment stands alone. */
export type Part =
  | { kind: "comment"; text: string }
  | { kind: "event"; type: string; id: string | undefined; data: string }

const EVENT = /^event: ([^\r\n\0]+)\n(?:id: ([^\r\n\0]*)\n)?data: ([^\r\n]+)$/
const COMMENT = /^: ([^\r\n]*)$/

/** See the head of the file. */
export class SseReader {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly decoder = new TextDecoder("utf-8", { fatal: true })
  private text = ""

  constructor(response: Response) {
    if (response.body === null) throw new Error(`no body, but ${response.status}`)
    this.reader = response.body.getReader()
  }

  /** The next message; absent at the end of the stream. */
  async next(): Promise<Part | undefined> {
    for (;;) {
      const end = this.text.indexOf("\n\n")
      if (end !== -1) {
        const frame = this.text.slice(0, end)
        this.text = this.text.slice(end + 2)
        return readFrame(frame)
      }
      const { value, done } = await this.reader.read()
      if (done && this.text !== "") throw new Error(`half a frame at the end: ${JSON.stringify(this.text)}`)
      if (done) return undefined
      this.text += this.decoder.decode(value, { stream: true })
    }
  }

  /** All messages up to the end of the stream. */
  async rest(): Promise<Part[]> {
    const parts: Part[] = []
    for (let part = await this.next(); part !== undefined; part = await this.next()) parts.push(part)
    return parts
  }

  /** The next event, comments passed over; an error at the end of the stream. */
  async event(): Promise<Extract<Part, { kind: "event" }>> {
    for (;;) {
      const part = await this.next()
      if (part === undefined) throw new Error("the stream ended, an event was expected")
      if (part.kind === "event") return part
    }
  }

  cancel(): Promise<void> {
    return this.reader.cancel()
  }
}

function readFrame(frame: string): Part {
  const comment = COMMENT.exec(frame)
  if (comment !== null) return { kind: "comment", text: comment[1] ?? "" }
  const event = EVENT.exec(frame)
  if (event === null) throw new Error(`no frame: ${JSON.stringify(frame.slice(0, 200))}`)
  return { kind: "event", type: event[1] ?? "", id: event[2], data: event[3] ?? "" }
}
