/**
 * Rule (a) of the redaction pipeline (AEP-0003 §9.4): what is a secret by its form. Each part finds its pieces in
 * linear time on any text; where a plain pattern cannot promise that (blocks without an end, tokens of repeated
 * parts), a scanner does it. Not the operator's own values, which are rule (b).
 */
import { AFTER_ESCAPE, TOKEN_SHAPES, WORD_START } from "../map/tokens.ts"
import { findAssigned, findFlagged } from "./assignments.ts"
import { type AddSpan, type FindSpans, matches } from "./spans.ts"

/**
 * PEM blocks of any label. A block without its end (cut output) takes with it all that could still be a part of it:
 * letters, digits, spaces and the marks of its headers.
 */
export function findPem(text: string, add: AddSpan): void {
  const begin = /-----BEGIN [A-Z0-9 ]+-----/g
  const end = /-----END [A-Z0-9 ]+-----/g
  let isEndless = !text.includes("-----END ")
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    end.lastIndex = begin.lastIndex
    const close = isEndless ? null : end.exec(text)
    isEndless = close === null
    const after = close === null ? endOf(PEM_REST, text, begin.lastIndex) : end.lastIndex
    add(found.index, after)
    begin.lastIndex = after
  }
}

const PEM_REST = /[A-Za-z0-9+/=\s:,\\-]*/y

/** JWT shapes: `eyJ`, and two or more further parts. */
export function findJwt(text: string, add: AddSpan): void {
  let at = text.indexOf("eyJ")
  while (at !== -1) {
    const first = endOf(JWT_PART, text, at)
    const second = text[first] === "." ? endOf(JWT_PART, text, first + 1) : first
    let after = second
    if (second > first + 1 && text[second] === ".") {
      after = endOf(JWT_PART, text, second + 1)
      while (text[after] === "." && endOf(JWT_PART, text, after + 1) > after + 1) {
        after = endOf(JWT_PART, text, after + 1)
      }
      add(at, after)
    } else if (first > at && text[first] === ".") after = first
    at = text.indexOf("eyJ", Math.max(after, at + 3))
  }
}

const JWT_PART = /[\w-]*/y

function endOf(run: RegExp, text: string, from: number): number {
  run.lastIndex = from
  return from + (run.exec(text)?.[0].length ?? 0)
}

/** Tokens after `Bearer`, the scheme in any case; short words after it are prose unless a digit stands in them. */
function findBearer(text: string, add: AddSpan): void {
  for (const { 0: match, 1: token = "", index } of text.matchAll(BEARER)) {
    if (token.length < 8 && !/\d/.test(token)) continue
    add(index + match.length - token.length, index + match.length)
  }
}

const BEARER = new RegExp(String.raw`${WORD_START}bearer\s+([\w.~+/-]+=*)`, "gi")

/** The user part of an address (`https://name:word@host`); the `git` of an SSH address is nobody's. */
function findUserInfo(text: string, add: AddSpan): void {
  if (!text.includes("://")) return
  for (const { 1: user = "", index } of text.matchAll(/:\/\/([^\s/?#"'<>`]*)@/g)) {
    if (user !== "git") add(index + 3, index + 3 + user.length)
  }
}

/** `-u name:word`, as curl takes it; a pair of numbers is a user and a group. */
function findLogin(text: string, add: AddSpan): void {
  if (!text.includes("-u")) return
  for (const { 0: match, 1: pair = "", index } of text.matchAll(LOGIN)) {
    if (!/^\d+:\d+$/.test(pair)) add(index + match.length - pair.length, index + match.length)
  }
}

const LOGIN = new RegExp(
  String.raw`(?:(?<![\w-])|${AFTER_ESCAPE})(?:-u|--user|--proxy-user)(?:[ \t]+|=)["']?([^\s:"']+:[^\s"']+)`,
  "g",
)

/** All parts of rule (a). */
export const SECRET_RULES: readonly FindSpans[] = [
  findPem,
  findJwt,
  findBearer,
  findUserInfo,
  findLogin,
  ...TOKEN_SHAPES.map(({ hint, pattern }) => matches(pattern, hint)),
  findAssigned,
  findFlagged,
]
