/**
 * The redaction pipeline (AEP-0003 §9.4): what redacted-gated content goes through at ceiling `redacted`. Secrets by form
 * and the operator's own values first, then home folders, then personal data; a floor, so it may hide more, never
 * less. Pure. Called by the gate; never applied to what goes back to the agent.
 */
import { findConfigured } from "./configured.ts"
import { hideHomes } from "./homes.ts"
import { PERSONAL_RULES } from "./personal.ts"
import { isSecretMember, isSecretName } from "./secret-names.ts"
import { SECRET_RULES } from "./secrets.ts"
import { PERSONAL, replaceSpans, SECRET } from "./spans.ts"

/** What an operator sets. */
export interface RedactorOptions {
  /** The operator's home folder. */
  home: string
  /** Values of what the operator listed as secret, rule (b). */
  secretValues: readonly string[]
  /** Whether personal data is hidden, rule (d). */
  pii: boolean
}

/** The pipeline of one operator. */
export interface Redactor {
  /** One text, whole: cut in pieces, a secret could stand in two of them. */
  text: (text: string) => string
  /** A structured value: texts at any depth, and members with a secret's name whatever they hold. Undefined where nothing is left. */
  value: (value: unknown) => unknown
}

/** Objects nested deeper than this are left out: hiding more is always legal, and a hostile one could end the process. */
const MAX_DEPTH = 64
/** A shorter member name holds nothing that a rule could find. */
const MIN_REDACTED_NAME = 8

/** Makes the pipeline of one operator. */
export function createRedactor({ home, secretValues, pii }: RedactorOptions): Redactor {
  const secrets = [...SECRET_RULES, findConfigured(secretValues)]
  const hide = hideHomes(home)
  const text = (original: string): string => {
    const told = hide(replaceSpans(original, secrets, SECRET))
    return pii ? replaceSpans(told, PERSONAL_RULES, PERSONAL) : told
  }

  const value = (original: unknown, depth: number): unknown => {
    if (typeof original === "string") return text(original)
    if (typeof original !== "object" || original === null) return original
    if (depth === MAX_DEPTH) return undefined
    return Array.isArray(original) ? list(original, depth) : object(original as Members, depth)
  }

  const list = (original: readonly unknown[], depth: number): unknown[] => {
    const told: unknown[] = []
    original.forEach((item, index) => {
      const flag = original[index - 1]
      const isFlagged = typeof item === "string" && typeof flag === "string" && isSecretFlag(flag)
      const kept = isFlagged ? SECRET : value(item, depth + 1)
      if (kept !== undefined) told.push(kept)
    })
    return told
  }

  const object = (original: Members, depth: number): Members => {
    const told: [string, unknown][] = []
    const isSecretPair = PAIR_NAMES.some((name) => isSecretText(original[name]))
    for (const [name, member] of Object.entries(original)) {
      const isSecret =
        member !== null &&
        (isSecretMember(name) ||
          (typeof member === "string" && (isSecretName(name) || (isSecretPair && name === "value"))))
      const kept = isSecret ? SECRET : value(member, depth + 1)
      if (kept !== undefined) told.push([name.length < MIN_REDACTED_NAME ? name : text(name), kept])
    }
    return Object.fromEntries(told)
  }

  return { text, value: (original) => value(original, 0) }
}

type Members = Record<string, unknown>

/** Lists of headers and variables name their entries so: `{name: "Authorization", value: "..."}`. */
const PAIR_NAMES = ["name", "key", "header", "variable"]

const isSecretText = (name: unknown): boolean => typeof name === "string" && isSecretName(name)
/** `["--password", "..."]`. */
const isSecretFlag = (text: string): boolean => /^--?[A-Za-z][\w-]*$/.test(text) && isSecretName(text)
