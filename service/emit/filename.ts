/**
 * Where the log of a session lives, relative to the log root: `{agent}/{session}.jsonl`. Session and agent ids
 * are input from outside, so anything that is not plainly safe on every file system is replaced by a readable
 * prefix and a hash. Decides names only; whether a file is really ours is asked by `owner.ts`.
 */
import { createHash } from "node:crypto"
import type { SessionKey } from "../session/store.ts"

/** Ids up to this length ride verbatim; with suffixes a name stays far below the usual 255 bytes. */
const MAX_PLAIN = 120
const MAX_PREFIX = 40
const SUFFIX = ".jsonl"

// Device names that Windows resolves in any folder, with any extension.
const RESERVED = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** Whether `id` may be a file name as it stands: `[A-Za-z0-9._-]`, alphanumeric start, not long, not reserved,
 *  no dot at the end. Says nothing about two ids that differ in case only; `owner.ts` tells those apart. */
export function isPlainName(id: string): boolean {
  return id.length <= MAX_PLAIN && PLAIN.test(id) && !id.endsWith(".") && !RESERVED.test(id)
}

/** A safe prefix of `id`, "~" and `digits` hex digits of its SHA-256. Since "~" is outside the plain alphabet, a
 *  hashed name never equals a plain one. Dots leave the prefix, or `CON.x` would still name the device. */
export function hashedName(id: string, digits: 16 | 64 = 16): string {
  const prefix = id
    .slice(0, MAX_PREFIX)
    .replace(/[^A-Za-z0-9_-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
  // UTF-8 folds every lone surrogate into U+FFFD, and two such ids would share a file.
  const bytes = Buffer.from(id, id.isWellFormed() ? "utf8" : "utf16le")
  return `${prefix}~${createHash("sha256").update(bytes).digest("hex").slice(0, digits)}`
}

/** The verbatim id where that is safe, else its hashed name. */
export function safeName(id: string): string {
  return isPlainName(id) ? id : hashedName(id)
}

/** The folder of an agent's logs below the log root. */
export function agentFolder(agent: string): string {
  return safeName(agent)
}

/** Every file a session may live in, best first: verbatim, hashed, fully hashed. The later ones are for a file
 *  system that ignores case, or a file that somebody else put there. An agent's own events (no session) live in
 *  `_agent.jsonl`, which no session can claim because plain names start with a letter or digit. */
export function candidateFiles(key: SessionKey): string[] {
  const folder = agentFolder(key.agent)
  if (key.session === undefined) return [`${folder}/_agent${SUFFIX}`]
  const names = [hashedName(key.session), hashedName(key.session, 64)]
  if (isPlainName(key.session)) names.unshift(key.session)
  return names.map((name) => `${folder}/${name}${SUFFIX}`)
}

/** Whether a folder entry can be one of our logs. */
export function isLogName(name: string): boolean {
  return name.endsWith(SUFFIX)
}
