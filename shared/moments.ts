/**
 * The contract between the plugin and the service: what the plugin posts to `POST /opencode/moments` and what
 * it gets back. Types only, so that the drop-in can share them and still import nothing at run time.
 *
 * Shapes are those of the official mapping fixtures (`{kind, event}`, `{kind, input, output}`, ...), with the
 * plugin's own index and clock around them. Validation lives at the service's door, not here.
 */

/** How the agent's process was started. `unknown` when its arguments could not be read. */
export type AgentMode = "run" | "tui" | "serve" | "unknown"

/** One activation of the plugin in one directory of one agent process. */
export interface Instance {
  /** Minted by the plugin, `[A-Za-z0-9._-]{1,64}`; never reused. */
  id: string
  /** The vendor's logical name: `opencode`, `kilocode`. */
  agent: string
  /** Absolute directory the agent was started for. A claim, not a permission. */
  directory: string
  worktree?: string
  /** Version of the agent, as far as it is known. */
  version?: string
  mode: AgentMode
  /** Version of the plugin. */
  plugin: string
  /** The plugin carries answers out, so that asks can be answered from elsewhere. Absent = it cannot. */
  answers?: boolean
}

/** A bus event as the agent hands it to the `event` hook, trimmed by the plugin's table. */
export interface BusEvent {
  /** `evt_...`; absent on OpenCode 1.0. */
  id?: string
  type: string
  properties: Record<string, unknown>
}

export interface ToolInput {
  tool: string
  sessionID: string
  callID: string
  args?: unknown
}

/** Which command a decision stands for: its id, and the mark by which the service knows what it decided on it. */
export interface CommandTag {
  command: string
  mark: string
}

/**
 * What happened, without index and clock. `by` on a reply of the bus: the echo of a decision that the plugin delivers right
 * now, and not somebody else's answer. `held`: the agent waits in this hook, and shows no dialog of its own meanwhile.
 */
export type MomentBody =
  | { kind: "bus"; event: BusEvent; by?: CommandTag }
  | { kind: "tool.before"; input: ToolInput; output: { args?: unknown } }
  | { kind: "tool.after"; input: ToolInput; output: unknown }
  | { kind: "permission.ask"; permission: Record<string, unknown>; held?: boolean }
  | { kind: "chat.message"; input: Record<string, unknown>; output: Record<string, unknown> }
  | {
      kind: "delivery"
      request: string
      status: DeliveryStatus
      /** Of an answer: the vendor's session and request, and the command. */
      session?: string
      ask?: string
      by?: CommandTag
    }
  | { kind: "dispose" }

/** One thing the agent did. `n` counts up by one per instance from 0; a gap means the plugin dropped some. */
export type Moment = MomentBody & {
  n: number
  /** Epoch milliseconds at which the hook was entered. */
  at: number
  /** Dotted paths of strings the plugin had to cut to keep the moment under its size bound. */
  cut?: string[]
}

/** Body of `POST /opencode/moments`. No moments = a heartbeat. */
export interface MomentBatch {
  instance: Instance
  /** Index of the first moment of the batch; with no moments, the index the next one will have. */
  first: number
  /** Moments dropped since the last acknowledged batch, by reason or bus type. */
  dropped?: Record<string, number>
  moments: Moment[]
}

/** Why one moment of an otherwise accepted batch was not applied. */
export interface Rejection {
  n: number
  reason: string
}

/** Body of the `202` answer. */
export interface MomentAck {
  /** The lowest index the service has not applied; everything below is durable in the log. */
  next: number
  rejected: Rejection[]
  /** Present and true while events cannot be written to disk. */
  degraded?: boolean
}

/** A decision on its way down. */
export interface DownMessage {
  /** Names the decision, `[A-Za-z0-9._-]{1,64}`; one that comes again is the same one. */
  request: string
  /** JSON text of a `Decision`; parsed only after its proof was checked. */
  decision: string
  /**
   * HMAC-SHA-256(proof key, nonce \0 instance \0 request \0 decision), lower-case hex; proof key = the 32 bytes of
   * HMAC-SHA-256(key, "proof/1").
   */
  proof: string
}

/**
 * What the service decided or a person did. `session` and `ask` are the vendor's ids.
 *
 * - `cancel`: stop the run; `run` is the id of the user message that the session is working on.
 * - `reply`: answer a permission ask over the agent's reply route; `message` is a reason for the model, with `reject` only.
 * - `answers`: answer a question, one list for each of its questions: a number is a choice by its place from 1, a text is
 *   the person's own. The plugin knows the labels, the service need not remember them.
 * - `dismiss`: reject a question.
 * - `hook`: what the held `permission.ask` hook of OpenCode 1.0 sets.
 * - `pending`: the service holds this ask open for `ms` more milliseconds; nobody answered yet.
 * - `lapse`: it does not any more; a held hook is let go untouched.
 */
export type Decision =
  | { kind: "cancel"; session: string; run: string }
  | {
      kind: "reply"
      session: string
      ask: string
      reply: "once" | "always" | "reject"
      message?: string
      by: CommandTag
    }
  | { kind: "answers"; session: string; ask: string; answers: (number | string)[][]; by: CommandTag }
  | { kind: "dismiss"; session: string; ask: string; by: CommandTag }
  | { kind: "hook"; session: string; ask: string; status: "allow" | "deny"; by: CommandTag }
  | { kind: "pending"; session: string; ask: string; ms: number }
  | { kind: "lapse"; session: string; ask: string }

/**
 * Answer of `GET /opencode/instances/{id}/down?nonce=...[&answerable=true|false]`: as soon as there is a message, after a
 * while without one, and at once while `answerable` is not what the plugin takes it to be.
 */
export interface DownAnswer {
  messages: DownMessage[]
  /** Whether somebody could answer asks now. */
  answerable: boolean
}

/**
 * What came of a decision. `done`: the agent took it; what came of it, its own events tell. `stale`: it no longer applies: the
 * ask is void or answered here. `gone`: the agent knows no such ask any more (404): somebody was faster. `failed`: the agent
 * refused it or could not be asked.
 */
export type DeliveryStatus = "done" | "stale" | "gone" | "failed"
