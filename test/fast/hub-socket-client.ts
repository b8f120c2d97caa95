/**
 * WebSocket clients for tests. `Client` is the runtime's own; all that comes is queued from the first frame on, so that no
 * test races. `RawClient` is bare TCP: it decides what goes into one write, reads only when told to, and can vanish.
 */
import { connect, type Socket } from "node:net"

/** A frame as parsed JSON. */
export type Frame = Record<string, unknown>

export class Client {
  private readonly socket: WebSocket
  private readonly texts: string[] = []
  private wake: (() => void) | undefined
  /** Resolves when the connection is over. */
  readonly closed: Promise<{ code: number; reason: string }>
  private readonly opened: Promise<void>

  private constructor(url: string) {
    this.socket = new WebSocket(url)
    const { promise: opened, resolve: open, reject: fail } = Promise.withResolvers<void>()
    const { promise: closed, resolve: close } = Promise.withResolvers<{ code: number; reason: string }>()
    this.opened = opened
    this.closed = closed
    this.socket.onopen = () => open()
    this.socket.onmessage = ({ data }) => {
      this.texts.push(String(data))
      this.wake?.()
    }
    this.socket.onclose = ({ code, reason }) => {
      fail(new Error("refused"))
      close({ code, reason })
      this.wake?.()
    }
  }

  /** A connection that is open and has said nothing; rejects where it is refused. */
  static async open(url: string): Promise<Client> {
    const client = new Client(url)
    await client.opened
    return client
  }

  /** A connection whose hello was answered. */
  static async greeted(url: string, hello: object): Promise<Client> {
    const client = await Client.open(url)
    client.send(hello)
    const answer = await client.next()
    if (answer.type !== "hello") throw new Error(`expected hello, got ${JSON.stringify(answer)}`)
    return client
  }

  /** Sends frames: objects as JSON, texts and bytes as they are. */
  send(...frames: (object | string)[]): void {
    for (const frame of frames) {
      if (frame instanceof Uint8Array) this.socket.send(frame as Uint8Array<ArrayBuffer>)
      else this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame))
    }
  }

  /** The next text; rejects when the connection ends first. */
  async nextText(): Promise<string> {
    for (;;) {
      const text = this.texts.shift()
      if (text !== undefined) return text
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error("the connection ended")
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  async next(): Promise<Frame> {
    return JSON.parse(await this.nextText())
  }

  /** All that came before the answer to a ping sent now: proof that nothing else was sent. */
  async settled(): Promise<string[]> {
    const t = crypto.randomUUID()
    this.send({ type: "ping", t })
    const before: string[] = []
    for (;;) {
      const text = await this.nextText()
      if (text.includes(t) && text.includes("pong")) return before
      before.push(text)
    }
  }

  /** Sends a frame and returns the next that comes. */
  ask(frame: object | string): Promise<Frame> {
    this.send(frame)
    return this.next()
  }

  async close(): Promise<void> {
    this.socket.close()
    await this.closed
  }
}

/** See the head of the file. */
export class RawClient {
  private constructor(readonly socket: Socket) {}

  /** Opens a connection up to the server's 101, and then reads nothing. */
  static async open(url: string): Promise<RawClient> {
    const { hostname, port, pathname, search } = new URL(url)
    const socket = connect(Number(port), hostname)
    const head = [
      `GET ${pathname}${search} HTTP/1.1`,
      `Host: ${hostname}:${port}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ]
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    socket.once("error", reject)
    socket.once("data", (bytes) => {
      socket.pause()
      resolve(bytes.toString())
    })
    socket.write([...head, "", ""].join("\r\n"))
    const answer = await promise
    if (!answer.startsWith("HTTP/1.1 101")) throw new Error("refused")
    // A server that ends a connection whose client reads nothing resets it.
    socket.on("error", () => undefined)
    return new RawClient(socket)
  }

  /** Sends text frames in one write. */
  send(...frames: (object | string)[]): void {
    const texts = frames.map((frame) => (typeof frame === "string" ? frame : JSON.stringify(frame)))
    this.socket.write(Buffer.concat(texts.map(maskedFrame)))
  }

  /** Reads text frames until one is as asked for. */
  async readUntil(isLast: (frame: Frame) => boolean): Promise<Frame[]> {
    const frames: Frame[] = []
    let rest = Buffer.alloc(0)
    const { promise, resolve, reject } = Promise.withResolvers<Frame[]>()
    this.socket.on("data", (bytes) => {
      rest = Buffer.concat([rest, Buffer.from(bytes)])
      for (;;) {
        const read = readText(rest)
        if (read === undefined) return
        rest = rest.subarray(read.length)
        const frame: Frame = JSON.parse(read.text)
        frames.push(frame)
        if (isLast(frame)) resolve(frames)
      }
    })
    this.socket.once("close", () => reject(new Error("the connection ended")))
    this.socket.resume()
    return promise
  }

  /** Is gone without a word. */
  vanish(): void {
    this.socket.resetAndDestroy()
  }
}

function maskedFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  const head = Buffer.alloc(payload.length < 126 ? 2 : 4)
  head[0] = 0x81
  if (payload.length < 126) head[1] = 0x80 | payload.length
  else {
    head[1] = 0x80 | 126
    head.writeUInt16BE(payload.length, 2)
  }
  // A mask of zeros leaves the payload as it is.
  return Buffer.concat([head, Buffer.alloc(4), payload])
}

/** The first text frame of the server's bytes, which are never masked; `undefined` until it is whole. */
function readText(bytes: Buffer): { text: string; length: number } | undefined {
  if (bytes.length < 4 || bytes[0] !== 0x81) return undefined
  const short = bytes[1] ?? 0
  const at = short < 126 ? 2 : 4
  const size = short < 126 ? short : bytes.readUInt16BE(2)
  if (bytes.length < at + size) return undefined
  return { text: bytes.subarray(at, at + size).toString(), length: at + size }
}
