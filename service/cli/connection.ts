/**
 * Which service a command speaks to, with which token, and one request to its `GET /stream` (AEP-0003 §3.3). The token goes
 * out as a header and nowhere else: it is never printed, never in an address, and the one of a home never leaves this
 * machine. Used by all
 * commands that speak to a service.
 */
import { readFileSync } from "node:fs"
import { homePaths } from "../home.ts"

/** What the call and its surroundings say. */
export interface Whereabouts {
  url: string | undefined
  home: string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** Home folder of the user. */
  userHome: string
}

/** A service: its base address without a slash at the end, and the token if one is known. */
export interface ServiceAddress {
  base: string
  token: string | undefined
  isLocal: boolean
}

/** `detail` names what cannot be used, and what to do. */
export type FoundService = { kind: "found"; service: ServiceAddress } | { kind: "invalid"; detail: string }

/** What came of a request. `refused`: the server's own code and words; `unreachable`: the system's or runtime's code. */
export type OpenedStream =
  | { kind: "open"; chunks: ReadableStream<Uint8Array> }
  | { kind: "refused"; status: number; error: string; detail: string }
  | { kind: "unreachable"; code: string }

/** Parameters of `GET /stream`; absent ones are not sent. `from`: the word `all`, or JSON. */
export interface StreamRequest {
  filter: string | undefined
  capture: string | undefined
  from: string | undefined
  live: boolean
}

const DEFAULT_URL = "http://127.0.0.1:8390"
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"])
/** Whatever else stands in it cannot be a header's value. */
const TOKEN = /^[\x21-\x7e]+$/
/** Read of a refusal; the rest does not concern us. */
const MAX_REFUSAL = 4096

/** Finds the service: `--url`, what the service left in its home, or its usual address. */
export function findService({ url, home, env, userHome }: Whereabouts): FoundService {
  const given = env.AEP_HOME === "" ? undefined : env.AEP_HOME
  const paths = homePaths(home ?? given ?? `${userHome}/.aep`)
  const kept = url ?? urlIn(paths.pluginFile)
  const base = readBase(kept ?? DEFAULT_URL)
  if ("detail" in base) {
    const name = url === undefined ? `url in ${paths.pluginFile}` : "--url"
    return { kind: "invalid", detail: `${name} ${base.detail}` }
  }
  const named = env.AEP_TOKEN === "" ? undefined : env.AEP_TOKEN
  const token = named ?? (base.isLocal ? readText(paths.token)?.trim() : undefined)
  if (token !== undefined && !TOKEN.test(token)) {
    const name = named === undefined ? paths.token : "AEP_TOKEN"
    return {
      kind: "invalid",
      detail: `${name} holds no token: give it as the service has it, without spaces`,
    }
  }
  return { kind: "found", service: { ...base, token } }
}

/** The runtime asks a proxy even for this machine, which has no business with what passes here. */
export function keepProxiesOut({ base, isLocal }: ServiceAddress): void {
  if (!isLocal) return
  const host = new URL(base).hostname
  for (const name of ["NO_PROXY", "no_proxy"]) {
    const before = process.env[name]
    process.env[name] = before === undefined || before === "" ? host : `${before},${host}`
  }
}

/** One request. The answer's headers have come when it resolves; `signal` ends the wait and the stream. */
export async function openStream(
  { base, token }: ServiceAddress,
  request: StreamRequest,
  signal: AbortSignal,
): Promise<OpenedStream> {
  const query = new URLSearchParams()
  for (const name of ["filter", "capture", "from"] as const) {
    const value = request[name]
    if (value !== undefined) query.set(name, value)
  }
  if (!request.live) query.set("live", "0")
  try {
    const response = await fetch(`${base}/stream?${query}`, {
      headers: {
        accept: "text/event-stream",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      // Wherever a redirect leads, the token is not meant for it.
      redirect: "manual",
      signal,
    })
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
    if (response.status === 200 && isStream && response.body !== null) {
      return { kind: "open", chunks: response.body }
    }
    return { kind: "refused", status: response.status, ...(await readRefusal(response)) }
  } catch (error) {
    return { kind: "unreachable", code: codeOf(error) }
  }
}

/** The code of a failed connection; the runtime's words can quote the request. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown"
  return "code" in error && typeof error.code === "string" ? error.code : error.name
}

type Base = { base: string; isLocal: boolean } | { detail: string }

function readBase(text: string): Base {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return { detail: `is no address of a service; give one like ${DEFAULT_URL}` }
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return { detail: "holds more than host, port and path; give the token as AEP_TOKEN instead" }
  }
  const isLocal = LOOPBACK.has(url.hostname)
  if (!isLocal && url.protocol === "http:") {
    return { detail: "is not encrypted, so that everybody on the way reads along; give an https address" }
  }
  return { base: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, isLocal }
}

function urlIn(file: string): string | undefined {
  try {
    const kept: unknown = JSON.parse(readText(file) ?? "{}")
    const url = typeof kept === "object" && kept !== null && "url" in kept ? kept.url : undefined
    return typeof url === "string" ? url : undefined
  } catch {
    // Not ours, or being damaged: as good as absent, and the usual address is tried.
    return undefined
  }
}

/** Absent when it is not there or not for us to read; the service's answer then says what is missing. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** `{error, detail}` as our doors and the reference's give it. */
async function readRefusal(response: Response): Promise<{ error: string; detail: string }> {
  const text = await firstText(response.body)
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== "object" || body === null) return { error: "", detail: "" }
    const member = (name: string): string => {
      const value: unknown = Object.getOwnPropertyDescriptor(body, name)?.value
      return typeof value === "string" ? value : ""
    }
    return { error: member("error"), detail: member("detail") }
  } catch {
    // Some other server's words; the status has to do.
    return { error: "", detail: "" }
  }
}

async function firstText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ""
  while (reader !== undefined && text.length < MAX_REFUSAL) {
    const { value, done } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  await reader?.cancel()
  return text
}
