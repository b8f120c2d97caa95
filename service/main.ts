/**
 * Composition root: configuration -> parts -> serve, and the way down again. The only file that knows every part.
 * Exit codes: 0 after a clean stop, 2 when it cannot start, with one line that says what to do.
 */
import { homedir, hostname } from "node:os"
import manifest from "../package.json" with { type: "json" }
import { digestOf } from "./capture/digest.ts"
import { createRedactor } from "./capture/redact.ts"
import { SERVICE_HELP } from "./cli/service-help.ts"
import { createCommands } from "./commands.ts"
import { type Config, readConfig } from "./config.ts"
import { ACCEPTS, ACK_WINDOW_MS } from "./control/control.ts"
import { RequestTally } from "./control/tally.ts"
import { Emitter } from "./emit/emitter.ts"
import { HISTORY_BOUNDS, readHistory } from "./emit/history.ts"
import { createIds } from "./emit/ids.ts"
import { Intake } from "./emit/intake.ts"
import { sessionFolding } from "./emit/logged.ts"
import { openLedger } from "./emit/open.ts"
import { connectWebSocket } from "./emit/relay/socket.ts"
import { RelayBinding } from "./emit/relay.ts"
import { createEndpoint } from "./endpoint.ts"
import { homePaths, leaveHome, prepareHome, readSecrets, writePid, writePluginFile } from "./home.ts"
import { tokenTest } from "./http/access.ts"
import { createApp } from "./http/app.ts"
import { ownHosts } from "./http/guard.ts"
import { listen } from "./http/listen.ts"
import { readMoment } from "./http/moments-body.ts"
import { judgeAdmission } from "./hub/admission.ts"
import { PROFILES } from "./map/profile.ts"
import { type Figures, metricsOf } from "./metrics.ts"
import { errorName, faultsOf, reportLines } from "./reports.ts"
import { readBootId } from "./session/boot.ts"
import { isOpen } from "./session/state.ts"

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const complain = (line: string): void => void process.stderr.write(`opencode-aep: ${line}\n`)

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

  const agents = Object.values(PROFILES).map(({ agent }) => agent)
  const history = { files: config.hub.maxSessions, ...HISTORY_BOUNDS }
  const endpoint = createEndpoint({
    bounds: config.hub,
    maxFrameBytes: config.maxBody,
    timers,
    history: readHistory(ledger.path(""), history),
    take: (command) => control.take(command),
    isLogged: (session) => agents.some((agent) => ledger.knows({ agent, session })),
    onAnswerable: (can) => downlink.setAnswerable(can),
    onFault: (error) => complain(`a reader could not be served: ${errorName(error)}`),
  })
  const { hub, own } = endpoint

  const sha256Hex = (text: string): string => Bun.CryptoHasher.hash("sha256", text, "hex")
  const { control, downlink, desk, delivered } = createCommands({
    proofKey: secrets.proofKey,
    agents,
    ledger,
    intake: () => intake,
    windows: config.windows,
    repeat: (ack) => {
      hub.publish([ack])
      const { agent, session } = ack.event
      relay?.missed({ agent, ...(session === undefined ? {} : { session }) }, ack.text)
    },
    digest: (value) => digestOf(value, sha256Hex),
    now: Date.now,
    timers,
  })
  const tally = new RequestTally()
  const emitter = new Emitter(
    ledger,
    {
      host: hostname() || "localhost",
      newId: createIds(Date.now),
      digest: (value) => digestOf(value, sha256Hex),
      ceilings,
      redactor,
      desk,
    },
    (type, field, code) => complain(`an event ${type} was refused: its ${field} is ${code}`),
    ({ key, messages, logged }) => {
      if (logged !== undefined) relay?.said(logged.file, logged.start, logged.end)
      else for (const { text } of messages) relay?.missed(key, text)
      control.said(messages)
      tally.said(messages)
      hub.publish(messages)
    },
  )
  const intake = new Intake({
    ledger,
    emitter,
    claims: {
      hold: (session, speaker) => {
        const isNew = own.hold(session, speaker)
        const known =
          isNew && relay !== undefined ? ledger.find({ agent: speaker.agent, session }) : undefined
        if (known !== undefined) relay?.claim(known.file)
      },
      free: (session, instance) => own.free(session, instance),
      freeAll: (instance) => {
        own.freeAll(instance)
        downlink.forget(instance)
      },
    },
    onDelivery: delivered,
    onLeaving: (instance) => control.gone(instance),
    now: Date.now,
    timers,
    read: readMoment,
    onFault: (error) => complain(`a moment could not be applied: ${errorName(error)}`),
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
          onCommand: endpoint.takeFromRelay,
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
  const startedAt = Date.now()
  const figures = (): Figures => ({
    uptimeMs: Date.now() - startedAt,
    population: intake.population,
    moments: intake.counts,
    emitted: emitter.counts,
    hub: hub.counts,
    readers: { sockets: endpoint.sockets.size, streams: endpoint.streams.size },
    claims: endpoint.roster.size,
    commands: control.counts,
    requests: tally.counts,
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
    downlink: {
      credential: Buffer.from(secrets.doorCredential),
      renew: (instance) => intake.renew(instance),
      poll: (...poll) => downlink.poll(...poll),
      isAnswerable: () => downlink.isAnswerable,
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
      discovery: { capabilities: endpoint.capabilities },
      events: {
        maxBody: config.maxBody,
        maxBatch: config.maxBatch,
        admit: (message) => judgeAdmission(message, (session) => own.owns(session)),
        publish: (messages) => hub.publish(messages),
      },
      stream: endpoint.streams,
      socket: endpoint.sockets,
      metrics: { metrics: () => metricsOf(figures()) },
    },
    onFault: (where, error) => complain(`a request to ${where} failed: ${errorName(error)}`),
  })

  const listening = listen(config, paths.socket, app.fetch, endpoint.sockets.websocket)
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
  for (const line of reportLines(report)) complain(line)
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
      downlink.close()
      control.close()
      endpoint.close("the service stops")
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

function firstOf(agents: readonly string[]): [string, ...string[]] {
  const [first, ...others] = agents
  if (first === undefined) throw new Error("no vendor profile is there")
  return [first, ...others]
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
