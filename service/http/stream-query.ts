/**
 * What a reader of `GET /stream` asks for (AEP-0003 §3.3): filter, ceiling, where to begin, and whether to stay. Fails
 * closed: whatever is not understood is refused before the first byte, never taken for "everything".
 */
import { CAPTURES, type Capture } from "../../shared/aep.ts"
import { type Filter, readFilter } from "../hub/filter.ts"
import { type From, readFrom, readLastEventId } from "../hub/resume.ts"
import { queryOf } from "./access.ts"
import type { Refusal } from "./guard.ts"

/** A query that was understood. `ceiling` absent: events as they are held. */
export interface StreamQuery {
  filter: Filter
  ceiling: Capture | undefined
  from: From
  /** False: the stream ends after the replay. */
  live: boolean
}

/** Reads query and `Last-Event-ID`, over which `from` wins. Unknown parameters are passed over. */
export function readStreamQuery(
  request: Request,
  maxFrom: number,
): { query: StreamQuery } | { refusal: Refusal } {
  const given = queryOf(request)
  for (const name of ["filter", "capture", "from", "live"]) {
    if (given.getAll(name).length > 1) return refused("invalid-query", `${name} is given twice; give it once`)
  }
  const filterText = given.get("filter")
  const filterValue = filterText === null ? { value: undefined } : parseJson(filterText)
  if (filterValue === undefined) return refused("invalid-filter", "filter is not JSON")
  const filter = readFilter(filterValue.value)
  if ("fault" in filter) return refused("invalid-filter", filter.fault)

  const captureText = given.get("capture")
  const ceiling = CAPTURES.find((level) => level === captureText)
  if (captureText !== null && ceiling === undefined) {
    return refused("invalid-query", `capture is no level; give one of ${CAPTURES.join(", ")}`)
  }
  const live = given.get("live") ?? "1"
  if (live !== "0" && live !== "1") return refused("invalid-query", "live is neither 0 nor 1")

  const from = readStart(given.get("from"), request.headers.get("last-event-id"), maxFrom)
  if ("fault" in from) return refused(from.code, from.fault)
  return { query: { filter: filter.filter, ceiling, from: from.from, live: live === "1" } }
}

function readStart(
  text: string | null,
  lastEventId: string | null,
  maxFrom: number,
): ReturnType<typeof readFrom> {
  if (text !== null) {
    const value = text === "all" ? { value: text } : parseJson(text)
    return value === undefined
      ? { fault: "from is neither the word all nor JSON", code: "invalid-filter" }
      : readFrom(value.value, maxFrom)
  }
  // The runtime reads header bytes as Latin-1; browsers send them as UTF-8.
  const last =
    lastEventId === null ? undefined : readLastEventId(Buffer.from(lastEventId, "latin1").toString())
  return last === undefined
    ? readFrom(undefined, maxFrom)
    : { from: { kind: "positions", positions: new Map([[last.session, last.position]]) } }
}

/** The error text of the parser quotes the input, so it is not passed on. */
function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    // Told to the reader by the caller.
    return undefined
  }
}

function refused(error: string, detail: string): { refusal: Refusal } {
  return { refusal: { status: 400, error, detail } }
}
