/**
 * A vendor is a row of data: what differs between OpenCode and a fork of it stands here and nowhere else.
 * Texts by which the agent's own decisions are recognised were observed (surface.md §6, §7), not documented.
 */

export interface AskOption {
  id: string
  label: string
}

export interface Profile {
  /** Logical agent name, `agent` on every event. */
  agent: string
  /** Vendor token of `x.{namespace}.*` and prefix of our extension attributes. */
  namespace: string
  /** Decisions of the held 1.0 hook, as the mapping fixtures pin them (AEP-0002 A.7). */
  hookOptions: readonly AskOption[]
  /** Decisions of the agent's own dialog and reply route. */
  askOptions: readonly AskOption[]
  /** How the error text of a tool part begins (after an optional `Error: `) for each way a call is stopped. */
  stoppedBy: {
    rejected: readonly string[]
    dismissed: readonly string[]
    aborted: readonly string[]
    /** A rule of the user's own configuration. */
    userSetting: readonly string[]
  }
}

const ASK_OPTIONS: readonly AskOption[] = [
  { id: "once", label: "Allow once" },
  { id: "always", label: "Always allow" },
  { id: "reject", label: "Reject" },
]

const HOOK_OPTIONS: readonly AskOption[] = [
  { id: "allow", label: "Allow" },
  { id: "deny", label: "Deny" },
]

const STOPPED_BY: Profile["stoppedBy"] = {
  rejected: ["The user rejected permission"],
  dismissed: ["The user dismissed this question"],
  aborted: ["Tool execution aborted", "Task cancelled", "The operation was aborted", "Aborted"],
  // 1.18 and Kilo; 1.0.
  userSetting: [
    "The user has specified a rule which prevents",
    "The user has specifically restricted access",
  ],
}

const OPENCODE: Profile = {
  agent: "opencode",
  namespace: "opencode",
  hookOptions: HOOK_OPTIONS,
  askOptions: ASK_OPTIONS,
  stoppedBy: STOPPED_BY,
}

/** Every vendor known, by logical agent name. */
export const PROFILES: Readonly<Record<string, Profile>> = {
  opencode: OPENCODE,
  kilocode: { ...OPENCODE, agent: "kilocode", namespace: "kilocode" },
}

/** The profile of an agent; absent for a name we do not know, which the door refuses. */
export function profileOf(agent: string): Profile | undefined {
  return Object.hasOwn(PROFILES, agent) ? PROFILES[agent] : undefined
}

/** How a tool call was stopped, from the error text of its part; `error` when it simply failed. */
export function stopOf(
  profile: Profile,
  error: string,
): "rejected" | "dismissed" | "aborted" | "userSetting" | "error" {
  const text = error.startsWith("Error: ") ? error.slice("Error: ".length) : error
  for (const how of ["rejected", "dismissed", "aborted", "userSetting"] as const) {
    if (profile.stoppedBy[how].some((start) => text.startsWith(start))) return how
  }
  return "error"
}
