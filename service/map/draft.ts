/**
 * A draft: what an event will say before anyone decided who sends it, where it stands and how much of it may
 * be told. Made by the mapping and by the session rules, gated by `capture`, finished by `emit/envelope.ts`.
 */
import type { Severity } from "../../shared/aep.ts"

export interface Draft {
  /** A registered core type or `x.{vendor}.*`. */
  type: string
  /** The identifier acted on (AEP-0001 §5.1); never content. */
  subject?: string
  /** Set only where the type's default in the severity table does not fit. */
  severity?: Severity
  /** Payload, ungated: for core types every field has its level in `shared/aep.ts`; for `x.*` types only
   *  metadata-safe members stand here, since such types carry no annotations (AEP-0002 §5.1). */
  data: Record<string, unknown>
  /** `x.*` types only: members that are content; merged into `data` at ceiling `redacted` and above. */
  content?: Record<string, unknown>
}
