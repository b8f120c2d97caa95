/**
 * What the table remembers between moments to tell news from repetition: the last status told per session, and
 * which running tool parts were told. Bounded; forgetting only means that something is told once more.
 */

const MOST = 2000

/** What was told about a running tool part. */
export interface ToldPart {
  input: boolean
  child: boolean
}

/** One per plugin core, or one per replay in a test. */
export interface Memory {
  /** Forward the droppable moments too (`AEP_OPENCODE_STREAM=1`). */
  readonly stream: boolean
  /** Last status told, by session id: its type, for a retry with the attempt. */
  readonly status: Map<string, string>
  /** The first prompt since a session's last idle, by session id: what it works on. */
  readonly prompts: Map<string, string>
  /** Running tool parts told, by part id (call ids repeat with some providers). */
  readonly running: Map<string, ToldPart>
}

/** An empty memory. */
export function createMemory(stream: boolean): Memory {
  return { stream, status: new Map(), prompts: new Map(), running: new Map() }
}

/** Sets a key and forgets the oldest ones above the bound. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= MOST) return
  const oldest = map.keys().next()
  if (oldest.done !== true) map.delete(oldest.value)
}
