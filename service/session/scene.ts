/**
 * What a session rule sees and can do: the state before the moment, the moment's time, and one way to speak.
 * Rules change the state only by emitting (the fold follows every event at once) and by setting hints.
 */
import type { Instance } from "../../shared/moments.ts"
import type { Draft } from "../map/draft.ts"
import type { Profile } from "../map/profile.ts"
import type { Desk } from "./desk.ts"
import type { Marks } from "./marks.ts"
import type { SessionState } from "./state.ts"

/** How an event hangs together with others; all optional. */
export interface Links {
  /** Run the event belongs to; the open run unless said otherwise, `null` for none. */
  run?: string | null
  /** Id of the event that immediately caused this one (AEP-0001 §5.1). */
  cause?: string
  marks?: Marks
  /** Questions of a form, by which `capture` gates answer values (AEP-0002 §5.3). */
  fields?: readonly Record<string, unknown>[]
}

export interface Scene {
  state: SessionState
  profile: Profile
  instance: Instance
  /** Epoch milliseconds of the moment, or of the timer. */
  at: number
  digest: (value: unknown) => string
  desk: Desk
  /** Ids from the root session down to this one, as far as parents are known. */
  lineage: () => readonly string[]
  /** Paths the plugin cut from the moment. */
  cut?: readonly string[] | undefined
  /** Emits one event of this session and returns its id. */
  emit: (draft: Draft, links?: Links) => string
  /** Asks to be woken by `settle` so many milliseconds from now; a later call replaces an earlier one. */
  wake: (delayMs: number) => void
}
