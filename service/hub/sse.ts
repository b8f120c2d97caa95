/**
 * The SSE form of what a subscription is given (AEP-0003 §3.3), as text. Pure. LF only, one `data: ` line a message: a
 * reader that knows no other framing still sees everything. When something is sent is the stream's matter.
 */
import type { Message, Position } from "./message.ts"
import { eventId } from "./resume.ts"

/** One event. The type cannot break a line, by its grammar; neither can the text, by the promise of `Message`. */
export function frameEvent({ event }: Message, text: string): string {
  const id = eventId(event)
  return `event: ${event.type}\n${id === undefined ? "" : `id: ${id}\n`}data: ${text}\n\n`
}

/** A comment, which readers pass over; control characters are written as JSON writes them. */
export function frameComment(text: string): string {
  return `: ${text.replace(CONTROLS, escapeControl)}\n\n`
}

/** Says before the events of a session that older ones are gone; `earliest` is the first that is held. */
export function frameExhausted(session: string, earliest: Position): string {
  return frameComment(`replay-exhausted ${session} ${earliest.epoch}:${earliest.seq}`)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those that end a line or cut a name are looked for
const CONTROLS = /[\u0000-\u001f\u007f]/g

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
}
