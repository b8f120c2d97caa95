/**
 * Text of a file made safe to show in a terminal: ids and names come from outside, and control characters in them could
 * move the cursor, hide text or forge a line (AEP-0001 §12). Pure; every command shows file text through it.
 */

// C0 and C1 controls, line and paragraph separators, and what turns the writing direction or shows nothing.
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu

/** The text on one line, each unseen character as its code point in braces. */
export function visible(text: string): string {
  return text.toWellFormed().replace(UNSEEN, (character) => {
    return `{U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}}`
  })
}
