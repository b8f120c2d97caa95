/**
 * Where the service is and what proves us to it, first found wins: plugin options, environment, `plugin.json`.
 * Pure: reading the file is `plugin-file.ts`. A target that would carry moments in clear text over a network is
 * no target.
 */
import { asFields, asText, type Fields } from "./fields.ts"
import type { Host } from "./host.ts"

/** What options and environment say. */
export interface Explicit {
  off: boolean
  stream: boolean
  /** The `permission.ask` hook of OpenCode 1.0 is never held. */
  noHold?: boolean
  url?: string
  key?: string
  /** Folder of `plugin.json`; undefined when the host names no home. */
  home?: string
}

/** What `plugin.json` says; members of another type count as absent. */
export interface PluginFile {
  url?: string
  socket?: string
  key?: string
}

/** Where moments go. */
export interface Target {
  /** Without a slash at the end. */
  url: string
  socket?: string
  key: string
}

/** Reads plugin options (`off`, `stream`, `hold`, `url`, `key`, `home`) and environment. Empty strings count as absent. */
export function readExplicit(options: unknown, host: Host): Explicit {
  const given = asFields(options)
  const { env } = host
  const url = filled(given.url) ?? filled(env.AEP_OPENCODE_URL)
  const key = filled(given.key) ?? filled(env.AEP_OPENCODE_KEY)
  const hold = filled(given.hold) ?? filled(env.AEP_OPENCODE_HOLD)
  const home = filled(given.home) ?? filled(env.AEP_HOME) ?? defaultHome(env)
  return {
    off: isOn(given.off ?? env.AEP_OPENCODE_OFF),
    stream: isOn(given.stream ?? env.AEP_OPENCODE_STREAM),
    ...(hold === "event" ? { noHold: true } : {}),
    ...(url === undefined ? {} : { url }),
    ...(key === undefined ? {} : { key }),
    ...(home === undefined ? {} : { home }),
  }
}

/**
 * The target, or undefined when url or key is missing, the url is none, or it is plain http to another machine.
 * The socket belongs to the file's url and is not used with another one.
 */
export function resolveTarget(explicit: Explicit, file: PluginFile | undefined): Target | undefined {
  const url = explicit.url ?? file?.url
  const key = explicit.key ?? file?.key
  if (url === undefined || key === undefined || !isAcceptable(url)) return undefined
  const socket = url === file?.url ? file.socket : undefined
  return { url: url.replace(/\/+$/, ""), key, ...(socket === undefined ? {} : { socket }) }
}

/** Picks the known members of a parsed `plugin.json`. */
export function readMembers(parsed: unknown): PluginFile {
  const members = asFields(parsed)
  const url = filled(members.url)
  const socket = filled(members.socket)
  const key = filled(members.key)
  return {
    ...(url === undefined ? {} : { url }),
    ...(socket === undefined ? {} : { socket }),
    ...(key === undefined ? {} : { key }),
  }
}

function isAcceptable(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  if (protocol === "https:") return true
  return protocol === "http:" && isLoopback(hostname)
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname)
}

function defaultHome(env: Fields): string | undefined {
  const windows = env.OS === "Windows_NT" ? filled(env.USERPROFILE) : undefined
  const home = windows ?? filled(env.HOME) ?? filled(env.USERPROFILE)
  return home === undefined ? undefined : `${home}/.aep`
}

function filled(value: unknown): string | undefined {
  const text = asText(value)
  return text === "" ? undefined : text
}

function isOn(value: unknown): boolean {
  return value === true || value === "1"
}
