/** Events for the tests of the hub: well formed, small, told apart by their ids. */

import type { Message } from "../../service/hub/message.ts"
import type { AepEvent } from "../../shared/aep.ts"

let made = 0

/** A sequenced event with a fresh id; members may be replaced, `undefined` takes one away. */
export function eventOf(members: Partial<Record<string, unknown>> = {}): AepEvent {
  made += 1
  const session = members.session ?? "s1"
  const whole: Record<string, unknown> = {
    aep: "0.1",
    id: `E${made}`,
    type: "tool.completed",
    time: "2026-12-01T00:00:00Z",
    source: `aep://host/agent/test/session/${session}`,
    agent: "test",
    session,
    seq: 0,
    ...members,
  }
  for (const name of Object.keys(whole)) if (whole[name] === undefined) delete whole[name]
  return whole as AepEvent
}

/** The same as a message, its members in another order than anybody would write them, so that a rewritten text is
 *  noticed. */
export function messageOf(members: Partial<Record<string, unknown>> = {}): Message {
  const text = JSON.stringify(Object.fromEntries(Object.entries(eventOf(members)).reverse()))
  return { event: JSON.parse(text), text }
}

/** Messages of one session from one position to another, both included. */
export function row(from: number, to: number, members: Partial<Record<string, unknown>> = {}): Message[] {
  return Array.from({ length: to - from + 1 }, (_, index) => messageOf({ ...members, seq: from + index }))
}
