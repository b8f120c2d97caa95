/**
 * What of the agent's words may stand where structure is told (`subject`, ids, names; AEP-0002 §8, AEP-0003 §9.2): only
 * what has the shape of an identifier. Models, tools and other plugins choose some of these values, so each is
 * checked where it is read. D-18 The reference passes them on as they come. Pure.
 */
import { textOf } from "./members.ts"
import { hasTokenShape } from "./tokens.ts"

/** Longest identifier told as it is. */
export const MAX_IDENTIFIER = 128
/** No white space, no quotes, no `/`, `@` or `=`: nothing that makes a sentence, a path, an address or an assignment. */
const PART = /^[A-Za-z0-9_$][\w.:+|~$-]*$/

/** The value if it is an identifier of at most `max` characters and no credential, else absent. */
export function identifierOf(value: unknown, max = MAX_IDENTIFIER): string | undefined {
  const text = textOf(value)
  if (text === undefined || text.length > max || !PART.test(text) || hasTokenShape(text)) return undefined
  return text
}

/** As `identifierOf`, for names in parts such as a model's (`vendor/model:tag`) or a nested command's. */
export function qualifiedNameOf(value: unknown): string | undefined {
  const text = textOf(value)
  if (text === undefined || text.length > MAX_IDENTIFIER || hasTokenShape(text)) return undefined
  return text.split("/").every((part) => PART.test(part)) && !DRIVE.test(text) ? text : undefined
}

const DRIVE = /^[A-Za-z]:\//

/**
 * An id by which things are joined: told as it is if it is an identifier, else `~` and a hash of it, so that nothing is lost
 * of the record but the words. The hash correlates and does not hide, like every digest (AEP-0003 §11).
 */
export function idOf(value: unknown): string | undefined {
  const text = textOf(value)
  if (text === undefined || ALIAS.test(text)) return text
  return identifierOf(text) ?? `~${hash(text)}`
}

/** What `idOf` made itself: it may be asked again. */
const ALIAS = /^~[0-9a-f]{16}$/

/** FNV-1a, twice with different seeds: 64 bits as hex. Needs no runtime, and two ids of one session do not meet. */
function hash(text: string): string {
  let a = 0x811c9dc5
  let b = 0x01000193
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x01000193)
    b = Math.imul(b ^ unit, 0x85ebca6b)
  }
  return hex(a) + hex(b)
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0")
