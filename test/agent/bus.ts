/**
 * What the agent says on its own event stream (`GET /event`), kept from the first byte: the driver learns request
 * ids and ends of turns here, independent of the plugin under test, on every version alike.
 */
import { waitFor } from "./wait.ts"

/** So many types are shown when a wait fails. */
const LAST_SEEN = 60

/** An event of the agent's bus. */
export interface AgentEvent {
  type: string
  properties: Record<string, unknown>
}

export interface Bus {
  seen: () => readonly AgentEvent[]
  /** The `times`-th event, past ones included, that fits. Throws with the types seen when the deadline passes. */
  until: (
    what: string,
    deadlineMs: number,
    fits: (event: AgentEvent) => boolean,
    times?: number,
  ) => Promise<AgentEvent>
  /** Milliseconds since the last event. */
  quietMs: () => number
  close: () => void
}

/** Connects to that address and resolves once the stream is open. */
export async function openBus(url: string): Promise<Bus> {
  const stop = new AbortController()
  const events: AgentEvent[] = []
  let last = performance.now()
  const hear = (event: AgentEvent) => {
    events.push(event)
    last = performance.now()
  }
  const response = await fetch(url, { signal: stop.signal })
  if (!response.ok || response.body === null) throw new Error(`the event stream answered ${response.status}`)
  void follow(response.body, hear, stop.signal)
  return {
    seen: () => events,
    until: (what, deadlineMs, fits, times = 1) =>
      waitFor(
        what,
        deadlineMs,
        () => events.filter(fits)[times - 1],
        () =>
          `last seen: ${events
            .slice(-LAST_SEEN)
            .map(({ type }) => type)
            .join(" ")}`,
      ),
    quietMs: () => performance.now() - last,
    close: () => stop.abort(),
  }
}

async function follow(
  body: ReadableStream<Uint8Array>,
  hear: (event: AgentEvent) => void,
  signal: AbortSignal,
) {
  let rest = ""
  const decoder = new TextDecoder()
  try {
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true })
      const lines = rest.split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        if (line.startsWith("data: ")) hear(readEvent(line.slice(6)))
      }
    }
  } catch (error) {
    // The stream ends with the agent or with us; a wait that still needed it names what is missing.
    if (!signal.aborted) hear({ type: "driver.stream.lost", properties: { error: String(error) } })
  }
}

/** Kilo sends events without properties. */
function readEvent(text: string): AgentEvent {
  const { type, properties = {} } = JSON.parse(text) as {
    type: string
    properties?: AgentEvent["properties"]
  }
  return { type, properties }
}
