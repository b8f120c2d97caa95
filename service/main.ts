/**
 * Composition root: configuration -> parts -> serve, and the way down again. The only file that knows every part.
 * Exit codes: 0 after a clean stop, 2 when it cannot start, with one line that says what to do.
 */
import { homedir, hostname } from "node:os"
import manifest from "../package.json" with { type: "json" }
import { CAPTURES } from "../shared/aep.ts"
import { digestOf } from "./capture/digest.ts"
import { createRedactor } from "./capture/redact.ts"
import { SERVICE_HELP } from "./cli/service-help.ts"
import { type Config, readConfig } from "./config.ts"
import { ACCEPTS, ACK_WINDOW_MS, Control } from "./control/control.ts"
import { Emitter } from "./emit/emitter.ts"
import { HISTORY_BOUNDS, readHistory } from "./emit/history.ts"
import { createIds } from "./emit/ids.ts"
import { Intake } from "./emit/intake.ts"
import { sessionFolding } from "./emit/logged.ts"
import { openLedger } from "./emit/open.ts"
import { connectWebSocket } from "./emit/relay/socket.ts"
import { RelayBinding } from "./emit/relay.ts"
import { homePaths, leaveHome, prepareHome, readSecrets, writePid, writePluginFile } from "./home.ts"
import { tokenTest } from "./http/access.ts"
import { createApp } from "./http/app.ts"
import { ownHosts } from "./http/guard.ts"
import { listen } from "./http/listen.ts"
import { readMoment } from "./http/moments-body.ts"
import { createSocketDoor } from "./http/socket.ts"
import { createStreamDoor } from "./http/stream.ts"
import { judgeAdmission } from "./hub/admission.ts"
import { Hub } from "./hub/hub.ts"
import { isCommand, type Message, readMessage } from "./hub/message.ts"
import { OwnSessions } from "./hub/own-sessions.ts"
import { Roster } from "./hub/roster.ts"
import { PROFILES } from "./map/profile.ts"
import { type Figures, metricsOf } from "./metrics.ts"
import { readBootId } from "./session/boot.ts"
import { isOpen } from "./session/state.ts"

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const complain = (line: string): void => void process.stderr.write(`opencode-aep: ${line}\n`)

/** Bounds that no variable sets: what one reader may be behind, and how many may be connected. */
const SOFT_BYTES = 2 * 1024 * 1024
const HARD_BYTES = 8 * 1024 * 1024
const MAX_SUBSCRIPTIONS = 100
const MAX_READERS = 1000
/** Characters of events held for replay, in all. */
const BUFFER_BYTES = 64 * 1024 * 1024
/** How long a stop waits for the relay to confirm what it was sent. */
const RELAY_LEAVE_MS = 2000

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
  const { ledger, report, relays } = opened

  const secrets = readSecrets(paths, config)
  const { ceilings, pii, secretValues } = config.capture
  const relayToken = config.relay?.token
  const redactor = createRedactor({
    home: homedir(),
    // What opens our own doors and the relay's: an agent can be asked to print the files it stands in.
    secretValues: [
      ...secretValues,
      secrets.token,
      secrets.key,
      secrets.doorCredential,
      ...(relayToken === undefined ? [] : [relayToken]),
    ],
    pii,
  })
  for (const at of config.capture.unsetNames) {
    complain(`AEP_REDACT_NAMES: entry ${at} is no variable of this process; nothing is hidden for it`)
  }

  // The hub: what is held, who speaks for which session, and whose sessions are ours.
  const roster = new Roster()
  const agents = Object.values(PROFILES).map(({ agent }) => agent)
  const own = new OwnSessions({
    roster,
    control: () => controlBlock,
    take: (command) => control.take(command),
    isLogged: (session) => agents.some((agent) => ledger.knows({ agent, session })),
  })
  const hub = new Hub({
    bounds: {
      depth: config.hub.buffer,
      sessions: config.hub.maxSessions,
      bytes: BUFFER_BYTES,
      // An instance's own session speaks seldom and is asked for when something goes wrong.
      isKept: (session) => session.startsWith("instance-") && roster.claimants(session).length > 0,
    },
    defer: setImmediate,
    onFault: (error) => complain(`a reader could not be served: ${errorName(error)}`),
  })
  const history = { files: config.hub.maxSessions, ...HISTORY_BOUNDS }
  for (const lines of readHistory(ledger.path(""), history)) hub.hold(lines.flatMap(messageIn))

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
    ({ key, messages, logged }) => {
      if (logged !== undefined) relay?.said(logged.file, logged.start, logged.end)
      else for (const { text } of messages) relay?.missed(key, text)
      control.said(messages)
      hub.publish(messages)
    },
  )
  const intake = new Intake({
    ledger,
    emitter,
    claims: own,
    now: Date.now,
    timers,
    read: readMoment,
    onFault: (error) => complain(`a moment could not be applied: ${errorName(error)}`),
  })
  const control = new Control({
    speak: (session, act) => intake.speak(session, act),
    repeat: (ack) => {
      hub.publish([ack])
      const { agent, session } = ack.event
      relay?.missed({ agent, ...(session === undefined ? {} : { session }) }, ack.text)
    },
  })
  const relay =
    config.relay === undefined
      ? undefined
      : new RelayBinding({
          ...config.relay,
          instance: `${hostname() || "localhost"}/${process.pid}`,
          agents: firstOf(agents),
          control: { accepts: ACCEPTS, ackWindowMs: ACK_WINDOW_MS },
          logRoot: ledger.path(""),
          table: relays,
          memoryLost: report.created || report.movedAside !== undefined,
          liveSessions: (agent) =>
            own.sessionsOf(agent).flatMap((session) => ledger.find({ agent, session })?.file ?? []),
          onCommand: (text) => takeFromRelay(text, own, control),
          tell: complain,
          connect: connectWebSocket,
          timers,
          now: Date.now,
          random: Math.random,
        })

  const policy = {
    hosts: ownHosts(config.host, config.port, config.publicHosts),
    origins: new Set(config.allowedOrigins),
  }
  const isOurs = (session: string): boolean => own.owns(session)
  const capabilities = (): Record<string, unknown> => ({
    filters: ["attr-match"],
    replay: { buffer: config.hub.buffer, all: true },
    capture: CAPTURES,
    control: controlBlock,
    roster: {},
  })
  const reading = { timers, softBytes: SOFT_BYTES, hardBytes: HARD_BYTES, maxFrom: config.hub.maxFrom }
  const streams = createStreamDoor({ ...reading, hub, maxStreams: MAX_READERS })
  const sockets = createSocketDoor({
    hub,
    roster,
    isOurs,
    hello: () => ({ role: "both", identity: { agent: "opencode-aep" }, capabilities: capabilities() }),
    publish: (messages) => hub.publish(messages),
    timers,
    limits: { ...reading, maxSubscriptions: MAX_SUBSCRIPTIONS },
    maxFrameBytes: config.maxBody,
    maxSockets: MAX_READERS,
  })

  const startedAt = Date.now()
  const figures = (): Figures => ({
    uptimeMs: Date.now() - startedAt,
    population: intake.population,
    moments: intake.counts,
    emitted: emitter.counts,
    hub: hub.counts,
    readers: { sockets: sockets.size, streams: streams.size },
    claims: roster.size,
    commands: control.counts,
    isDegraded: ledger.degraded,
    relay: relay?.status(),
  })
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
        relay: relay === undefined ? !ledger.degraded : relay.status().isReady,
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
    aep: {
      access: { isToken: tokenTest([secrets.token]), auth: config.hub.auth },
      discovery: { capabilities },
      events: {
        maxBody: config.maxBody,
        maxBatch: config.maxBatch,
        admit: (message) => judgeAdmission(message, isOurs),
        publish: (messages) => hub.publish(messages),
      },
      stream: streams,
      socket: sockets,
      metrics: { metrics: () => metricsOf(figures()) },
    },
    onFault: (where, error) => complain(`a request to ${where} failed: ${errorName(error)}`),
  })

  const listening = listen(config, paths.socket, app.fetch, sockets.websocket)
  if (listening.kind === "refused") {
    ledger.close()
    giveUp(listening.detail)
    return
  }
  if (listening.warning !== undefined) complain(listening.warning)
  relay?.start()
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
      const closed = listening.close()
      streams.closeAll("the service stops")
      sockets.closeAll("the service stops")
      await closed
      intake.stop()
      await relay?.close(RELAY_LEAVE_MS)
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

/** What our sessions declare, in hello, discovery and roster (AEP-0004 §4.2). */
const controlBlock: Record<string, unknown> = { accepts: ACCEPTS, ack_window_ms: ACK_WINDOW_MS }

/** A line of a log as the hub holds it; none of what stands there that is no event. */
function messageIn(line: string): Message[] {
  const read = readMessage(line)
  return read.kind === "message" ? [read.message] : []
}

/** Commands for sessions that we claimed there; whatever else a relay sends is not meant for us. */
function takeFromRelay(text: string, own: OwnSessions, control: Control): void {
  for (const message of messageIn(text)) {
    const { type, session } = message.event
    if (session !== undefined && isCommand(type) && own.holds(session)) control.take(message)
  }
}

function firstOf(agents: readonly string[]): [string, ...string[]] {
  const [first, ...others] = agents
  if (first === undefined) throw new Error("no vendor profile is there")
  return [first, ...others]
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
