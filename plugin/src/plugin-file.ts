/**
 * Reads `plugin.json` with `fetch("file://...")`, the one way to a file that needs no import. A host whose fetch
 * knows no files (Node) needs the environment instead; that is no error here, only an absent file.
 */
import { type PluginFile, readMembers } from "./config.ts"

const MOST_CHARACTERS = 64 * 1024

/** The file's members; undefined when it is absent, unreadable, too large or no JSON. Waits at most `timeoutMs`. */
export async function readPluginFile(home: string, timeoutMs: number): Promise<PluginFile | undefined> {
  try {
    const answer = await fetch(fileUrl(`${home}/plugin.json`), { signal: AbortSignal.timeout(timeoutMs) })
    const text = await answer.text()
    if (text.length > MOST_CHARACTERS) return undefined
    return readMembers(JSON.parse(text))
  } catch {
    // No file means no service was ever started here: the uplink tries again later.
    return undefined
  }
}

/** A path as a file URL; `#`, `?`, `%`, spaces and the like in it are escaped, Windows drives are kept. */
export function fileUrl(path: string): string {
  const parts = path.replaceAll("\\", "/").split("/")
  const drive = /^[A-Za-z]:$/.test(parts[0] ?? "") ? `/${parts.shift()}/` : ""
  return `file://${drive}${parts.map(encodeURIComponent).join("/")}`
}
