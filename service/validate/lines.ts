/**
 * Bytes into lines, with a verdict on how each line is written (AEP-0003 §3.1): one event a line, UTF-8, LF, no blank
 * ones. Holds one line at a time and no more than the longest allowed. Knows nothing of events.
 */
import type { Code } from "./codes.ts"

/** A line that may be read as JSON, or the reason why not. `text` has no line end. */
export interface Line {
  number: number
  /** Absent where the line cannot be read; a fault says why. */
  text?: string
  /** The file ends in it, without a line feed. */
  isUnterminated: boolean
  faults: Code[]
}

/** The longest line that is judged, in bytes, when nothing else is asked for. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024

const LF = 10
const CR = 13
const BOM = [0xef, 0xbb, 0xbf]

/** Cuts a stream of bytes into lines. Chunks may end anywhere. */
export class LineReader {
  private held: Uint8Array[] = []
  private heldBytes = 0
  private isTooLong = false
  private count = 0
  private readonly decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

  constructor(
    private readonly onLine: (line: Line) => void,
    private readonly maxBytes: number = MAX_LINE_BYTES,
  ) {}

  /** Takes the next bytes; they are not kept beyond the line they belong to, so the buffer may be used again. */
  push(chunk: Uint8Array): void {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(LF, start)
      if (end < 0) break
      this.hold(chunk.subarray(start, end), false)
      this.release(false)
      start = end + 1
    }
    this.hold(chunk.subarray(start), true)
  }

  /** Says that no more bytes come: what is held is the last line. */
  end(): void {
    if (this.heldBytes > 0 || this.isTooLong) this.release(true)
  }

  private hold(bytes: Uint8Array, isKept: boolean): void {
    if (bytes.byteLength === 0 || this.isTooLong) return
    if (this.heldBytes + bytes.byteLength > this.maxBytes) {
      this.isTooLong = true
      this.held = []
      return
    }
    this.held.push(isKept ? bytes.slice() : bytes)
    this.heldBytes += bytes.byteLength
  }

  private release(isUnterminated: boolean): void {
    this.count += 1
    const line: Line = { number: this.count, isUnterminated, faults: [] }
    if (this.isTooLong) line.faults.push("line.too-long")
    else this.read(line)
    this.held = []
    this.heldBytes = 0
    this.isTooLong = false
    this.onLine(line)
  }

  private read(line: Line): void {
    let bytes = this.held.length === 1 && this.held[0] !== undefined ? this.held[0] : Buffer.concat(this.held)
    if (this.count === 1 && BOM.every((byte, index) => bytes[index] === byte)) {
      line.faults.push("line.bom")
      bytes = bytes.subarray(BOM.length)
    }
    if (!line.isUnterminated && bytes.at(-1) === CR) {
      line.faults.push("line.crlf")
      bytes = bytes.subarray(0, -1)
    }
    let text: string
    try {
      text = this.decoder.decode(bytes)
    } catch {
      // A lossy reading would judge a text that is not in the file.
      line.faults.push("line.utf8")
      return
    }
    if (text.trim() === "") line.faults.push("line.blank")
    else line.text = text
  }
}
