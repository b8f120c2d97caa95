/**
 * The agents the live suite and the recorder drive: one row each. A newer version is a changed or an added row.
 * Data only; the files are brought by `fetch.ts`, and what differs in behaviour is told as a feature here.
 */

/** One agent at one version. */
export interface AgentVersion {
  /** The vendor's logical name, as it stands in `agent` of an AEP event. */
  agent: "opencode" | "kilocode"
  version: string
  /** Short unique name, used in tables, folders and fixture names. */
  label: string
  /** Start of the npm package names that hold the binary; `-{os}-{cpu}[-baseline]` follows. */
  packages: string
  /** The binary inside that package. */
  binary: string
  /** Prefix of the variables that switch off what reaches for the network. */
  prefix: "OPENCODE" | "KILO"
  /** Folder of the project that the agent looks into. */
  projectFolder: string
  /** Folder of the user, below the home, that the agent looks into. */
  globalFolder: string
  features: Features
}

/** What a scenario has to know of an agent. */
export interface Features {
  /** The 1.0 line: fewer rules, an ask rejected alone, no word for the model, errors at once where later ones retry. */
  legacy: boolean
  /** Has the question tool in `serve`. */
  question: boolean
  /** The route that answers an ask: by request id alone, or below its session. */
  reply: "permission" | "session"
  /** What the agent makes of the call of a question the user dismisses; absent without questions. */
  dismissal?: "failed" | "completed"
  /** Exit code of a `run` that rejected an ask by itself; absent where it shows a prompt and waits. */
  runRejects?: number
  /** Has a tool of its own, `invalid`, for calls of a tool that is not there; a call just fails without it. */
  hasInvalid: boolean
  /** The error of a run whose answer was cut in the middle; absent where the agent tries again. */
  cutError?: "APIError" | "UnknownError"
  /** Needs `rg` on the PATH, since it would fetch it otherwise. */
  ripgrep: boolean
}

const current: Features = {
  legacy: false,
  question: true,
  reply: "permission",
  dismissal: "failed",
  runRejects: 0,
  hasInvalid: true,
  ripgrep: false,
}

const openCode = {
  agent: "opencode",
  packages: "opencode",
  binary: "bin/opencode",
  prefix: "OPENCODE",
  projectFolder: ".opencode",
  globalFolder: ".config/opencode",
} as const

const kilo = {
  agent: "kilocode",
  packages: "@kilocode/cli",
  binary: "bin/kilo",
  prefix: "KILO",
  projectFolder: ".kilo",
  globalFolder: ".config/kilo",
} as const

/** Every agent under test. The first one is the version of our own development dependency. */
export const AGENTS: readonly AgentVersion[] = [
  { ...openCode, version: "1.18.33", label: "1.18.33", features: current },
  {
    ...openCode,
    version: "1.0.185",
    label: "1.0.185",
    features: {
      legacy: true,
      question: false,
      reply: "session",
      hasInvalid: true,
      cutError: "UnknownError",
      ripgrep: true,
    },
  },
  {
    ...kilo,
    version: "7.7.7",
    label: "kilo-7.7.7",
    features: { ...current, dismissal: "completed", runRejects: 1, hasInvalid: false, cutError: "APIError" },
  },
]

/** The row of that label. Throws with the known labels when there is none. */
export function agentOf(label: string): AgentVersion {
  const found = AGENTS.find((each) => each.label === label)
  if (found === undefined) {
    throw new Error(`no agent ${label}; known: ${AGENTS.map((each) => each.label).join(", ")}`)
  }
  return found
}
