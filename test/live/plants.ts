/**
 * Secrets of the classes that redaction knows, put by a user, a model and a tool of a real agent into every place
 * where they can put words; and a word of content that is no secret. Which of them may be found where is the
 * suite's business (`levels.test.ts`).
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Sandbox } from "../agent/sandbox.ts"
import { call } from "../agent/scenarios/steps.ts"

/** A text to be written, and the part of it that gives it away. */
interface Plant {
  text: string
  needle: string
}

const plant = (text: string, needle: string): Plant => ({ text, needle })

/** Can stand in one line, a file's name included. */
const NAMES: readonly Plant[] = [
  plant("eyJwbGFudGVk.eyJzdWIiOiI3In0.pl4ntLiveSig_88aa", "pl4ntLiveSig_88aa"),
  plant("ghp_pl4ntLiveTokenAbCdEf01234567", "pl4ntLiveTokenAbCdEf01234567"),
  plant("planted.livemail@example.org", "planted.livemail"),
]

const LINES: readonly Plant[] = [
  ...NAMES,
  plant("PLANTED_API_KEY=pl4ntLiveEnv9qQ2zR7", "pl4ntLiveEnv9qQ2zR7"),
  plant("Authorization: Bearer pl4ntLiveBearer.8f3k2jd9", "pl4ntLiveBearer.8f3k2jd9"),
]

const PEM = plant(
  "-----BEGIN PRIVATE KEY-----\npl4ntLivePemMIIEowIBAAKC\n-----END PRIVATE KEY-----",
  "pl4ntLivePemMIIEowIBAAKC",
)

/** Content that no rule takes for a secret: only a ceiling holds it back. */
export const CONTENT = "harmless livecanary words"

/** What is planted in a sandbox. */
export interface Planted {
  /** What no one may find below `full`. */
  needles: readonly string[]
  title: string
  /** A first prompt, with calls of three tools; two of them ask. */
  prompt: string
  /** A second prompt, at which the provider fails. */
  failing: string
}

/** Writes the planted file into the project and returns the words for the user; `talk` stands in the names of files. */
export function plantIn({ home, project }: Sandbox, talk: string): Planted {
  const house = plant(`${home}/plantedfolder/notes.txt`, `${home}/plantedfolder`)
  const plants = [...LINES, house, PEM]
  const line = [...LINES, house].map(({ text }) => text).join(" ")
  const name = [talk, ...NAMES.map(({ text }) => text)].join(" ")
  writeFileSync(join(project, "planted.txt"), `${CONTENT}\n${plants.map(({ text }) => text).join("\n")}\n`)
  const command = `cat planted.txt; echo "${line}"`
  const script = [
    `${CONTENT} ${line}`,
    PEM.text,
    call("bash", { command, description: line }),
    call("write", { filePath: join(project, `${name}.txt`), content: `${PEM.text}\n${line}` }),
    call("read", { filePath: join(project, `missing ${name}.txt`) }),
    `SAY: ${line}`,
  ]
  return {
    needles: plants.map(({ needle }) => needle),
    title: line,
    prompt: script.join("\n"),
    failing: `ERR: 400 because ${line}`,
  }
}
