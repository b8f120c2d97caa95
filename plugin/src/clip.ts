/**
 * Cutting of long strings inside a value, without touching the value: what is changed is copied, the rest is
 * shared. Used by the table (fixed bounds of a field) and by the moment bound; decides no bound itself.
 */
import { type Fields, isFields } from "./fields.ts"

/** Longest text that replaces what was cut, in characters; a cut string is never longer than its bound. */
export const MARKER_LENGTH = 48

const DEEPEST = 64

/**
 * `text` cut to at most `max` characters (at least the marker's length), ending in a marker that says how many
 * were cut. A surrogate pair is never split.
 */
export function clipText(text: string, max: number): string {
  if (text.length <= max) return text
  let keep = Math.max(0, max - MARKER_LENGTH)
  const last = text.charCodeAt(keep - 1)
  if (last >= 0xd800 && last <= 0xdbff) keep -= 1
  // The marker is ASCII: one wider character would double the memory of the whole text and slow its writing.
  return `${text.slice(0, keep)}...[opencode-aep: ${text.length - keep} characters cut]`
}

/**
 * The value with every string longer than `max` characters cut and every binary view replaced. Appends the
 * dotted path of each to `cuts`. Keys are kept. Below 64 levels nothing is looked at.
 */
export function clipStrings(value: unknown, max: number, path: string, cuts: string[], depth = 0): unknown {
  if (typeof value === "string") {
    if (value.length <= max) return value
    cuts.push(path)
    return clipText(value, max)
  }
  if (typeof value !== "object" || value === null || depth > DEEPEST) return value
  if (ArrayBuffer.isView(value)) {
    if (value.byteLength * 4 <= max) return value
    cuts.push(path)
    return `[opencode-aep: ${value.byteLength} bytes cut]`
  }
  if (Array.isArray(value)) return clipArray(value, max, path, cuts, depth)
  return isFields(value) ? clipFields(value, max, path, cuts, depth) : value
}

function clipArray(items: unknown[], max: number, path: string, cuts: string[], depth: number): unknown[] {
  let copy: unknown[] | undefined
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index]
    const clipped = clipStrings(item, max, `${path}.${index}`, cuts, depth + 1)
    if (clipped === item) continue
    copy ??= items.slice()
    copy[index] = clipped
  }
  return copy ?? items
}

function clipFields(fields: Fields, max: number, path: string, cuts: string[], depth: number): Fields {
  let copy: Fields | undefined
  for (const key of Object.keys(fields)) {
    const item = fields[key]
    const clipped = clipStrings(item, max, path === "" ? key : `${path}.${key}`, cuts, depth + 1)
    if (clipped === item) continue
    copy ??= { ...fields }
    copy[key] = clipped
  }
  return copy ?? fields
}
