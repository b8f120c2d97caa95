/**
 * What a service holds of requests: read once, to its end, and folded into those that wait. Used by `pending-command.ts` and
 * `respond-command.ts`.
 */
import { openStream, type ServiceAddress } from "./connection.ts"
import { explainFailure } from "./failures.ts"
import { Progress } from "./progress.ts"
import { type Change, Requests } from "./requests.ts"
import { tail } from "./tail.ts"

/** What reading needs. */
export interface ReadParts {
  service: ServiceAddress
  session: string | undefined
  /** The command that reads, for what is said where it cannot. */
  command: string
  complain: (line: string) => void
}

/** The requests, and a way to go on with what comes; `detail` says what to do. */
export type HeldRequests =
  | { kind: "read"; requests: Requests; follow: (follow: FollowParts) => Promise<Followed> }
  | { kind: "failed"; detail: string }

/** What following needs. */
export interface FollowParts {
  onChange: (change: Change, text: string) => Promise<void>
  /** Its abort is the reader's wish to end. */
  signal: AbortSignal
}

/** How following ended: as wished, or by what `detail` says. */
export type Followed = { kind: "ended" } | { kind: "failed"; detail: string }

/** Reads all that is held. */
export async function readRequests(parts: ReadParts): Promise<HeldRequests> {
  const { service, session, command, complain } = parts
  const requests = new Requests()
  const progress = new Progress({ kind: "all" })
  const filter = JSON.stringify({ type: ["attention.*"], ...(session === undefined ? {} : { session }) })
  const read = (live: boolean, onChange: FollowParts["onChange"], signal: AbortSignal) =>
    tail({
      open: (request, aborted) => openStream(service, request, aborted),
      request: { filter, capture: undefined, live },
      retries: live,
      progress,
      show: async ({ event, text }) => {
        const change = requests.take(event)
        if (change !== undefined) await onChange(change, text)
      },
      complain,
      explain: (failure) => explainFailure(service, failure, command),
      timers: {
        set: (task, afterMs) => setTimeout(task, afterMs),
        clear: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout> | undefined),
      },
      random: Math.random,
      signal,
    })
  const held = await read(false, async () => undefined, new AbortController().signal)
  if (held.kind === "failed") return held
  return {
    kind: "read",
    requests,
    // The same progress: what was read is passed over when all of it comes again.
    follow: ({ onChange, signal }) => read(true, onChange, signal),
  }
}
