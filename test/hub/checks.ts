/** The checks of the live checker, by name and in its order. Data of this suite; `checker.test.ts` holds the suite to them. */

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
