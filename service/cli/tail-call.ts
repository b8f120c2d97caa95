/**
 * What a call of `opencode-aep tail` asks the service for: options into filter and starting point. Judges only what the
 * service cannot see; a filter is the service's to judge (AEP-0003 §6). Pure. Used by `tail-command.ts`.
 */
import { type From, readLastEventId } from "../hub/resume.ts"

/** The options as they were given, absent where they were not. */
export interface TailOptions {
  url?: string
  home?: string
  session?: string
  agent?: string
  type?: string[]
  severity?: string
  capture?: string
  filter?: string
  from?: string[]
  follow: boolean
  retry: boolean
  json?: boolean
  timeline?: boolean
  verbose?: boolean
}

/** The filter as attr-match, absent when everything is wanted. */
export function filterOf({ session, agent, type, severity, filter }: TailOptions): string | undefined {
  if (filter !== undefined) return filter
  const members = {
    ...(session === undefined ? {} : { session }),
    ...(agent === undefined ? {} : { agent }),
    ...(type === undefined ? {} : { type }),
    ...(severity === undefined ? {} : { severity: { gte: severity } }),
  }
  return Object.keys(members).length === 0 ? undefined : JSON.stringify(members)
}

/** Where to begin; without `--from` what is held when that is all that is wanted, else what happens next. */
export function readFromOption({ from, follow }: TailOptions): { from: From } | { fault: string } {
  if (from === undefined) return { from: { kind: follow ? "live" : "all" } }
  if (from.includes("all")) {
    if (from.length === 1) return { from: { kind: "all" } }
    return { fault: "--from all takes in every position; give either, not both" }
  }
  const positions = new Map(
    from.flatMap((text) => {
      const read = readLastEventId(text)
      return read === undefined ? [] : [[read.session, read.position] as const]
    }),
  )
  if (positions.size === from.length) return { from: { kind: "positions", positions } }
  return {
    fault: "--from takes all, or session:epoch:seq as in ses_1234:0:17, each session once",
  }
}
