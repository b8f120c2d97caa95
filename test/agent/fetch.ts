/**
 * Where an agent's binary lies, and the set-up step that brings the missing ones: `bun test/agent/fetch.ts`. The
 * step is the only part of the live suite that talks to a package registry; tests call `agentBinary`, which never
 * installs and says what to do instead.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { platformPackage } from "./platform.ts"
import { AGENTS, type AgentVersion } from "./versions.ts"

const repository = resolve(import.meta.dir, "../..")

/** Folder of the fetched agents: `AEP_TEST_CACHE`, else `.cache` of the repository; both ignored by git. */
export function cacheFolder(): string {
  return resolve(repository, process.env.AEP_TEST_CACHE ?? ".cache", "agents")
}

/** Absolute path of the agent's binary. Throws with the remedy when it is not there; never installs. */
export function agentBinary(agent: AgentVersion): string {
  const found = findBinary(agent)
  if (found !== undefined) return found
  throw new Error(
    `${platformPackage(agent)}@${agent.version} is not installed: run \`bun test/agent/fetch.ts\` once with a ` +
      "package registry in reach, then start the suite again",
  )
}

/** A tool the suite needs on the PATH. Throws with the remedy when it is not there. */
export function requireTool(name: string, remedy: string): string {
  const found = Bun.which(name)
  if (found === null) throw new Error(`\`${name}\` is not on the PATH: ${remedy}`)
  return found
}

function findBinary(agent: AgentVersion): string | undefined {
  const name = platformPackage(agent)
  for (const modules of [repository, join(cacheFolder(), agent.label)]) {
    const folder = join(modules, "node_modules", name)
    const binary = join(folder, process.platform === "win32" ? `${agent.binary}.exe` : agent.binary)
    if (existsSync(binary) && versionIn(folder) === agent.version) return binary
  }
  return undefined
}

function versionIn(folder: string): unknown {
  const file = join(folder, "package.json")
  if (!existsSync(file)) return undefined
  return (JSON.parse(readFileSync(file, "utf8")) as { version?: unknown }).version
}

/** Installs into a new folder and moves it into place whole, so that a broken download is never taken for an agent. */
function install(agent: AgentVersion): string {
  mkdirSync(cacheFolder(), { recursive: true })
  const work = mkdtempSync(join(cacheFolder(), `.${agent.label}-`))
  const target = join(cacheFolder(), agent.label)
  try {
    writeFileSync(join(work, "package.json"), JSON.stringify({ name: "agent", private: true }))
    const wanted = `${platformPackage(agent)}@${agent.version}`
    const done = Bun.spawnSync(
      [process.execPath, "add", "--exact", "--ignore-scripts", "--no-cache", wanted],
      {
        cwd: work,
        stdout: "pipe",
        stderr: "pipe",
      },
    )
    if (done.exitCode !== 0) {
      throw new Error(
        `could not install ${wanted}: ${done.stderr.toString().trim()}\nCheck the registry and retry.`,
      )
    }
    rmSync(target, { recursive: true, force: true })
    renameSync(work, target)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return agentBinary(agent)
}

if (import.meta.main) {
  for (const agent of AGENTS) {
    const present = findBinary(agent)
    const binary = present ?? install(agent)
    process.stdout.write(`${present === undefined ? "fetched" : "present"} ${agent.label} ${binary}\n`)
  }
}
