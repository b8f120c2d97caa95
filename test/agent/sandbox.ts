/**
 * The world of one scenario: a fresh home, a project under git, the agent's configuration with the scripted
 * model, the drop-in copied where a user would copy it, and an environment built from nothing, so that neither our
 * own agent's variables nor a proxy nor a registry reaches the agent under test.
 */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { agentBinary, requireTool } from "./fetch.ts"
import type { Model } from "./model.ts"
import { configuration, PLAIN, type Setup } from "./setup.ts"
import type { AgentVersion } from "./versions.ts"

/** The plugin as it is shipped. */
export const DROP_IN = resolve(import.meta.dir, "../../plugin/opencode-aep.js")

export interface Sandbox {
  agent: AgentVersion
  binary: string
  home: string
  /** Real path of the project, the agent's working directory. */
  project: string
  /** A folder outside of every project, with a file `o.txt`. */
  outside: string
  aepHome: string
  /** A page of the web that the agent can reach. */
  page: string
  /** A port of the suite for an agent that wants one beside the server's. */
  sparePort: number
  /** The agent's whole environment. */
  env: Record<string, string>
  /** The same home, and another project in it with that configuration; made once a name. */
  other: (setup: Setup) => Sandbox
  /** Removes everything. */
  remove: () => void
}

export interface SandboxOptions {
  agent: AgentVersion
  model: Model
  /** Configuration of the first project. */
  setup?: Setup
  /** The plugin file; by default the shipped one. */
  plugin?: string
  /** Into the project's folder only, or into the user's folder as well, as a forgetful user would. */
  copies?: "project" | "both"
}

/** Builds the world. Throws with the remedy when the agent or a tool it needs is missing. */
export function openSandbox(options: SandboxOptions): Sandbox {
  const { agent, model, setup = PLAIN, plugin = DROP_IN, copies = "project" } = options
  const binary = agentBinary(agent)
  if (agent.features.ripgrep) requireTool("rg", `install ripgrep, which ${agent.label} needs`)
  const root = realpathSync(mkdtempSync(join(tmpdir(), "aep-agent-")))
  const [home, aepHome, outside] = [join(root, "home"), join(root, "aep"), join(root, "outside")]
  for (const folder of [home, aepHome, outside, join(root, "tmp")]) mkdirSync(folder, { mode: 0o700 })
  writeFileSync(join(outside, "o.txt"), "outside\n")
  const env = environment(agent, model, root)
  if (copies === "both") copyPlugin(plugin, join(home, agent.globalFolder))

  const makeProject = (name: string, wanted: Setup): string => {
    const project = join(root, name)
    mkdirSync(project, { mode: 0o700 })
    writeFileSync(join(project, "opencode.json"), JSON.stringify(configuration(wanted, model), null, 2))
    writeFileSync(join(project, "notes.txt"), "alpha\nbeta\n")
    for (const [file, text] of Object.entries(wanted.files ?? {})) {
      const path = join(project, agent.projectFolder, file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    copyPlugin(plugin, join(project, agent.projectFolder))
    startRepository(project, env, name)
    return project
  }
  const others = new Map<string, Sandbox>()
  const sandbox: Sandbox = {
    agent,
    binary,
    home,
    project: makeProject("project", setup),
    outside,
    aepHome,
    page: model.page,
    sparePort: model.sparePort,
    env,
    other: (wanted) => {
      const known = others.get(wanted.name)
      const made = known ?? { ...sandbox, project: makeProject(`project-${wanted.name}`, wanted) }
      others.set(wanted.name, made)
      return made
    },
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  }
  return sandbox
}

function copyPlugin(plugin: string, folder: string): void {
  mkdirSync(join(folder, "plugin"), { recursive: true })
  cpSync(plugin, join(folder, "plugin", basename(plugin)))
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

/**
 * One commit with a fixed author and date: the agent takes its hash for the project's id, which is then the same in
 * every sandbox, and another one for another project.
 */
function startRepository(project: string, env: Record<string, string>, name: string): void {
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
    ["commit", "--quiet", `--message=${name === "project" ? "start" : name}`],
  ]) {
    const done = Bun.spawnSync([git, ...args], { cwd: project, env: { ...env, ...identity } })
    if (done.exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr.toString().trim()}`)
  }
}
