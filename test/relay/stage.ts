/**
 * A speaker process, relays that come and go on one port, and the comparison of what was logged with what
 * arrived.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { type Child, startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"
import { RELAY_TOKEN, type Reception } from "./fault-relay.ts"
import type { Report, Speech } from "./speaker.ts"

const ROOT = resolve(import.meta.dir, "../..")
const PATIENCE_MS = 90_000

/** A running speaker. */
export interface Speaker {
  readonly child: Child
  /** A report of now, not of a while ago. */
  fresh(): Promise<Report>
  /** Everything that was commanded so far. */
  commands(): string[]
  /** Waits until a report says so. */
  until(what: string, holds: (report: Report) => boolean): Promise<Report>
  kill(): Promise<void>
  /** SIGTERM; its exit code. */
  stop(): Promise<number>
}

/** Starts a speaker on a home. */
export function startSpeaker(
  speech: Omit<Speech, "token" | "url"> & { port: number; token?: string },
): Speaker {
  const { port, token = RELAY_TOKEN, ...rest } = speech
  const whole: Speech = { ...rest, url: `ws://127.0.0.1:${port}/socket`, token }
  const child = startChild({
    command: [process.execPath, join(import.meta.dir, "speaker.ts"), JSON.stringify(whole)],
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? "" },
  })
  const reports = (): Report[] =>
    child
      .stdout()
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.startsWith('{"n"'))
      .map((line) => JSON.parse(line))
  const until: Speaker["until"] = (what, holds) =>
    waitFor(
      what,
      PATIENCE_MS,
      () => {
        if (!child.isRunning()) throw new Error(`the speaker ended\n${child.stderr()}`)
        const last = reports().at(-1)
        return last !== undefined && holds(last) ? last : undefined
      },
      () => `${JSON.stringify(reports().at(-1))}\n${child.stderr()}`,
    )
  return {
    child,
    until,
    fresh: () => {
      const known = reports().at(-1)?.n ?? 0
      // The next one may have been made before we asked.
      return until("fresh report", ({ n }) => n >= known + 2)
    },
    commands: () => reports().flatMap(({ commands }) => commands),
    kill: async () => {
      if (child.isRunning()) process.kill(child.pid, "SIGKILL")
      await child.exited
    },
    stop: () => child.stop(),
  }
}

/** How what arrived compares with the logs of a home. */
export interface Comparison {
  logged: number
  logBytes: number
  /** Events received, repetitions included. */
  arrivals: number
  /** Logged and never received. */
  missing: number
  /** Received and nowhere logged, or not byte for byte. */
  foreign: number
  /** Sessions whose first arrivals are not in the order of their log. */
  disordered: string[]
}

/** Compares every log below a home with a reception. */
export function compare(home: string, reception: Reception): Comparison {
  const texts = reception.texts()
  const first = new Set(texts)
  const arrived = new Map<string, string[]>()
  for (const text of first) {
    // An agent's own events are in no session; their log bears this name.
    const { session = "_agent" } = JSON.parse(text)
    const list = arrived.get(session)
    if (list === undefined) arrived.set(session, [text])
    else list.push(text)
  }
  const result: Comparison = {
    logged: 0,
    logBytes: 0,
    arrivals: texts.length,
    missing: 0,
    foreign: 0,
    disordered: [],
  }
  const known = new Set<string>()
  const folder = join(home, "logs", "opencode")
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), "utf8")
    const lines = text.split("\n").slice(0, -1)
    result.logged += lines.length
    result.logBytes += Buffer.byteLength(text)
    for (const line of lines) {
      known.add(line)
      if (!first.has(line)) result.missing += 1
    }
    const session = name.replace(".jsonl", "")
    const got = arrived.get(session) ?? []
    const inOrder = lines.filter((line) => first.has(line))
    if (inOrder.some((line, at) => line !== got[at])) result.disordered.push(session)
  }
  result.foreign = [...first].filter((text) => !known.has(text)).length
  return result
}
