/**
 * Whether a JSON text names a member twice in one object. Readers differ in which of the two they take, so a line could
 * say one thing to its judge and another to somebody else; parsed JSON no longer shows it.
 */

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPEN = { array: 91, object: 123 }
const CLOSE = { array: 93, object: 125 }

/** Whether some object in the text repeats a member. `parsed` is what the text, which must be JSON, was parsed to. */
export function repeatsMember(text: string, parsed: unknown): boolean {
  // What a program wrote comes back as it was, and then nothing was lost in reading: the usual, and the cheap case.
  return JSON.stringify(parsed) !== text && scan(text)
}

function scan(text: string): boolean {
  /** Names met in each object around the current place; undefined for an array. */
  const around: (Set<string> | undefined)[] = []
  let isName = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = endOfText(text, at)
      const names = around.at(-1)
      if (isName && names !== undefined) {
        const name = JSON.parse(text.slice(at, end + 1)) as string
        if (names.has(name)) return true
        names.add(name)
        isName = false
      }
      at = end
    } else if (code === OPEN.object || code === OPEN.array) {
      around.push(code === OPEN.object ? new Set() : undefined)
      isName = code === OPEN.object
    } else if (code === CLOSE.object || code === CLOSE.array) {
      around.pop()
      isName = false
    } else if (code === COMMA) isName = around.at(-1) !== undefined
  }
  return false
}

/** The index of the quote that ends the text which begins at `start`. */
function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}
