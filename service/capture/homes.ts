/**
 * Rule (c) of the redaction pipeline (AEP-0003 §9.4): home folders become `~`, the operator's own and anybody's. Only
 * where a path begins: `src/home/page.tsx` is no home, `/var/home/ada` is one. Pure.
 */
import { AFTER_ESCAPE, WORD_START } from "../map/tokens.ts"

/** Where an absolute path begins: not inside a word or path, nor in the authority of an address. */
const START = String.raw`(?:(?<=:\/\/)|(?:(?<![\w.~/-])|${AFTER_ESCAPE})(?<!:(?=\/\/)))`
const NAME = String.raw`[^\s/\\"'\x60<>|;:,)(\]}]+`

const UNIX = new RegExp(String.raw`${START}(?:\/+[\w.-]+)*?\/+(?:home|Users)\/+${NAME}`, "g")
// A name in two or three words is one only if the path goes on after it.
const WINDOWS = new RegExp(
  String.raw`${WORD_START}[A-Za-z]:[\\/]+Users[\\/]+(?:${NAME}(?: ${NAME}){1,2}(?=[\\/])|${NAME})`,
  "gi",
)

/** The rule for an operator whose home is `home`; an empty one and `/` name no folder. */
export function hideHomes(home: string): (text: string) => string {
  const own = home.replace(/[\\/]+$/, "")
  return (text) => {
    if (!text.includes("/") && !text.includes("\\")) return text
    let told = own.length < 2 ? text : hideOwn(text, own)
    // Before the others: `d:/Users/ada` is one path, and not what follows a colon.
    if (/:[\\/]+users/i.test(told)) told = told.replace(WINDOWS, "~")
    return told.includes("/home") || told.includes("/Users") ? told.replace(UNIX, "~") : told
  }
}

/** The folder itself and what is in it; `/root` is not a prefix of `/rootfs`. */
function hideOwn(text: string, own: string): string {
  let told = ""
  let kept = 0
  for (let at = text.indexOf(own); at !== -1; at = text.indexOf(own, at + own.length)) {
    const after = at + own.length
    if (/[\w-]/.test(text.charAt(after))) continue
    told += `${text.slice(kept, at)}~`
    kept = after
  }
  return told + text.slice(kept)
}
