/**
 * Secrets that are given to a name: `password=...`, `"token": "..."`, `AWS_SECRET_ACCESS_KEY=...`, `--password ...`
 * (AEP-0003 §9.4 a). A scanner, not a pattern, because what is a value depends on quotes and on the kind of name, and a
 * pattern for that takes quadratic time on hostile text. Names stay readable, values go.
 */
import { AFTER_ESCAPE } from "../map/tokens.ts"
import { isCookieName, isHeaderName, isSecretName } from "./secret-names.ts"
import { type AddSpan, SECRET } from "./spans.ts"

const SCHEME = /^(?:basic|bearer|digest|negotiate|token|apikey|aws4-hmac-sha256)$/i
const BLOCK_SCALAR = /^[|>][+-]?\d?(?:\\+[nr])*$/
const FLAG = new RegExp(String.raw`(?:(?<![\w-])|${AFTER_ESCAPE})--[A-Za-z][\w-]*`, "g")
/** White space, also as JSON inside JSON writes it. */
const GAP = /(?:\s|\\{1,8}[nrt])*/y
/** Deeper escaped quotes are read as part of the value. */
const MAX_ESCAPES = 8

/** Finds the values of all assignments to secret names. */
export function findAssigned(text: string, add: AddSpan): void {
  const values = new Values(text)
  const separator = /[=:]/g
  let from = 0
  for (let found = separator.exec(text); found !== null; found = separator.exec(text)) {
    const name = nameBefore(text, found.index, from)
    const start = skip(text, found.index, SEPARATORS)
    from = start
    if (name !== undefined) from = values.take(name, skip(text, start, SPACES), add) ?? start
    separator.lastIndex = from
  }
}

/** Finds what follows a flag with a secret name; `--flag=value` is an assignment. */
export function findFlagged(text: string, add: AddSpan): void {
  if (!text.includes("--")) return
  const values = new Values(text)
  for (const { 0: flag, index } of text.matchAll(FLAG)) {
    const end = index + flag.length
    const start = skip(text, end, BLANKS)
    if (start === end || text[start] === "-" || !isSecretName(flag)) continue
    values.take({ name: flag, quoted: false }, start, add)
  }
}

interface Name {
  name: string
  /** In quotes of its own, as in JSON: then the value ends where JSON ends it. */
  quoted: boolean
}

/** The name before a separator, if it is a secret's. Never looks back beyond `from`, where the last value ended. */
function nameBefore(text: string, separator: number, from: number): Name | undefined {
  let end = separator
  while (end > from && isOf(SPACES, text.charCodeAt(end - 1))) end -= 1
  const bare = end
  while (end > from && isOf(CLOSERS, text.charCodeAt(end - 1))) end -= 1
  let start = end
  while (start > from && isOf(NAME, text.charCodeAt(start - 1))) start -= 1
  if (start === end) return undefined
  const name = text.slice(start, end)
  return isSecretName(name) || isCookieName(name) ? { name, quoted: end < bare } : undefined
}

/** Reads values of one text; remembers which quotes have no end, so that no search is made twice. */
class Values {
  private readonly endless = new Set<string>()

  constructor(private readonly text: string) {}

  /** Adds the value that begins at `start` and says where it ends; absent when there is none. */
  take({ name, quoted }: Name, start: number, add: AddSpan): number | undefined {
    const { text } = this
    if (start >= text.length) return undefined
    const opening = openingAt(text, start)
    const close = opening === "" ? -1 : this.closing(opening, start + opening.length)
    if (close !== -1) {
      const after = close + opening.length
      const isWhole = quoted || this.isEnd(after)
      const end = isWhole ? close : this.shellWordEnd(after)
      add(isWhole ? start + opening.length : start, end)
      return isWhole ? after : end
    }
    const end = this.bareEnd(name, quoted, start)
    add(start, end)
    return end
  }

  private bareEnd(name: string, quoted: boolean, start: number): number {
    const { text } = this
    if (text.startsWith(SECRET, start) && this.isEnd(start + SECRET.length)) return start + SECRET.length
    GAP.lastIndex = start
    const word = GAP.test(text) && GAP.lastIndex < text.length ? GAP.lastIndex : start
    return this.valueEnd(name, quoted, word)
  }

  private valueEnd(name: string, quoted: boolean, start: number): number {
    const { text } = this
    const bracket = quoted ? this.bracketEnd(start) : -1
    if (bracket !== -1) return bracket
    const end = quoted ? jsonEnd(text, start) : wordEnd(text, start)
    const word = end - start > 32 ? "" : text.slice(start, end)
    if (isCookieName(name) || (isHeaderName(name) && SCHEME.test(word))) {
      return Math.max(end, find(text, LINE_ENDERS, end))
    }
    // YAML: the value stands on the next line.
    if (BLOCK_SCALAR.test(word)) return find(text, LINE_ENDERS, skip(text, end, SPACES))
    return end
  }

  /** Whether no value goes on here: a quote before white space closes something around it. */
  private isEnd(at: number): boolean {
    const unit = this.text.charCodeAt(at)
    if (at >= this.text.length || isOf(ENDERS, unit)) return true
    return isOf(CLOSERS, unit) && (at + 1 >= this.text.length || isOf(ENDERS, this.text.charCodeAt(at + 1)))
  }

  /** A shell joins what touches: `"a"'b'c` is one word. */
  private shellWordEnd(from: number): number {
    let at = from
    while (!this.isEnd(at)) {
      const opening = openingAt(this.text, at)
      const close = opening === "" ? -1 : this.closing(opening, at + opening.length)
      at = close === -1 ? at + 1 : close + opening.length
    }
    return at
  }

  /** Where the JSON object or list that begins here ends, or -1. */
  private bracketEnd(start: number): number {
    if (!isOf(OPENERS, this.text.charCodeAt(start)) || this.endless.has("{")) return -1
    const mark = /["{}[\]]/g
    let depth = 0
    mark.lastIndex = start
    for (let found = mark.exec(this.text); found !== null; found = mark.exec(this.text)) {
      if (found[0] === '"') {
        const close = this.closing('"', found.index + 1)
        if (close === -1) break
        mark.lastIndex = close + 1
      } else depth += found[0] === "{" || found[0] === "[" ? 1 : -1
      if (depth === 0) return found.index + 1
    }
    this.endless.add("{")
    return -1
  }

  /** Where the quote that `opening` began ends, or -1. A bare quote may be escaped inside. */
  private closing(opening: string, from: number): number {
    if (this.endless.has(opening)) return -1
    for (let at = this.text.indexOf(opening, from); at !== -1; at = this.text.indexOf(opening, at + 1)) {
      if (opening.length > 1 || !isEscaped(this.text, at, from)) return at
    }
    this.endless.add(opening)
    return -1
  }
}

function openingAt(text: string, start: number): string {
  let at = start
  while (text[at] === "\\" && at - start < MAX_ESCAPES) at += 1
  return isOf(QUOTES, text.charCodeAt(at)) ? text.slice(start, at + 1) : ""
}

function isEscaped(text: string, at: number, from: number): boolean {
  let before = at
  while (before > from && text[before - 1] === "\\") before -= 1
  return (at - before) % 2 === 1
}

const wordEnd = (text: string, from: number): number => find(text, SPACES, from)
const jsonEnd = (text: string, from: number): number => find(text, JSON_ENDERS, from)

function skip(text: string, from: number, set: CharSet): number {
  let at = from
  while (at < text.length && isOf(set, text.charCodeAt(at))) at += 1
  return at
}

function find(text: string, set: CharSet, from: number): number {
  let at = from
  while (at < text.length && !isOf(set, text.charCodeAt(at))) at += 1
  return at
}

type CharSet = Uint8Array

function setOf(characters: string): CharSet {
  const set = new Uint8Array(128)
  for (const character of characters) set[character.charCodeAt(0)] = 1
  return set
}

const isOf = (set: CharSet, unit: number): boolean =>
  unit < 128 ? set[unit] === 1 : set === SPACES && WIDE_SPACE.test(String.fromCharCode(unit))

const WIDE_SPACE = /\s/
const WORDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
const NAME = setOf(WORDS)
const BLANKS = setOf(" \t")
const SPACES = setOf(" \t\n\r\f\v")
const QUOTES = setOf("\"'`")
const OPENERS = setOf("{[")
const CLOSERS = setOf("\"'`\\]")
const SEPARATORS = setOf("=:>")
const ENDERS = setOf(" \t\n\r\f\v,;)}]&|<>")
const JSON_ENDERS = setOf(" \t\n\r,}]")
const LINE_ENDERS = setOf("\n\r\"'`")
