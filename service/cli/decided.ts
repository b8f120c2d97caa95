/** What a command's decision means and what to do, for people: `cancel` and `respond` say it alike. Pure. */
import type { Decided } from "./sender.ts"
import { visible } from "./visible.ts"

/** Exit codes by decision (rules of control senders, AEP-0004 §7). */
export const EXITS = { accepted: 0, lost: 2, refused: 3, rejected: 3, silent: 4 } as const

/** How long a decision may take, milliseconds. */
export const WINDOW_MS = 10_000

const REASONS: Readonly<Record<string, string>> = {
  busy: "the agent does not listen just now; try again in a few seconds",
  invalid: "the service does not understand the command; is it of this version?",
  unsupported: "the session's owner takes no such command",
  unauthorized: "the service does not take the token; next: check AEP_TOKEN, or the file token in its home",
}

/** One line. `reasons`: what the command itself has to say to a reason. */
export function explainDecided(
  decided: Exclude<Decided, { kind: "accepted" }>,
  session: string,
  reasons: Readonly<Record<string, string>>,
): string {
  switch (decided.kind) {
    case "rejected": {
      const { reason, why, detail } = decided
      // The owner's own words are content, and often not told.
      const words = visible(detail) || REASONS[reason] || "the owner of the session said no"
      const told = reasons[why] ?? reasons[reason] ?? words
      return `rejected (${visible([reason, why].filter(Boolean).join(", "))}): ${told}`
    }
    case "refused":
      return decided.code === "no-route"
        ? `no agent that runs now speaks for ${visible(session)}; next: opencode-aep tail shows who works`
        : `refused (${visible(decided.code)}): ${REASONS[decided.code] ?? visible(decided.detail)}`
    case "silent":
      return "no decision within 10 s; what became of it is in the session's record"
    case "lost":
      return `${decided.why}; next: start it with bun run service, or name another with --url`
  }
}
