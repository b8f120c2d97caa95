/**
 * The scripted model with a clock in front: notes when each chat request of a prompt arrives, and hands it on. All agents of the
 * bench speak through it, so its own cost is in every figure alike.
 */
import { type Model, startModel } from "../../test/agent/model.ts"

/** A model that can be asked when it was asked. */
export interface WatchedModel {
  model: Model
  /** Times at which requests whose conversation holds this word arrived, `performance.now()`. */
  arrivals(word: string): readonly number[]
  stop(): Promise<void>
}

/** A word of a script by which its requests are known. */
const WORD = /\bmark-[a-z0-9-]+\b/g

/** Starts both servers. Throws when a port is taken. */
export function startWatchedModel(port: number, modelPort: number): WatchedModel {
  const inner = startModel(modelPort)
  const seen = new Map<string, number[]>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    idleTimeout: 0,
    async fetch(request) {
      const at = performance.now()
      const { pathname } = new URL(request.url)
      const body = request.method === "POST" ? await request.text() : undefined
      // Without tools it is a title that is wanted, beside the prompt.
      if (body?.includes('"tools":[') === true) {
        for (const word of new Set(body.match(WORD))) seen.set(word, [...(seen.get(word) ?? []), at])
      }
      return fetch(`http://127.0.0.1:${modelPort}${pathname}`, {
        method: request.method,
        headers: { "content-type": "application/json" },
        ...(body === undefined ? {} : { body }),
      })
    },
  })
  const url = `http://127.0.0.1:${server.port}/v1`
  return {
    model: { ...inner, url },
    arrivals: (word) => seen.get(word) ?? [],
    async stop() {
      await server.stop(true)
      await inner.stop()
    },
  }
}
