/**
 * The checks of the live checker, by name and in its order, and what a control target has still to bring for the last
 * four. Data of this suite; `checker.test.ts` holds the suite to the first list, `control.test.ts` prints the second.
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

/** What the checker asks of a session that takes commands; today a session of ours takes none. */
export const OWED = [
  { check: "control-ack", owed: "a decision on a declared command, in the session's own record and in time" },
  {
    check: "control-nack-unsupported",
    owed: "a refusal of the types that the list leaves out, once it has some",
  },
  { check: "control-dedupe", owed: "one decision for a command that comes twice, told with the same bytes" },
  { check: "control-cancel", owed: "one run.cancelled linked to the command or its acceptance" },
] as const satisfies readonly { check: (typeof CHECKS)[number]; owed: string }[]
