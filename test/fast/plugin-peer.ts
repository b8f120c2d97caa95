/**
 * The other end of the plugin in its tests: a server that follows the door's contract (skips indexes it has,
 * acknowledges the rest) unless a test makes it misbehave. Not a stand-in for our service, whose own tests are
 * elsewhere; here the subject is what the plugin does when the other side does wrong.
 */
import type { Moment, MomentBatch } from "../../shared/moments.ts"
import { suitePort } from "../ports.ts"

/** One request as it arrived. */
export interface Arrival {
  batch: MomentBatch
  authorization: string | null
  contentType: string | null
  path: string
  bytes: number
}

/** Answers instead of the contract; undefined = the contract. The batch is applied only when it is undefined. */
export type Misbehaviour = (arrival: Arrival, count: number) => Response | Promise<Response> | undefined

/** One poll as it arrived. */
export interface Poll {
  path: string
  nonce: string
  authorization: string | null
  /** What its plugin believes of `answerable`. */
  believes: string | null
  /** It was not answered, and its plugin still waits. */
  isOpen: boolean
  answer(response: Response): void
}

export interface Peer {
  url: string
  arrivals: Arrival[]
  polls: Poll[]
  /** Moments applied, once each, in order of arrival. */
  applied: Moment[]
  misbehave(how: Misbehaviour | undefined): void
  /** The contract's answer to a batch, which it applies. */
  accept(arrival: Arrival): Response
  /** Resolves as soon as the condition holds; it is asked at once and after every arrival. */
  until(condition: () => boolean): Promise<void>
  stop(): Promise<void>
}

/** Starts a peer on the `index`-th port of the fast suite (0-4), or on a Unix socket. */
export function startPeer(index: number, unix?: string): Peer {
  const arrivals: Arrival[] = []
  const applied: Moment[] = []
  const polls: Poll[] = []
  const nextOf = new Map<string, number>()
  const waiting = new Set<() => void>()
  let misbehaviour: Misbehaviour | undefined

  const accept = ({ batch }: Arrival): Response => {
    let next = nextOf.get(batch.instance.id) ?? 0
    for (const moment of batch.moments) {
      if (moment.n < next) continue
      applied.push(moment)
      next = moment.n + 1
    }
    nextOf.set(batch.instance.id, next)
    return Response.json({ next, rejected: [] }, { status: 202 })
  }

  const answer = async (request: Request): Promise<Response> => {
    if (request.method === "GET") return hold(request)
    const text = await request.text()
    const arrival: Arrival = {
      batch: JSON.parse(text),
      authorization: request.headers.get("authorization"),
      contentType: request.headers.get("content-type"),
      path: new URL(request.url).pathname,
      bytes: Buffer.byteLength(text),
    }
    arrivals.push(arrival)
    const response = misbehaviour?.(arrival, arrivals.length) ?? accept(arrival)
    for (const check of waiting) check()
    return response
  }

  /** A poll is held until a test has something for it, or the plugin hangs up. */
  const hold = (request: Request): Promise<Response> => {
    const url = new URL(request.url)
    const { promise, resolve } = Promise.withResolvers<Response>()
    const poll: Poll = {
      path: url.pathname,
      nonce: url.searchParams.get("nonce") ?? "",
      authorization: request.headers.get("authorization"),
      believes: url.searchParams.get("answerable"),
      isOpen: true,
      answer: (response) => {
        poll.isOpen = false
        resolve(response)
      },
    }
    request.signal.addEventListener("abort", () => poll.answer(new Response()), { once: true })
    polls.push(poll)
    for (const check of waiting) check()
    return promise
  }

  const port = suitePort("fast", index)
  const server =
    unix === undefined
      ? Bun.serve({ hostname: "127.0.0.1", port, idleTimeout: 0, fetch: answer })
      : Bun.serve({ unix, fetch: answer })

  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    polls,
    applied,
    accept,
    misbehave(how) {
      misbehaviour = how
    },
    until: (condition) =>
      new Promise((resolve) => {
        const check = () => {
          if (!condition()) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    stop: () => server.stop(true),
  }
}

/** Asks a condition turn by turn until it holds; rejects with `what` after five seconds. For process edges only. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 5000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not seen within five seconds: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
