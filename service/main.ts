/**
 * Composition root: configuration -> parts -> serve, and the way down again. The only file that knows every part.
 * Exit codes: 0 after a clean stop, 2 when it cannot start, with one line that says what to do.
 */
import { homedir, hostname } from "node:os"
import manifest from "../package.json" with { type: "json" }
import { digestOf } from "./capture/digest.ts"
import { createRedactor } from "./capture/redact.ts"
import { SERVICE_HELP } from "./cli/service-help.ts"
import { type Config, readConfig } from "./config.ts"
import { Emitter } from "./emit/emitter.ts"
import { createIds } from "./emit/ids.ts"
import { Intake } from "./emit/intake.ts"
import { sessionFolding } from "./emit/logged.ts"
import { openLedger } from "./emit/open.ts"
import { homePaths, leaveHome, prepareHome, readSecrets, writePid, writePluginFile } from "./home.ts"
import { createApp } from "./http/app.ts"
import { ownHosts } from "./http/guard.ts"
import { listen } from "./http/listen.ts"
import { readMoment } from "./http/moments-body.ts"
import { readBootId } from "./session/boot.ts"
import { isOpen } from "./session/state.ts"

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const complain = (line: string): void => void process.stderr.write(`opencode-aep: ${line}\n`)

function start(config: Config): void {
  const paths = homePaths(config.home)
  const fault = prepareHome(config.home)
  if (fault !== undefined) {
    giveUp(fault)
    return
  }

  const timers = {
    set: (run: () => void, afterMs: number): unknown => setTimeout(run, afterMs),
    clear: (handle: unknown): void => clearTimeout(handle as ReturnType<typeof setTimeout> | undefined),
  }
  const opened = openLedger({
    home: config.home,
    boot: readBootId(Date.now()),
    now: Date.now,
    timers,
    folding: sessionFolding,
    isOpen,
  })
  if (opened.kind !== "opened") {
    giveUp(opened.detail)
    return
  }
  const { ledger, report } = opened

  const secrets = readSecrets(paths, config)
  const { ceilings, pii, secretValues } = config.capture
  const redactor = createRedactor({
    home: homedir(),
    // What opens our own doors: an agent can be asked to print the files it stands in.
    secretValues: [...secretValues, secrets.token, secrets.key, secrets.doorCredential],
    pii,
  })
  for (const at of config.capture.unsetNames) {
    complain(`AEP_REDACT_NAMES: entry ${at} is no variable of this process; nothing is hidden for it`)
  }

  const sha256Hex = (text: string): string => Bun.CryptoHasher.hash("sha256", text, "hex")
  const emitter = new Emitter(
    ledger,
    {
      host: hostname() || "localhost",
      newId: createIds(Date.now),
      digest: (value) => digestOf(value, sha256Hex),
      ceilings,
      redactor,
    },
    (type, field, code) => complain(`an event ${type} was refused: its ${field} is ${code}`),
  )
  const intake = new Intake({
    ledger,
    emitter,
    now: Date.now,
    timers,
    read: readMoment,
    onFault: (error) => complain(`a moment could not be applied: ${errorName(error)}`),
  })

  const policy = {
    hosts: ownHosts(config.host, config.port, config.publicHosts),
    origins: new Set(config.allowedOrigins),
  }
  const startedAt = Date.now()
  const app = createApp({
    policy,
    moments: {
      credential: Buffer.from(secrets.doorCredential),
      maxBody: config.maxBody,
      maxBatch: config.maxBatch,
      apply: (shell) => intake.apply(shell),
    },
    health: {
      token: Buffer.from(secrets.token),
      health: () => ({
        ok: !ledger.degraded,
        relay: !ledger.degraded,
        counts: {
          version: manifest.version,
          uptime_ms: Date.now() - startedAt,
          ...intake.population,
          ...intake.counts,
          ...emitter.counts,
          ...faultsOf(ledger.health()),
        },
      }),
    },
    onFault: (where, error) => complain(`a request to ${where} failed: ${errorName(error)}`),
  })

  const listening = listen(config, paths.socket, (request) => app.fetch(request))
  if (listening.kind === "refused") {
    ledger.close()
    giveUp(listening.detail)
    return
  }
  if (listening.warning !== undefined) complain(listening.warning)
  writePluginFile(paths, listening.url, listening.socket, secrets.key)
  writePid(paths, process.pid)
  intake.start()
  tellReport(report)
  say(`opencode-aep ${manifest.version} listens on ${listening.url}`)
  say(`sessions are logged below ${config.home}/logs`)
  say("next: copy plugin/opencode-aep.js into your OpenCode plugin folder (~/.config/opencode/plugin/)")

  let stopping = false
  const stop = async (): Promise<void> => {
    if (stopping) return
    stopping = true
    try {
      // Requests under way end first: what they were told is applied must be in the log we close.
      await listening.close()
      intake.stop()
      ledger.close()
    } catch (error) {
      complain(`the stop was not clean: ${errorName(error)}; the next start reads the logs again`)
      process.exitCode = 1
    }
    leaveHome(paths)
    process.exit()
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
}

function tellReport(report: {
  lostTails: number
  movedAside?: string
  distrust: boolean
  bytesCut: number
}): void {
  if (report.movedAside !== undefined)
    complain(`the database was damaged; it was rebuilt from the logs and kept as ${report.movedAside}`)
  if (report.lostTails > 0)
    complain(
      `${report.lostTails} log(s) lost lines that were written before; their sessions go on in a new epoch`,
    )
  if (report.bytesCut > 0) complain(`${report.bytesCut} byte(s) of unfinished lines were cut from the logs`)
  if (report.distrust) complain("the machine went down without a clean stop; sessions go on in a new epoch")
}

function faultsOf(health: { log?: { code: string }; store?: string }): Record<string, string> {
  return {
    ...(health.log === undefined ? {} : { log_fault: health.log.code }),
    ...(health.store === undefined ? {} : { store_fault: health.store }),
  }
}

/** Names only: messages of the runtime can quote what was being worked on. */
function errorName(error: unknown): string {
  return error instanceof Error
    ? `${error.name} at ${(error.stack ?? "").split("\n")[1]?.trim().slice(0, 160) ?? "?"}`
    : "unknown"
}

function giveUp(detail: string): void {
  complain(detail)
  process.exitCode = 2
}

const read = readConfig(process.argv.slice(2), process.env, homedir())
switch (read.kind) {
  case "help":
    say(SERVICE_HELP)
    break
  case "version":
    say(manifest.version)
    break
  case "invalid":
    giveUp(read.detail)
    break
  case "config":
    start(read.config)
    break
  default:
    read satisfies never
}
