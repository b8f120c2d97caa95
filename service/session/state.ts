/**
 * What is remembered of a session. The log is the truth: everything a rule decides by is rebuilt from the
 * session's own event lines (`fold.ts`), so a lost database costs nothing. Members marked "hint" are not in the
 * log; losing one can only make the record less detailed, never wrong.
 */
import type { Answerable } from "../attention/answer.ts"
import type { QuestionField } from "../map/attention.ts"
import type { Todo } from "../map/todos.ts"

export interface SessionState {
  agent: string
  session: string
  /** Emitter URI of the first line; constant for the life of the session (AEP-0001 §5.2). */
  source?: string
  /** Epoch milliseconds of `session.started`; absent until it was said. */
  startedAt?: number
  ended: boolean
  parent?: string
  /** Plugin instance that spoke last for this session. */
  instance?: string
  /** Last `session.status` told. */
  status?: string
  run?: OpenRun
  /** Runs opened so far. */
  runs: number
  /** Vendor ids of messages met, newest last, bounded. */
  seenMessages: Set<string>
  /** Calls without a terminal, by vendor call id. */
  tools: Map<string, OpenTool>
  /** Calls closed as aborted whose late completion would still be news, bounded. */
  abortedTools: Map<string, string>
  /** Asks without a terminal, by vendor request id. */
  asks: Map<string, OpenAsk>
  /** How asks ended, by vendor request id, bounded. */
  endedAsks: Map<string, EndedAsk>
  todos: Todo[]
  todoCounter: number
  /** Hint: a user message that may turn out to be a prompt (truth rule 1). */
  candidate?: { message: string; at: number }
  /** The last answer to an ask, to tell a person's from what it took along. */
  lastReply?: { at: number; reply: string }
  /** Calls whose parts are no news: `hook` where one announced the call, else (hint) the status last told of a call
   *  met in parts only, bounded. */
  strangerCalls: Map<string, string>
  /** Hint: the evidence last told of each message, as JSON. */
  told: Map<string, string>
}

export interface OpenRun {
  /** The vendor's user message id where there is one; unique for the life of the session. */
  id: string
  eventId: string
  startedAt: number
  /** Assistant messages of this run, in order of appearance. */
  messages: Map<string, MessageEvidence>
  /** Name of the last `session.error` since the run opened. */
  error?: string
  /** How a call of this run's last step ended, when a person stopped it. */
  stoppedBy?: "rejected" | "dismissed"
  /** When the session last said idle; absent while it works. */
  idleAt?: number
  /** Id of the command that the agent was told to stop the run by. Hint until the command was accepted. */
  cancel?: string
}

export interface MessageEvidence {
  finish?: string
  error?: string
  input?: number
  output?: number
  cost?: number
  /** A compaction's own summary: costs, but decides nothing. */
  compaction: boolean
}

export interface OpenTool {
  name: string
  /** Id of the `tool.requested` event. */
  eventId: string
  at: number
  /** Sub-agent session this call started. */
  child?: string
  /** Id of the `delegation.subagent.started` event. */
  childEventId?: string
}

export interface OpenAsk extends Answerable {
  kind: "permission" | "form"
  /** Id of the `attention.requested` event: the subject of all that follows. */
  eventId: string
  at: number
  callID?: string
  /** Epoch milliseconds at which it lapses; absent in logs that do not say. */
  expiresAt?: number
  /** `respond_via` lists `control`: a command may answer it. */
  isAnswerable: boolean
  /** Id of the command that was accepted for it. */
  accepted?: string
  /** Hint: questions to read the agent's answer by, their labels as digests; absent after a rebuild from the log. */
  questions?: readonly QuestionField[]
}

export interface EndedAsk {
  /** `settled`: answered, or settled along with another. `void`: taken away. `expired`: unanswered. */
  how: "settled" | "void" | "expired"
  /** Id of the `attention.requested` event. */
  eventId: string
  /** Id of its terminal. */
  terminal: string
}

/** State of a session nothing is known of. */
export function initialState(agent: string, session: string): SessionState {
  return {
    agent,
    session,
    ended: false,
    runs: 0,
    seenMessages: new Set(),
    tools: new Map(),
    abortedTools: new Map(),
    asks: new Map(),
    endedAsks: new Map(),
    todos: [],
    todoCounter: 0,
    strangerCalls: new Map(),
    told: new Map(),
  }
}

/** Whether something in the session still waits for an end, so that a silent instance must be noticed. */
export function isOpen(state: SessionState): boolean {
  return (
    state.run !== undefined ||
    state.tools.size > 0 ||
    state.asks.size > 0 ||
    (state.session.startsWith("instance-") && state.startedAt !== undefined && !state.ended)
  )
}

const MAX_REMEMBERED = 512

/** Puts an entry into a bounded map, pushing out the oldest. */
export function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > MAX_REMEMBERED) {
    for (const oldest of map.keys()) {
      map.delete(oldest)
      return
    }
  }
}

/** Puts a member into a bounded set, pushing out the oldest. */
export function rememberMember(set: Set<string>, member: string): void {
  set.delete(member)
  set.add(member)
  if (set.size > MAX_REMEMBERED) {
    for (const oldest of set) {
      set.delete(oldest)
      return
    }
  }
}
