/**
 * The SSE form of what a subscription is given (AEP-0003 §3.3), as text. Pure. LF only, one `data: ` line a message: a
 * reader that knows no other framing still sees everything. When something is sent is the stream's matter.
 */
import type { Item } from "./queue.ts"
import { eventId } from "./resume.ts"

/** One item as a message or a comment, its empty line included. */
export function frameItem(item: Item): string {
  switch (item.kind) {
    case "event": {
      const { event } = item.message
      const id = eventId(event)
      // The type cannot break a line, by its grammar; neither can the text, by the promise of `Message`.
      return `event: ${event.type}\n${id === undefined ? "" : `id: ${id}\n`}data: ${item.text}\n\n`
    }
    case "exhausted":
      return frameComment(`replay-exhausted ${item.session} ${item.earliest.epoch}:${item.earliest.seq}`)
    case "replayed":
      return frameComment("replay-complete")
    case "frame":
      return item.text
    default:
      return item satisfies never
  }
}

/** A comment, which readers pass over; control characters are written as JSON writes them. */
export function frameComment(text: string): string {
  return `: ${text.replace(CONTROLS, escapeControl)}\n\n`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those that end a line or cut a name are looked for
const CONTROLS = /[\u0000-\u001f\u007f]/g

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
}
