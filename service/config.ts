/**
 * Flags and environment -> one validated configuration. Flags override environment overrides defaults; a value
 * that cannot be used is an error naming where it came from, what it was and what is accepted. Reads nothing but
 * its arguments; files are `home.ts`.
 */
import { parseArgs } from "node:util"
import { type CaptureConfig, readCapture } from "./config-capture.ts"
import { type HubConfig, type RelayConfig, readHub, readRelay } from "./config-hub.ts"
import { type Named, origins, publicHosts, secret, wholeNumber } from "./config-values.ts"

export interface Config {
  /** Absolute path of the state folder. */
  home: string
  host: string
  port: number
  /** Further `host[:port]` values that are ours, from `AEP_PUBLIC_URL`. */
  publicHosts: readonly string[]
  /** Further `Origin` values that are ours. */
  allowedOrigins: readonly string[]
  /** Bearer token given by the operator; absent = made once and kept in the home. */
  token: string | undefined
  /** Plugin key given by the operator; absent = made once and kept in the home. */
  key: string | undefined
  /** How much may be told, and what is hidden. */
  capture: CaptureConfig
  /** Who may watch, and how much the embedded endpoint keeps. */
  hub: HubConfig
  /** How long a request stays open, milliseconds: one that blocks the agent's own dialog, and any other. */
  windows: { hookMs: number; askMs: number }
  /** Where events are forwarded to; absent = nowhere. */
  relay: RelayConfig | undefined
  /** Largest request body, bytes. */
  maxBody: number
  /** Most moments or events in one request. */
  maxBatch: number
}

export type ConfigResult =
  | { kind: "config"; config: Config }
  | { kind: "help" }
  | { kind: "version" }
  | { kind: "invalid"; detail: string }

const DEFAULT_PORT = 8390
const DEFAULT_MAX_BODY = 16 * 1024 * 1024
const DEFAULT_MAX_BATCH = 10_000
const MIN_SECRET = 16
const DAY_MS = 86_400_000

/** Reads the configuration. `home` of the user is needed only when neither flag nor `AEP_HOME` says where. */
export function readConfig(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  userHome: string,
): ConfigResult {
  const parsed = parseFlags(args)
  if (typeof parsed === "string") return { kind: "invalid", detail: parsed }
  if (parsed.help === true) return { kind: "help" }
  if (parsed.version === true) return { kind: "version" }

  const faults: string[] = []
  const pick = (variable: string): Named | undefined => {
    const value = env[variable]
    return value === undefined || value === "" ? undefined : { name: variable, value }
  }
  const pickFlag = (value: string | undefined, name: string, variable: string): Named | undefined =>
    value === undefined ? pick(variable) : { name, value }

  const host = loopbackHost(pickFlag(parsed.host, "--host", "AEP_OPENCODE_HOST"), faults)
  const config: Config = {
    home: homePath(pickFlag(parsed.home, "--home", "AEP_HOME"), userHome, faults),
    host,
    port: wholeNumber(pickFlag(parsed.port, "--port", "AEP_OPENCODE_PORT"), DEFAULT_PORT, 1, 65_535, faults),
    publicHosts: publicHosts(pick("AEP_PUBLIC_URL"), faults),
    allowedOrigins: origins(pick("AEP_ALLOWED_ORIGINS"), faults),
    token: secret(pick("AEP_TOKEN"), MIN_SECRET, faults),
    key: secret(pick("AEP_OPENCODE_KEY"), MIN_SECRET, faults),
    capture: readCapture(env, faults),
    hub: readHub(pick, LOOPBACK.includes(host), faults),
    windows: {
      hookMs: wholeNumber(pick("AEP_ATTENTION_TIMEOUT_MS"), 55_000, 100, DAY_MS, faults),
      askMs: wholeNumber(pick("AEP_ASK_TIMEOUT_MS"), 1_800_000, 100, 30 * DAY_MS, faults),
    },
    relay: readRelay(pick, faults),
    maxBody: wholeNumber(pick("AEP_MAX_BODY"), DEFAULT_MAX_BODY, 1024, 2 ** 31 - 1, faults),
    maxBatch: wholeNumber(pick("AEP_MAX_BATCH"), DEFAULT_MAX_BATCH, 1, 1_000_000, faults),
  }
  const [first] = faults
  return first === undefined ? { kind: "config", config } : { kind: "invalid", detail: faults.join("\n") }
}

function parseFlags(args: readonly string[]): Flags | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        home: { type: "string" },
        host: { type: "string" },
        port: { type: "string" },
        help: { type: "boolean", short: "h" },
        version: { type: "boolean" },
      },
    })
    return values
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}. See --help.`
  }
}

interface Flags {
  home?: string | undefined
  host?: string | undefined
  port?: string | undefined
  help?: boolean | undefined
  version?: boolean | undefined
}

function homePath(given: Named | undefined, userHome: string, faults: string[]): string {
  if (given === undefined) {
    if (userHome !== "") return `${userHome}/.aep`
    faults.push("AEP_HOME is not set and the user has no home folder; give an absolute path")
    return ""
  }
  if (!given.value.startsWith("/") && !/^[A-Za-z]:[\\/]/.test(given.value)) {
    faults.push(`${given.name} is \`${given.value}\`; give an absolute path`)
  }
  return given.value
}

const LOOPBACK = ["127.0.0.1", "localhost", "::1"]

function loopbackHost(given: Named | undefined, faults: string[]): string {
  if (given === undefined) return "127.0.0.1"
  if (!LOOPBACK.includes(given.value)) {
    faults.push(
      `${given.name} is \`${given.value}\`; this version listens on this machine only: ${LOOPBACK.join(", ")}`,
    )
  }
  return given.value
}
