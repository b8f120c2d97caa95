/**
 * Runs the real `opencode-aep` in a process of its own, for the suites about it. Not a suite.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { startChild } from "../agent/child.ts"

export const repository = resolve(import.meta.dir, "../..")
const program = join(repository, "service/cli.ts")

/** What a run left. */
export interface Run {
  code: number
  stdout: string
  stderr: string
}

/** One call with its arguments and, where given, its standard input. */
export async function run(args: readonly string[], input?: string): Promise<Run> {
  return ended([process.execPath, program, ...args], input)
}

/** One line of bash in which `$AEP` is the program; `$0`, `$1` and so on are the further words. */
export function shell(line: string, ...words: string[]): Promise<Run> {
  return ended(["bash", "-c", line, ...words])
}

async function ended(command: string[], input?: string): Promise<Run> {
  const child = startChild({
    command,
    cwd: repository,
    env: { PATH: process.env.PATH ?? "", HOME: tmpdir(), AEP: `${process.execPath} ${program}` },
    ...(input === undefined ? {} : { input }),
  })
  const code = await child.exited
  const result = { code, stdout: child.stdout(), stderr: child.stderr() }
  await child.stop()
  return result
}

/** A temporary folder of files; `remove` takes it away. */
export function folderOf(files: Readonly<Record<string, string>>): {
  path: (name: string) => string
  remove: () => void
} {
  const folder = mkdtempSync(join(tmpdir(), "aep-cli-"))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return {
    path: (name) => join(folder, name),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
