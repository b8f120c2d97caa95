/**
 * A process that says a known number of events in a known number of sessions, through the real ledger and the
 * real relay binding, as fast as asked. Started again on the same home it goes on where its logs end. Prints
 * its state ten times a second, one JSON line each; SIGTERM stops it in order. Not the service: nothing maps
 * or gates here.
 */
import { join } from "node:path"
import { openLedger } from "../../service/emit/open.ts"
import { connectWebSocket } from "../../service/emit/relay/socket.ts"
import { RelayBinding } from "../../service/emit/relay.ts"
import { readBootId } from "../../service/session/boot.ts"
import { makeEvent } from "../fast/ledger-home.ts"

/** What to say, and to whom. */
export interface Speech {
  home: string
  url: string
  token: string
  sessions: number
  /** Events of each session. */
  each: number
  /** Events of one turn; a turn comes every 5 ms. */
  burst: number
}

/** One printed line. */
export interface Report {
  /** Counts the reports. */
  n: number
  said: number
  rssBytes: number
  /** Highest so far. */
  mostRssBytes: number
  status: ReturnType<RelayBinding["status"]>
  commands: string[]
}

const AGENT = "opencode"
const TURN_MS = 5
const REPORT_MS = 100
/** Lines of many sizes: mostly small, some as large as a moment may be. */
const SIZES = [20, 100, 300, 1000, 50, 200, 3000, 80]

interface Said {
  count: number
}

function speak(speech: Speech): void {
  const timers = {
    set: (run: () => void, afterMs: number): unknown => setTimeout(run, afterMs),
    clear: (handle: unknown): void => clearTimeout(handle as ReturnType<typeof setTimeout> | undefined),
  }
  const opened = openLedger<Said>({
    home: speech.home,
    boot: readBootId(Date.now()),
    now: Date.now,
    timers,
    folding: {
      initial: () => ({ count: 0 }),
      fold: (state) => {
        state.count += 1
      },
      marksOf: () => undefined,
      isState: (value): value is Said => typeof value === "object" && value !== null && "count" in value,
    },
    isOpen: ({ count }) => count < speech.each,
  })
  if (opened.kind !== "opened") throw new Error(opened.detail)
  const { ledger, relays, report } = opened
  const commands: string[] = []
  const names = Array.from({ length: speech.sessions }, (_, n) => `ses_${n}`)
  const relay = new RelayBinding({
    url: speech.url,
    token: speech.token,
    instance: "speaker",
    agents: [AGENT],
    control: { accepts: ["control.cancel"], ackWindowMs: 10_000 },
    logRoot: join(speech.home, "logs"),
    table: relays,
    memoryLost: report.created,
    liveSessions: () => names.map((name) => `${AGENT}/${name}.jsonl`),
    onCommand: (text) => commands.push(text),
    tell: (line) => void process.stderr.write(`${line}\n`),
    connect: connectWebSocket,
    timers,
    now: Date.now,
    random: Math.random,
    // Short patience, so that a relay's faults fit into a test.
    limits: { connectMs: 1500, helloMs: 1500, pongMs: 1500, backoffFirstMs: 100, backoffMostMs: 600 },
  })
  relay.start()

  const keys = names.map((session) => ({ agent: AGENT, session }))
  let said = keys.reduce((sum, key) => sum + (ledger.find(key)?.state.count ?? 0), 0)
  let turn = 0
  const sayGroup = (size: number): number => {
    turn += 1
    const key = keys[(turn * 7) % keys.length]
    if (key === undefined) return 0
    const entry = ledger.session(key, { fresh: true })
    const count = Math.min(size, speech.each - entry.state.count)
    const lines = Array.from({ length: count }, () => {
      const { state } = entry
      const id = `${key.session}-${state.count}`
      const event = makeEvent(key, id, "progress.status", ledger.position(entry))
      const padding = "é".repeat(SIZES[(said + state.count) % SIZES.length] ?? 0)
      state.count += 1
      return JSON.stringify({ ...event, time: new Date().toISOString(), data: { padding } })
    })
    if (count === 0) return 0
    const result = ledger.append(entry, lines)
    if (result.kind !== "written") throw new Error(`the log takes nothing: ${result.code}`)
    relay.said(result.file, result.start, result.end)
    return count
  }

  const total = speech.sessions * speech.each
  const speaking = setInterval(() => {
    for (let left = speech.burst; left > 0 && said < total; left -= 4) said += sayGroup(Math.min(4, left))
    if (said >= total) clearInterval(speaking)
  }, TURN_MS)

  let mostRssBytes = 0
  let n = 0
  const print = (): void => {
    const rssBytes = process.memoryUsage.rss()
    mostRssBytes = Math.max(mostRssBytes, rssBytes)
    n += 1
    const line: Report = {
      n,
      said,
      rssBytes,
      mostRssBytes,
      status: relay.status(),
      commands: commands.splice(0),
    }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  }
  const reporting = setInterval(print, REPORT_MS)
  process.once("SIGTERM", async () => {
    clearInterval(speaking)
    clearInterval(reporting)
    await relay.close(2000)
    print()
    ledger.close()
    process.exit(0)
  })
}

if (import.meta.main) speak(JSON.parse(process.argv[2] ?? ""))
