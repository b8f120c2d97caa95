/**
 * The client of the bench: some connections, on each one request after the other, as a plugin does. Requests are
 * written beforehand and sent from memory, since a client that costs more than the server hides the server.
 */
import { createMix, type Mix } from "./mix.ts"
import { CREDENTIAL } from "./server.ts"

/** Requests of one connection, in order. */
export type Script = readonly Uint8Array[]

/** Writes the requests of one connection: `requests` batches of `size` moments. */
export function writeScript(name: string, port: number, requests: number, size: number): Script {
  return continueScript(createMix(name), name, port, 0, requests, size)
}

/** The same from the `from`-th moment of a mix on, for runs too long to be written at once. */
export function continueScript(
  mix: Mix,
  name: string,
  port: number,
  from: number,
  requests: number,
  size: number,
): Script {
  const instance = { id: `bench-${name}`, agent: "opencode", directory: "/", mode: "serve", plugin: "0" }
  return Array.from({ length: requests }, (_, request) => {
    const first = from + request * size
    const moments = Array.from({ length: size }, (_, index) => mix.next(first + index))
    const body = `{"instance":${JSON.stringify(instance)},"first":${first},"moments":[${moments.join(",")}]}`
    const head = [
      "POST /opencode/moments HTTP/1.1",
      `host: 127.0.0.1:${port}`,
      `authorization: Bearer ${CREDENTIAL}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
    ]
    return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`)
  })
}

/** Sends all scripts side by side. Resolves when every request is answered; throws on an answer that is none. */
export async function drive(port: number, scripts: readonly Script[]): Promise<void> {
  await Promise.all(scripts.map((script) => driveOne(port, script)))
}

function driveOne(port: number, script: Script): Promise<void> {
  return new Promise((resolve, reject) => {
    let at = 0
    let rest: Uint8Array | undefined
    let answer = ""
    const push = (socket: Bun.Socket, bytes: Uint8Array) => {
      const sent = socket.write(bytes)
      rest = sent < bytes.byteLength ? bytes.subarray(sent) : undefined
    }
    const sendNext = (socket: Bun.Socket) => {
      const request = script[at]
      at += 1
      if (request !== undefined) {
        push(socket, request)
        return
      }
      // First, since the end calls `close` at once.
      resolve()
      socket.end()
    }
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: sendNext,
        drain: (socket) => {
          if (rest !== undefined) push(socket, rest)
        },
        data: (socket, chunk) => {
          answer += chunk.toString("latin1")
          // Every answer of every server is one JSON object, with nothing behind it.
          if (!answer.endsWith("}")) return
          if (!answer.startsWith("HTTP/1.1 202") || !answer.includes('"rejected":[]'))
            reject(new Error(answer))
          answer = ""
          sendNext(socket)
        },
        error: (_, error) => reject(error),
        close: () => reject(new Error("the server closed the connection")),
      },
    }).catch(reject)
  })
}
