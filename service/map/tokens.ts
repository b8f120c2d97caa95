/**
 * Credentials that show by their shape alone, without a key beside them (AEP-0003 §9.4 a, and the issuers' own prefixes).
 * Data for two readers: the redaction of text, and the check that an identifier is none. A row is tried only where
 * its `hint` occurs, which makes text without credentials cheap.
 */

/** One shape. `pattern` runs in linear time on any text: no two neighbouring parts of it can match the same character. */
export interface TokenShape {
  /** What every match contains; without it the pattern is not tried. */
  hint: string
  pattern: RegExp
}

/**
 * A word may also begin after what looks like a letter: the escapes of JSON inside JSON (`\\nBearer ...`), and the colours of a
 * terminal (`[32m`). For patterns that must not begin inside a word.
 */
export const AFTER_ESCAPE = String.raw`(?<=\\[nrtbf])|(?<=\[[\d;]{0,16}m)`
/** Where a word begins. */
export const WORD_START = `(?:(?<![A-Za-z0-9])|${AFTER_ESCAPE})`

/** A shape that begins where a word does. */
const word = (hint: string, rest: string): TokenShape => ({
  hint,
  pattern: new RegExp(WORD_START + rest, "g"),
})
const shape = (hint: string, pattern: RegExp): TokenShape => ({ hint, pattern })

/** Every shape known. Where ordinary words could end like a prefix (`task-`, `high_`), no letter may stand before it. */
export const TOKEN_SHAPES: readonly TokenShape[] = [
  shape("AKIA", /AKIA[0-9A-Z]{16}/g),
  shape("ASIA", /ASIA[0-9A-Z]{16}/g),
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((prefix) => word(prefix, String.raw`${prefix}\w{20,}`)),
  shape("github_pat_", /github_pat_\w{20,}/g),
  shape("glpat-", /glpat-[\w-]{20,}/g),
  shape("xox", /xox[abeprs]-[\w-]{10,}/g),
  shape("xapp-", /xapp-[\w-]{10,}/g),
  shape("hooks.slack.com/", /hooks\.slack\.com\/[\w/-]{20,}/g),
  word("sk-", String.raw`sk-[\w-]{20,}`),
  word("_live_", String.raw`[prs]k_live_\w{16,}`),
  word("_test_", String.raw`[prs]k_test_\w{16,}`),
  shape("whsec_", /whsec_[\w+/=-]{16,}/g),
  shape("AIza", /AIza[\w-]{35}/g),
  shape("ya29.", /ya29\.[\w-]{20,}/g),
  word("npm_", "npm_[A-Za-z0-9]{30,}"),
  shape("pypi-", /pypi-[\w-]{40,}/g),
  word("hf_", "hf_[A-Za-z0-9]{30,}"),
  shape("dop_v1_", /dop_v1_[0-9a-f]{40,}/g),
  shape("dckr_pat_", /dckr_pat_[\w-]{20,}/g),
  shape("shpat_", /shpat_[0-9a-f]{32}/g),
  shape("lin_api_", /lin_api_\w{30,}/g),
  shape("SG.", /SG\.[\w-]{16,}\.[\w-]{16,}/g),
  shape("AGE-SECRET-KEY-", /AGE-SECRET-KEY-1[0-9A-Z]{40,}/g),
]

const ANY_HINT = new RegExp(TOKEN_SHAPES.map(({ hint }) => hint.replace(/[.]/g, "[.]")).join("|"))
const JWT_BEGIN = /eyJ[\w-]{4,}\./
/** No shape is shorter. */
const SHORTEST = 15

/** Whether a short text contains a credential of a known shape, or the beginning of a JWT. */
export function hasTokenShape(text: string): boolean {
  if (text.includes("eyJ") && JWT_BEGIN.test(text)) return true
  if (text.length < SHORTEST || !ANY_HINT.test(text)) return false
  return TOKEN_SHAPES.some(({ hint, pattern }) => text.includes(hint) && text.search(pattern) !== -1)
}
