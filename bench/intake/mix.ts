/**
 * The moments of the bench: what the drop-in posted from real agents (`fixtures/moments`), every scenario in its
 * turn, with new ids each time round, so that the service does all it does for sessions it has not met.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const FOLDER = join(import.meta.dir, "../../fixtures/moments")
const IDS = /\b(ses|msg|prt|per|que|call|toolu)_([A-Za-z0-9]+)/g

/** One stream of moments of one instance. */
export interface Mix {
  /** The next moment with this index, as JSON. */
  next(n: number): string
}

/**
 * A mix whose ids all carry `name`. After `sessionRounds` times round the sessions are taken up again, with new
 * messages and calls. Throws when there are no recordings.
 */
export function createMix(name: string, sessionRounds = Number.POSITIVE_INFINITY): Mix {
  const texts = readMoments()
  let used = 0
  return {
    next(n) {
      const text = texts[used % texts.length] ?? ""
      const times = Math.floor(used / texts.length)
      used += 1
      const roundOf = (kind: string) => `${name}r${kind === "ses" ? times % sessionRounds : times}`
      const body = JSON.parse(
        text.replace(IDS, (_, kind: string, id: string) => `${kind}_${id}${roundOf(kind)}`),
      )
      return JSON.stringify({ ...body, n, at: Date.now() })
    },
  }
}

function readMoments(): string[] {
  const texts = readdirSync(FOLDER)
    .filter((file) => file.endsWith(".jsonl"))
    .sort()
    .flatMap((file) => readFileSync(join(FOLDER, file), "utf8").trim().split("\n").slice(1))
    // A goodbye would end the instance, of which the bench has one a connection.
    .filter((text) => JSON.parse(text).kind !== "dispose")
  if (texts.length === 0)
    throw new Error(`no moments in ${FOLDER}: record some with bun test/agent/record.ts`)
  return texts
}
