/**
 * What the agent says on its own event stream (`GET /event`), kept from the first byte: the driver learns request
 * ids and ends of turns here, independent of the plugin under test, on every version alike.
 */
import { waitFor } from "./wait.ts"

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
  close: () => void
}

/** Connects and resolves once the stream is open. */
export async function openBus(url: string): Promise<Bus> {
  const stop = new AbortController()
  const events: AgentEvent[] = []
  const response = await fetch(`${url}/event`, { signal: stop.signal })
  if (!response.ok || response.body === null) throw new Error(`GET /event answered ${response.status}`)
  void follow(response.body, events, stop.signal)
  return {
    seen: () => events,
    until: (what, deadlineMs, fits, times = 1) =>
      waitFor(
        what,
        deadlineMs,
        () => events.filter(fits)[times - 1],
        () => `seen: ${events.map(({ type }) => type).join(" ")}`,
      ),
    close: () => stop.abort(),
  }
}

async function follow(body: ReadableStream<Uint8Array>, events: AgentEvent[], signal: AbortSignal) {
  let rest = ""
  const decoder = new TextDecoder()
  try {
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true })
      const lines = rest.split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        if (line.startsWith("data: ")) events.push(readEvent(line.slice(6)))
      }
    }
  } catch (error) {
    // The stream ends with the agent or with us; a wait that still needed it names what is missing.
    if (!signal.aborted) events.push({ type: "driver.stream.lost", properties: { error: String(error) } })
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
