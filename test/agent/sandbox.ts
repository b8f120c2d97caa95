/**
 * The world of one scenario: a fresh home, a project under git, the agent's configuration with the scripted
 * model, the drop-in copied where a user would copy it, and an environment built from nothing, so that neither our
 * own agent's variables nor a proxy nor a registry reaches the agent under test.
 */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { agentBinary, requireTool } from "./fetch.ts"
import type { Model } from "./model.ts"
import type { AgentVersion } from "./versions.ts"

/** The plugin as it is shipped. */
export const DROP_IN = resolve(import.meta.dir, "../../plugin/opencode-aep.js")

export interface Sandbox {
  agent: AgentVersion
  binary: string
  home: string
  /** Real path of the project, the agent's working directory. */
  project: string
  aepHome: string
  /** The agent's whole environment. */
  env: Record<string, string>
  /** Removes everything. */
  remove: () => void
}

export interface SandboxOptions {
  agent: AgentVersion
  model: Model
  /** The plugin file; by default the shipped one. */
  plugin?: string
  /** Into the project's folder only, or into the user's folder as well, as a forgetful user would. */
  copies?: "project" | "both"
}

/** Builds the world. Throws with the remedy when the agent or a tool it needs is missing. */
export function openSandbox({ agent, model, plugin = DROP_IN, copies = "project" }: SandboxOptions): Sandbox {
  const binary = agentBinary(agent)
  if (agent.features.ripgrep) requireTool("rg", `install ripgrep, which ${agent.label} needs`)
  const root = realpathSync(mkdtempSync(join(tmpdir(), "aep-agent-")))
  const home = join(root, "home")
  const project = join(root, "project")
  const aepHome = join(root, "aep")
  for (const folder of [home, project, aepHome, join(root, "tmp")]) mkdirSync(folder, { mode: 0o700 })
  const env = environment(agent, model, root)

  writeFileSync(join(project, "opencode.json"), JSON.stringify(configuration(model), null, 2))
  writeFileSync(join(project, "notes.txt"), "alpha\nbeta\n")
  for (const folder of [
    join(project, agent.projectFolder),
    ...(copies === "both" ? [join(home, agent.globalFolder)] : []),
  ]) {
    mkdirSync(join(folder, "plugin"), { recursive: true })
    cpSync(plugin, join(folder, "plugin", basename(plugin)))
  }
  startRepository(project, env)
  return {
    agent,
    binary,
    home,
    project,
    aepHome,
    env,
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  }
}

function configuration(model: Model): unknown {
  return {
    model: "fake/m1",
    small_model: "fake/m1",
    autoupdate: false,
    share: "disabled",
    provider: {
      fake: {
        npm: "@ai-sdk/openai-compatible",
        name: "Fake",
        options: { baseURL: model.url, apiKey: "none" },
        models: { m1: { name: "m1", tool_call: true, limit: { context: 100_000, output: 4_000 } } },
      },
    },
    permission: { bash: "ask", edit: "ask" },
  }
}

function environment(agent: AgentVersion, model: Model, root: string): Record<string, string> {
  const home = join(root, "home")
  const quiet = ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"]
  return {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local/share"),
    XDG_STATE_HOME: join(home, ".local/state"),
    XDG_CACHE_HOME: join(home, ".cache"),
    TMPDIR: join(root, "tmp"),
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    AEP_HOME: join(root, "aep"),
    // The agent installs its plugin package before it loads a plugin and waits for it. Ours imports nothing, so a
    // registry that says "not found" at once is enough and keeps the suite on loopback.
    npm_config_registry: model.registry,
    ...Object.fromEntries(quiet.map((name) => [`${agent.prefix}_DISABLE_${name}`, "1"])),
    ...(agent.prefix === "KILO" ? { KILO_TELEMETRY_LEVEL: "off" } : {}),
  }
}

/** One commit with a fixed author and date, so that the agent's project id is the same in every sandbox. */
function startRepository(project: string, env: Record<string, string>): void {
  const date = "2026-01-01T00:00:00Z"
  const identity = {
    GIT_AUTHOR_NAME: "dev",
    GIT_AUTHOR_EMAIL: "dev@localhost",
    GIT_COMMITTER_NAME: "dev",
    GIT_COMMITTER_EMAIL: "dev@localhost",
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_DATE: date,
  }
  const git = requireTool("git", "install git")
  for (const args of [
    ["init", "--quiet", "--initial-branch=main"],
    ["add", "notes.txt"],
    ["commit", "--quiet", "--message=start"],
  ]) {
    const done = Bun.spawnSync([git, ...args], { cwd: project, env: { ...env, ...identity } })
    if (done.exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr.toString().trim()}`)
  }
}
