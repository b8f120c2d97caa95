/**
 * Pieces of a text to be replaced, found by rules that do not know of each other. All rules of one class look at the
 * original text, so that none can hide from another what it has cut in half. Pure (AEP-0003 §9.4).
 */

/** What stands in the place of a secret. */
export const SECRET = "[REDACTED:secret]"
/** What stands in the place of personal data. */
export const PERSONAL = "[REDACTED:pii]"

/** Takes one piece: from `start` up to, not including, `end`. */
export type AddSpan = (start: number, end: number) => void

/** Finds pieces of a text. Runs in linear time on any text. */
export type FindSpans = (text: string, add: AddSpan) => void

/** The text with the pieces that the rules find replaced; pieces that touch or overlap become one replacement. */
export function replaceSpans(text: string, rules: readonly FindSpans[], replacement: string): string {
  const spans: [number, number][] = []
  const add: AddSpan = (start, end) => {
    if (end > start) spans.push([start, end])
  }
  for (const find of rules) find(text, add)
  if (spans.length === 0) return text
  spans.sort((a, b) => a[0] - b[0])
  let out = ""
  let kept = 0
  let open: [number, number] | undefined
  for (const span of spans) {
    if (open !== undefined && span[0] <= open[1]) {
      open[1] = Math.max(open[1], span[1])
      continue
    }
    if (open !== undefined) {
      out += text.slice(kept, open[0]) + replacement
      kept = open[1]
    }
    open = span
  }
  return open === undefined ? text : out + text.slice(kept, open[0]) + replacement + text.slice(open[1])
}

/** A rule for every match of a global pattern; `group` narrows the piece to that group (the pattern needs the `d` flag). */
export function matches(pattern: RegExp, hint?: string): FindSpans {
  return (text, add) => {
    if (hint !== undefined && !text.includes(hint)) return
    for (const match of text.matchAll(pattern)) add(match.index, match.index + match[0].length)
  }
}
