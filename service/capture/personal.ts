/**
 * Rule (d) of the redaction pipeline (AEP-0003 §9.4): e-mail addresses and phone numbers. What looks like a phone number
 * and is an address of a machine, a date, a decimal, a time stamp or a plain count is left alone. Linear on any text.
 */
import { AFTER_ESCAPE } from "../map/tokens.ts"
import type { AddSpan, FindSpans } from "./spans.ts"

const LOCAL = /[\w.%+-]/
const DOMAIN = /[A-Za-z0-9.-]*/y
const DOMAIN_END = /^[A-Za-z0-9.-]*\.[A-Za-z]{2,}/

/** E-mail addresses, found from their `@`; letters of all languages before it. */
function findEmails(text: string, add: AddSpan): void {
  let from = 0
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    let start = at
    while (start > from && isLocal(text, start - 1)) start -= 1
    // In JSON inside JSON the letter of an escape is none of the address.
    if (text[start - 1] === "\\" && start + 1 < at) start += 1
    DOMAIN.lastIndex = at + 1
    const domain = DOMAIN.exec(text)?.[0].match(DOMAIN_END)?.[0]
    if (start < at && domain !== undefined) add(start, at + 1 + domain.length)
    from = at + 1
  }
}

const isLocal = (text: string, at: number): boolean =>
  text.charCodeAt(at) > 127 || LOCAL.test(text.charAt(at))

/** 7 to 20 digits, at most three separators between two of them. */
const PHONE = new RegExp(
  String.raw`(?:(?<![\w.-])|${AFTER_ESCAPE})\+?\(?\d(?:[ \t\u00a0().-]{0,3}\d){6,19}(?!\w)`,
  "g",
)

function findPhones(text: string, add: AddSpan): void {
  for (const { 0: match, index } of text.matchAll(PHONE)) {
    if (isPhone(match)) add(index, index + match.length)
  }
}

function isPhone(candidate: string): boolean {
  const digits = candidate.replace(/\D/g, "")
  if (digits.length > 15) return false
  if (candidate.startsWith("+")) return true
  // Bare digits: an epoch in seconds or milliseconds, a count of bytes and a build number look like this too.
  if (digits.length === candidate.length) return /^\d{10,12}$/.test(digits) && !/^1[4-9]\d{8}$/.test(digits)
  return candidate.length >= 8 && !NO_PHONE.some((shape) => shape.test(candidate))
}

const NO_PHONE: readonly RegExp[] = [
  // IPv4, and versions of that form.
  /^\d{1,4}(?:\.\d{1,4}){3}$/,
  // ISO date, alone or with a time; a date as Europe writes it.
  /^\d{4}-[01]\d-[0-3]\d/,
  /^[0-3]?\d[.-][01]?\d[.-]\d{4}$/,
  // A decimal.
  /^\d+\.\d+$/,
  // A table of numbers, or a range of lines.
  /^\d{1,3}(?:[ \t]+\d{1,2}){3,}$/,
  // A count beside another number: no group of a number that people read is so long.
  /\d{9}/,
]

/** All parts of rule (d). */
export const PERSONAL_RULES: readonly FindSpans[] = [findEmails, findPhones]
