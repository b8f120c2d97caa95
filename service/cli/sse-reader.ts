/**
 * Bytes of a `text/event-stream` into its parts: the data of each event, and comments, which is how an AEP service speaks
 * beside its events (AEP-0003 §3.3). Pure; chunks may end anywhere. Holds one event and no more than the longest allowed.
 * Type and id of a message are passed over, since the event itself holds both. Used by `tail.ts`.
 */

/** `oversize`: an event longer than the bound, or a line, which is passed over; what follows it is read. */
export type SsePart =
  | { kind: "event"; data: string }
  | { kind: "comment"; text: string }
  | { kind: "oversize" }

/** The longest line, and the longest event, in bytes, when nothing else is asked for. */
export const MAX_EVENT_BYTES = 32 * 1024 * 1024

const LF = 10
const CR = 13
const BOM = "\ufeff"

/** See the head of the file. */
export class SseReader {
  private held: Uint8Array[] = []
  private heldBytes = 0
  private isLineTooLong = false
  private data: string[] = []
  private dataBytes = 0
  private isEventTooLong = false
  private isAfterCr = false
  private isFirstLine = true
  private parts: SsePart[] = []
  private readonly decoder = new TextDecoder("utf-8", { ignoreBOM: true })

  constructor(private readonly maxBytes: number = MAX_EVENT_BYTES) {}

  /** Takes the next bytes and gives what ends in them; they are not kept, so the buffer may be used again. What a stream
   *  breaks off in is no event, so there is nothing to be said at its end. */
  push(chunk: Uint8Array): SsePart[] {
    this.parts = []
    let start = this.isAfterCr && chunk[0] === LF ? 1 : 0
    if (chunk.byteLength > 0) this.isAfterCr = false
    let lf = chunk.indexOf(LF, start)
    let cr = chunk.indexOf(CR, start)
    while (lf !== -1 || cr !== -1) {
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr
      this.hold(chunk.subarray(start, end), false)
      this.endLine()
      start = end + 1
      if (end === cr && chunk[start] === LF) start += 1
      else this.isAfterCr = end === cr && start === chunk.byteLength
      // Looked for again only when passed, since either may be far away or absent.
      if (lf !== -1 && lf < start) lf = chunk.indexOf(LF, start)
      if (cr !== -1 && cr < start) cr = chunk.indexOf(CR, start)
    }
    this.hold(chunk.subarray(start), true)
    return this.parts
  }

  private hold(bytes: Uint8Array, isKept: boolean): void {
    if (bytes.byteLength === 0 || this.isLineTooLong) return
    if (this.heldBytes + bytes.byteLength > this.maxBytes) {
      this.isLineTooLong = true
      this.held = []
      return
    }
    this.held.push(isKept ? bytes.slice() : bytes)
    this.heldBytes += bytes.byteLength
  }

  private endLine(): void {
    const isTooLong = this.isLineTooLong
    const line = isTooLong ? "" : this.lineText()
    const bytes = this.heldBytes
    this.held = []
    this.heldBytes = 0
    this.isLineTooLong = false
    if (isTooLong) this.dropEvent()
    else this.read(line, bytes)
  }

  private lineText(): string {
    const [only] = this.held
    const text = this.decoder.decode(this.held.length === 1 ? only : Buffer.concat(this.held))
    const isMarked = this.isFirstLine && text.startsWith(BOM)
    this.isFirstLine = false
    return isMarked ? text.slice(BOM.length) : text
  }

  private read(line: string, bytes: number): void {
    if (line === "") {
      this.endEvent()
      return
    }
    const colon = line.indexOf(":")
    const name = colon === -1 ? line : line.slice(0, colon)
    const isSpaced = line[colon + 1] === " "
    const value = colon === -1 ? "" : line.slice(colon + (isSpaced ? 2 : 1))
    if (name === "") this.parts.push({ kind: "comment", text: value })
    else if (name === "data") this.addData(value, bytes)
  }

  private addData(value: string, bytes: number): void {
    if (this.isEventTooLong) return
    if (this.dataBytes + bytes > this.maxBytes) {
      this.dropEvent()
      return
    }
    this.data.push(value)
    // A line costs memory even where it is empty.
    this.dataBytes += bytes
  }

  private dropEvent(): void {
    this.isFirstLine = false
    this.isEventTooLong = true
    this.data = []
  }

  private endEvent(): void {
    if (this.isEventTooLong) this.parts.push({ kind: "oversize" })
    else if (this.data.length > 0) this.parts.push({ kind: "event", data: this.data.join("\n") })
    this.data = []
    this.dataBytes = 0
    this.isEventTooLong = false
  }
}
