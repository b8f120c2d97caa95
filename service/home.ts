/**
 * The state folder on disk: made on first start, 0700, with the secrets (0600), the file the plugin reads and the
 * process id. The exclusive lock of a home is the state store's; call this once it is held.
 */
import { createHmac, randomBytes } from "node:crypto"
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"

export interface Secrets {
  /** Bearer token of the endpoint: observe and control. */
  token: string
  /** Plugin key; never travels. */
  key: string
  /** What the plugin shows at its doors: HMAC-SHA-256(key, "door/1"), hex. */
  doorCredential: string
  /** What proves decisions to plugins; derived from the key, never sent. */
  proofKey: Buffer
}

/** Paths inside a home. */
export interface HomePaths {
  root: string
  token: string
  pluginFile: string
  pidFile: string
  socket: string
}

/** Where things stand in a home. */
export function homePaths(root: string): HomePaths {
  return {
    root,
    token: join(root, "token"),
    pluginFile: join(root, "plugin.json"),
    pidFile: join(root, "service.pid"),
    socket: join(root, "opencode.sock"),
  }
}

/** Makes the folder if needed and checks that it can be written. Returns what is wrong and what to do, or nothing. */
export function prepareHome(root: string): string | undefined {
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 })
    if (isOurs(root)) chmodSync(root, 0o700)
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return `AEP_HOME ${root} cannot be used (${faultOf(error)}); make it a folder this user may write, or set AEP_HOME to another`
  }
}

/** A folder with other things in it (a whole home, the root of a disk) was pointed at by mistake or on purpose: its mode
 *  is not ours to change. What we put into it is closed by itself. */
function isOurs(root: string): boolean {
  const names = readdirSync(root)
  return names.length === 0 || names.includes("token") || names.includes("opencode-aep.db")
}

/** Reads or makes the secrets. A value given by the operator wins over the kept one and is not written to `token`. */
export function readSecrets(
  paths: HomePaths,
  given: { token: string | undefined; key: string | undefined },
): Secrets {
  const token = given.token ?? keptToken(paths.token)
  const key = given.key ?? keptKey(paths.pluginFile) ?? newSecret()
  const derive = (purpose: string): Buffer => createHmac("sha256", key).update(purpose).digest()
  return { token, key, doorCredential: derive("door/1").toString("hex"), proofKey: derive("proof/1") }
}

/** Writes what the plugin needs to find us: the TCP address, the socket where there is one, the key. */
export function writePluginFile(
  paths: HomePaths,
  url: string,
  socket: string | undefined,
  key: string,
): void {
  writeSecret(
    paths.pluginFile,
    `${JSON.stringify({ url, ...(socket === undefined ? {} : { socket }), key }, null, 2)}\n`,
  )
}

/** Writes the process id, which supervisors and tests signal. */
export function writePid(paths: HomePaths, pid: number): void {
  writeSecret(paths.pidFile, `${pid}\n`)
}

/** Takes away what must not outlive the process. The plugin file stays: it is how a plugin finds the next one. */
export function leaveHome(paths: HomePaths): void {
  rmSync(paths.pidFile, { force: true })
  rmSync(paths.socket, { force: true })
}

function keptToken(file: string): string {
  const kept = readText(file)?.trim()
  if (kept !== undefined && kept !== "") {
    chmodSync(file, 0o600)
    return kept
  }
  const token = newSecret()
  writeSecret(file, `${token}\n`)
  return token
}

/** The key of an earlier start; an unreadable file is made anew, which only costs a re-read by the plugins. */
function keptKey(file: string): string | undefined {
  try {
    const kept: unknown = JSON.parse(readText(file) ?? "{}")
    const key = typeof kept === "object" && kept !== null && "key" in kept ? kept.key : undefined
    return typeof key === "string" && key !== "" ? key : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
    throw error
  }
}

/** Written beside and moved into place, so that no reader sees half a file and the mode holds from the first byte. */
function writeSecret(file: string, text: string): void {
  const draft = `${file}.${process.pid}.tmp`
  writeFileSync(draft, text, { mode: 0o600 })
  renameSync(draft, file)
}

function newSecret(): string {
  return randomBytes(32).toString("base64url")
}

function faultOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error)
}
