/** A crowd of consumers in one process of its own, so that they do not share a thread with whoever posts. */
import { join } from "node:path"

/** Consumers that are subscribed to everything. */
export interface Crowd {
  /** Resolves when each of them had `events` events since it came. */
  until(events: number): Promise<{ at: number; delays: number[] }>
  stop(): Promise<void>
}

/** Starts the consumers and waits until all are subscribed. `from` is a resume array, as JSON. */
export async function startCrowd(port: number, count: number, from?: string): Promise<Crowd> {
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, "consumers.ts"),
      `${port}`,
      `${count}`,
      ...(from === undefined ? [] : [from]),
    ],
    { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
  )
  const lines = linesOf(child.stdout)
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error("the consumers ended early")
    return JSON.parse(value)
  }
  await next()
  return {
    until: async (events) => {
      child.stdin.write(`${events}\n`)
      child.stdin.flush()
      return (await next()) as { at: number; delays: number[] }
    },
    stop: async () => {
      child.stdin.end()
      await child.exited
    },
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true })
    for (let feed = rest.indexOf("\n"); feed >= 0; feed = rest.indexOf("\n")) {
      yield rest.slice(0, feed)
      rest = rest.slice(feed + 1)
    }
  }
}
