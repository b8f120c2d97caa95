/**
 * What the rules across lines read of a line, however damaged it is: each attribute only if it has its JSON type. So one
 * bad attribute costs one finding, and not a second one for everything that refers to the event. Judges nothing.
 */
import { CAPTURES, type Capture, DEFAULT_CAPTURE, type Placement, placementOf } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import type { Code } from "./codes.ts"

/** An event as far as it can be read. */
export interface Read {
  line: number
  id: string
  source: string
  type: string
  placement: Placement
  agent: string | undefined
  subject: string | undefined
  session: string | undefined
  run: string | undefined
  cause: string | undefined
  seq: number | undefined
  /** 0 when absent (AEP-0001 §5.1). */
  epoch: number
  /** The declared level, or the default; undefined when something else than a level is declared. */
  capture: Capture | undefined
  data: Record<string, unknown> | undefined
  /** The whole line. */
  raw: Record<string, unknown>
  /**
   * The session and its owner as one number, for events that have a place in it; the same session string from two
   * sources is two sessions (AEP-0001 §5.2). Undefined for agent-scoped events and for those sent by others.
   */
  owner: number | undefined
}

/** How a rule says what it found. `field` is a path of names the protocol defines, never of the file's own. */
export type Tell = (code: Code, detail: string, field?: string) => void

/** A rule is asked about every event once, in the order of the lines, and keeps what it has to remember. */
export type Rule = (event: Read, tell: Tell) => void

/** Reads a line's attributes; undefined where it names no type, id or source, by which everything else is keyed. */
export function readEvent(
  raw: Record<string, unknown>,
  line: number,
  ownerOf: (source: string, session: string) => number,
): Read | undefined {
  const type = text(raw.type)
  const id = text(raw.id)
  const source = text(raw.source)
  if (type === undefined || id === undefined || source === undefined) return undefined
  const placement = placementOf(type)
  const session = text(raw.session)
  return {
    line,
    id,
    source,
    type,
    placement,
    agent: text(raw.agent),
    subject: text(raw.subject),
    session,
    run: text(raw.run),
    cause: text(raw.cause),
    seq: counter(raw.seq),
    epoch: counter(raw.epoch) ?? 0,
    capture: raw.capture === undefined ? DEFAULT_CAPTURE : CAPTURES.find((level) => level === raw.capture),
    data: isObject(raw.data) ? raw.data : undefined,
    raw,
    owner: placement === "sequenced" && session !== undefined ? ownerOf(source, session) : undefined,
  }
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

const counter = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined
