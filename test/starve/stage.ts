/**
 * The real agent with a scripted prompt, once with the shipped plugin and once with an empty one, and what a person
 * at the terminal would see of it, freed of what differs from run to run.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { type Model, startModel } from "../agent/model.ts"
import { type RunResult, runOnce } from "../agent/run.ts"
import { DROP_IN, openSandbox, type Sandbox } from "../agent/sandbox.ts"
import { agentOf } from "../agent/versions.ts"
import { waitFor } from "../agent/wait.ts"

/** Generous: how fast the agent is belongs to `bench/starve.ts`. */
export const DEADLINE_MS = 60_000

/** Two calls that need no permission, and an answer in several deltas. */
export const SCRIPT = [
  'RUN: read {"filePath":"notes.txt"}',
  'RUN: grep {"pattern":"alpha"}',
  "SAY*5: all is well here",
].join("\n")

const EMPTY_PLUGIN = "export const OpencodeAep = async () => ({})\n"

/** What a run shows. */
export interface Shown {
  code: number
  stdout: string
  stderr: string
}

/** Sandboxes with both plugins beside one model. */
export interface Stage {
  /** With the shipped plugin. */
  ours: Sandbox
  /** With an empty plugin of the same name. */
  empty: Sandbox
  close(): Promise<void>
}

/** Opens the stage on a port of the caller's suite. Throws with the remedy when the agent is missing. */
export function openStage(port: number): Stage {
  const agent = agentOf("1.18.33")
  const model: Model = startModel(port)
  const folder = mkdtempSync(join(tmpdir(), "aep-empty-"))
  const plugin = join(folder, basename(DROP_IN))
  writeFileSync(plugin, EMPTY_PLUGIN)
  const ours = openSandbox({ agent, model })
  const empty = openSandbox({ agent, model, plugin })
  return {
    ours,
    empty,
    async close() {
      ours.remove()
      empty.remove()
      rmSync(folder, { recursive: true, force: true })
      await model.stop()
    },
  }
}

/** Runs the script once. `env` is laid over the agent's environment; an undefined value takes a variable away. */
export async function show(sandbox: Sandbox, env: Record<string, string | undefined> = {}): Promise<Shown> {
  const merged = Object.entries({ ...sandbox.env, ...env }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const result = await runOnce({ ...sandbox, env: Object.fromEntries(merged) }, SCRIPT, DEADLINE_MS)
  return normalise(result, dirname(sandbox.home))
}

function normalise({ code, stdout, stderr }: RunResult, root: string): Shown {
  const plain = (text: string) =>
    text
      .replaceAll(root, "<root>")
      .replace(/\b(ses|msg|prt|call|per|evt)_[A-Za-z0-9]+/g, "<$1>")
      .replace(/\b\d+(\.\d+)?(ms|s)\b/g, "<time>")
  return { code, stdout: plain(stdout), stderr: plain(stderr) }
}

/**
 * Takes away the locks that the agent (1.18.33) left behind and says how many there were. On its way out it opens
 * its instance once more and begins to install; ended in the middle of that, it leaves the lock, and the next run
 * with the same home waits for it, a minute and more. A plugin whose `dispose` takes 100 ms brings that about.
 */
export function takeLocks(sandbox: Sandbox): number {
  const folder = join(sandbox.home, ".local/state/opencode/locks")
  if (!existsSync(folder)) return 0
  const locks = readdirSync(folder)
  for (const lock of locks) rmSync(join(folder, lock), { recursive: true, force: true })
  return locks.length
}

/** Writes `plugin.json` for a service that is not there, or is none. */
export function pointTo(sandbox: Sandbox, url: string, socket?: string): void {
  const key = "0123456789abcdef0123456789abcdef"
  const file = { url, key, ...(socket === undefined ? {} : { socket }) }
  writeFileSync(join(sandbox.aepHome, "plugin.json"), JSON.stringify(file))
}

/** Empties the home of the service. */
export function emptyHome(sandbox: Sandbox): void {
  for (const name of readdirSync(sandbox.aepHome)) {
    rmSync(join(sandbox.aepHome, name), { recursive: true, force: true })
  }
}

/** Waits until anything of a session of the agent's stands in a log. */
export async function firstLines(sandbox: Sandbox): Promise<void> {
  const folder = join(sandbox.aepHome, "logs", "opencode")
  await waitFor("first lines in a session's log", DEADLINE_MS, () => {
    if (!existsSync(folder)) return false
    return readdirSync(folder).some(
      (name) => name.startsWith("ses_") && statSync(join(folder, name)).size > 0,
    )
  })
}

/** What is wrong with the logs as text: lines that are no JSON, a last line without its end. */
export function tornLines(sandbox: Sandbox): string[] {
  const folder = join(sandbox.aepHome, "logs", "opencode")
  return readdirSync(folder).flatMap((name) => {
    const lines = readFileSync(join(folder, name), "utf8").split("\n")
    return lines.slice(0, -1).flatMap((line, index) => (isJson(line) ? [] : [`${name}:${index + 1}`]))
  })
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    // What the caller wants to know.
    return false
  }
}
