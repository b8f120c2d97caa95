/**
 * Stands where the service stands and only writes down what the plugin posts: the recorder's ear. It accepts every
 * moment, answers as the service does, and judges nothing.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Instance, Moment, MomentAck, MomentBatch } from "../../shared/moments.ts"

/** A moment with the instance that sent it. */
export type Heard = Moment & { instance: string }

export interface Receiver {
  /** Everything heard so far, in the order it came. */
  moments: () => readonly Heard[]
  /** Who spoke, as last told. */
  instances: () => readonly Instance[]
  /** Milliseconds since something new was heard. */
  quietMs: () => number
  stop: () => Promise<void>
}

/** Listens on a port of the caller's suite and leaves the plugin file for it in `aepHome`. */
export function startReceiver(port: number, aepHome: string): Receiver {
  const moments: Heard[] = []
  const instances = new Map<string, Instance>()
  let last = performance.now()

  const hear = (batch: MomentBatch): MomentAck => {
    const { id } = batch.instance
    instances.set(id, batch.instance)
    // What is sent again after a lost answer is not heard twice.
    const heard = moments.findLast(({ instance }) => instance === id)?.n ?? -1
    const fresh = batch.moments.filter(({ n }) => n > heard)
    if (fresh.length > 0) last = performance.now()
    moments.push(...fresh.map((moment) => ({ ...moment, instance: id })))
    return { next: batch.first + batch.moments.length, rejected: [] }
  }

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (request.method !== "POST" || pathname !== "/opencode/moments") {
        return Response.json({ error: "not_found", detail: "this is a recorder" }, { status: 404 })
      }
      return Response.json(hear((await request.json()) as MomentBatch), { status: 202 })
    },
  })
  const file = { url: `http://127.0.0.1:${server.port}`, key: "recorder" }
  writeFileSync(join(aepHome, "plugin.json"), JSON.stringify(file), { mode: 0o600 })
  return {
    moments: () => moments,
    instances: () => [...instances.values()],
    quietMs: () => performance.now() - last,
    stop: () => server.stop(true),
  }
}
