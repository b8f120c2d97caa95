/**
 * Names of our extension attributes (AEP-0001 §5.4). They let the log alone rebuild what a session knows: which
 * moment caused a line (so that a resent moment is not applied twice), and which vendor object it speaks of.
 */

export interface MarkNames {
  /** Plugin instance whose moment caused the event. */
  instance: string
  /** Index of that moment. Absent on events caused by time. */
  moment: string
  /** How many lines of the same moment still follow in this log; absent on the last. */
  more: string
  /** Vendor message id. */
  message: string
  /** Vendor id of a permission ask or question. */
  request: string
  /** Vendor call id, where the payload has no `tool.call_id`. */
  call: string
  /** The road by which an answer reaches the agent. */
  way: string
  /** Root session of the session that asks, where that is another one. */
  root: string
  /** Ids from that root to the session that asks, joined by `/`. */
  path: string
  /** Content digest of a todo without an id of its own. */
  todo: string
  /** On an acknowledgement: what was commanded, and a digest of the command's source and id. */
  command: string
}

/** The names in one vendor's namespace; every name stays within the 20 characters allowed. */
export function markNames(namespace: string): MarkNames {
  return {
    instance: `${namespace}instance`,
    moment: `${namespace}moment`,
    more: `${namespace}more`,
    message: `${namespace}message`,
    request: `${namespace}request`,
    call: `${namespace}call`,
    way: `${namespace}way`,
    root: `${namespace}root`,
    path: `${namespace}path`,
    todo: `${namespace}todo`,
    command: `${namespace}command`,
  }
}

/** The marks that a rule sets. */
export const SAID_MARKS = ["message", "request", "call", "way", "root", "path", "todo", "command"] as const

/** Values for the marks of one event. */
export type Marks = Partial<Record<(typeof SAID_MARKS)[number], string>>
