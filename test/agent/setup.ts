/**
 * The agent's configuration as data: what every project has, and the rows by which a scenario's project differs.
 * The sandbox writes it down; nothing here starts anything.
 */
import { join } from "node:path"
import type { Model } from "./model.ts"

/** A project's configuration. */
export interface Setup {
  /** Short and unique; part of the project's folder name. */
  name: string
  /** The agent's `permission` map. */
  permission: Readonly<Record<string, unknown>>
  /** Whether the provider's address is one where nobody listens. */
  isUnreachable?: boolean
  /** The agent's `mcp` map. */
  mcp?: Readonly<Record<string, unknown>>
  /** Further members of the agent's configuration. */
  more?: Readonly<Record<string, unknown>>
  /** Files below the agent's folder of the project. */
  files?: Readonly<Record<string, string>>
}

const ASK_FIRST = { bash: "ask", edit: "ask" }

/** What a project is like unless a scenario wants another. */
export const PLAIN: Setup = { name: "plain", permission: ASK_FIRST }

/** A second project like the first. */
export const SECOND: Setup = { name: "second", permission: ASK_FIRST }

/** A project like the first, to be disposed of. */
export const DISPOSED: Setup = { name: "disposed", permission: ASK_FIRST }

/** Every command may run, but none that begins with `curl`. */
export const NO_CURL: Setup = { name: "no-curl", permission: { bash: { "*": "allow", "curl *": "deny" } } }

/** No command may run. */
export const NO_SHELL: Setup = { name: "no-shell", permission: { bash: "deny" } }

/** The provider cannot be reached. */
export const UNREACHABLE: Setup = { name: "unreachable", permission: ASK_FIRST, isUnreachable: true }

/** Everything asks first, a tool of an MCP server and a skill included. */
export const ASK_ALL: Setup = {
  name: "ask-all",
  permission: { "*": "ask" },
  mcp: {
    tiny: { type: "local", command: [process.execPath, join(import.meta.dir, "mcp.ts")], enabled: true },
  },
  files: {
    "skill/greeting/SKILL.md": "---\nname: greeting\ndescription: How to greet.\n---\nSay hello.\n",
  },
}

/** Everything asks first that the 1.0 line lets ask. */
export const ASK_ALL_LEGACY: Setup = {
  name: "ask-all-legacy",
  permission: { ...ASK_FIRST, webfetch: "ask", external_directory: "ask", doom_loop: "ask" },
}

/** `opencode.json` of a project. */
export function configuration(setup: Setup, model: Model): unknown {
  const baseURL = setup.isUnreachable === true ? model.closedUrl : model.url
  return {
    model: "fake/m1",
    small_model: "fake/m1",
    autoupdate: false,
    share: "disabled",
    provider: {
      fake: {
        npm: "@ai-sdk/openai-compatible",
        name: "Fake",
        options: { baseURL, apiKey: "none" },
        models: { m1: { name: "m1", tool_call: true, limit: { context: 100_000, output: 4_000 } } },
      },
    },
    command: { greet: { description: "says what it is told", template: "SAY: $ARGUMENTS" } },
    permission: setup.permission,
    ...(setup.mcp === undefined ? {} : { mcp: setup.mcp }),
    ...setup.more,
  }
}
