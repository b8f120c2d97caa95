/**
 * Who is speaking: one instance a core, with what is known of the agent from its process and its context. The
 * arguments are those OpenCode 1.0.185, 1.18.33 and Kilo 7.7.7 were seen to have; anything else is `unknown`.
 */
import type { AgentMode, Instance } from "../../shared/moments.ts"
import { asFields, asText, isFields } from "./fields.ts"
import { directoryOf, type Host } from "./host.ts"
import { VERSION } from "./version.ts"

/** Bounds of the service's door, in characters: an instance it refuses would cost every batch. */
const MOST_PATH = 4096
const MOST_VERSION = 128

/** A new instance with a random id. `context` is the plugin function's first argument. */
export function createInstance(context: unknown, host: Host): Instance {
  const kilo = host.env.KILO === "1"
  const worktree = asText(asFields(context).worktree)?.slice(0, MOST_PATH)
  const version = kilo ? asText(host.env.KILOCODE_VERSION)?.slice(0, MOST_VERSION) : undefined
  return {
    id: crypto.randomUUID(),
    // Kilo sets OPENCODE=1 as well, so only its own mark tells the two apart.
    agent: kilo ? "kilocode" : "opencode",
    directory: directoryOf(context).slice(0, MOST_PATH),
    ...(worktree === undefined ? {} : { worktree }),
    ...(version === undefined ? {} : { version }),
    mode: modeOf(host.argv),
    plugin: VERSION,
    ...(isFields(asFields(context).client) ? { answers: true } : {}),
  }
}

/**
 * How the agent was started. The command is the third argument and nothing else is looked at: a prompt or a
 * directory may be called `run`. The TUI shows its worker's script and no user argument.
 */
export function modeOf(argv: readonly string[]): AgentMode {
  if (argv[2] === "run") return "run"
  if (argv[2] === "serve") return "serve"
  return argv[1]?.endsWith("/tui/worker.js") === true ? "tui" : "unknown"
}

/**
 * The agent's version as a `session.created` event tells it, else undefined. Other session events carry the
 * version that once created the session, which need not be the one that runs.
 */
export function versionIn(event: unknown): string | undefined {
  const created = asFields(event)
  if (created.type !== "session.created") return undefined
  return asText(asFields(asFields(created.properties).info).version)?.slice(0, MOST_VERSION)
}
