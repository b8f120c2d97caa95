/**
 * The checks of the live checker, by name and in its order, and what a control target has still to bring. Data of this suite; `checker.test.ts` holds the suite to the first list, `control.test.ts` prints the second.
 */

/** Each is held by tests of this suite whose names begin with it. */
export const CHECKS = [
  "discovery",
  "version-gate",
  "reject-invalid",
  "ingest-fanout",
  "resume",
  "capture-downlevel",
  "hello-ws",
  "subscribe-limits",
  "ignore-unknown",
  "replay-all",
  "evict-replay-exhausted",
  "evict-byte-identity",
  "roster",
  "control-auth-gate",
  "control-behalf-refusal",
  "control-ack",
  "control-nack-unsupported",
  "control-dedupe",
  "control-cancel",
] as const

/** What the checker asks by default of a session that takes commands, and a session of ours does not take yet. */
export const OWED = [
  { check: "control-ack", owed: "a decision on control.attention.respond; control.cancel has one" },
] as const satisfies readonly { check: (typeof CHECKS)[number]; owed: string }[]
