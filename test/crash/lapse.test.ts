/**
 * What an instance left open that never comes back after a `kill -9` of the service: the next process waits one
 * lease and then closes it. The killed service is a real process; the one after it runs here, by a clock of ours.
 */
import { expect, test } from "bun:test"
import { digestOf } from "../../service/capture/digest.ts"
import { Emitter } from "../../service/emit/emitter.ts"
import { LEASE_MS } from "../../service/emit/instances.ts"
import { Intake } from "../../service/emit/intake.ts"
import { sessionFolding } from "../../service/emit/logged.ts"
import { openLedger } from "../../service/emit/open.ts"
import { readMoment } from "../../service/http/moments-body.ts"
import { readBootId } from "../../service/session/boot.ts"
import { isOpen } from "../../service/session/state.ts"
import { suitePort } from "../ports.ts"
import { posture } from "../posture.ts"
import { sha256Hex } from "../replay.ts"
import type { Line } from "./record.ts"
import { Story } from "./story.ts"
import { created, type Deed } from "./workload.ts"

const port = suitePort("crash", 6)
const LOOK_MS = 5_000

/** A clock that moves when told, and runs what is due on its way. */
class Clock {
  nowMs = Date.now()
  private readonly due = new Map<number, { at: number; run: () => void }>()
  private last = 0

  readonly timers = {
    set: (run: () => void, afterMs: number): unknown => {
      this.last += 1
      this.due.set(this.last, { at: this.nowMs + afterMs, run })
      return this.last
    },
    clear: (handle: unknown): void => void this.due.delete(Number(handle)),
  }

  advance(byMs: number): void {
    const end = this.nowMs + byMs
    for (;;) {
      const [next] = [...this.due].sort(([, a], [, b]) => a.at - b.at)
      if (next === undefined || next[1].at > end) break
      this.due.delete(next[0])
      this.nowMs = next[1].at
      next[1].run()
    }
    this.nowMs = end
  }
}

/** The service's own parts on a home, by our clock. */
function openParts(home: string) {
  const clock = new Clock()
  const now = () => clock.nowMs
  const { timers } = clock
  const opened = openLedger({
    home,
    boot: readBootId(Date.now()),
    now,
    timers,
    folding: sessionFolding,
    isOpen,
  })
  if (opened.kind !== "opened") throw new Error(opened.detail)
  const { ledger } = opened
  let ids = 0
  const voice = {
    host: "host",
    newId: () => `after-${++ids}`,
    digest: (value: unknown) => digestOf(value, sha256Hex),
    ...posture(),
  }
  const emitter = new Emitter(ledger, voice, (type, field, code) => {
    throw new Error(`${type}: ${field} is ${code}`)
  })
  const onFault = (error: unknown) => {
    throw error
  }
  const intake = new Intake({ ledger, emitter, now, timers, read: readMoment, onFault })
  return { clock, ledger, intake }
}

/** A run with a call and an ask, none of them ended. */
function* leaveOpen(session: string): Generator<Deed> {
  yield created(session)
  const input = { sessionID: session }
  yield { session, body: { kind: "chat.message", input, output: { message: { id: "msg_1" } } } }
  const call = { tool: "bash", sessionID: session, callID: "call_1" }
  yield { session, body: { kind: "tool.before", input: call, output: { args: {} } } }
  const properties = { sessionID: session, id: "per_1", permission: "bash", tool: { callID: "call_1" } }
  yield { session, body: { kind: "bus", event: { type: "permission.asked", properties } } }
}

const typesOf = (lines: readonly Line[] | undefined, from = 0) =>
  (lines ?? []).slice(from).map(({ type }) => type)
const presences = (story: Story) => (story.record().get("") ?? []).map(({ data }) => data?.state)

test("a lease that nobody renews after a kill closes run and call, ends the instance and keeps the ask ten minutes", async () => {
  const story = new Story(port, "inst-gone")
  try {
    await story.start()
    await story.feed(leaveOpen("ses_open"))
    await story.kill()
    const before = story.record().get("ses_open")?.length ?? 0

    const { clock, ledger, intake } = openParts(story.home.path)
    intake.start()
    clock.advance(LEASE_MS - LOOK_MS)
    expect(typesOf(story.record().get("ses_open"), before)).toEqual([])
    clock.advance(2 * LOOK_MS)
    expect(typesOf(story.record().get("ses_open"), before)).toEqual(["tool.failed", "run.cancelled"])
    expect(typesOf(story.record().get("instance-inst-gone")).at(-1)).toBe("session.ended")
    expect(presences(story)).toEqual(["online", "offline"])
    clock.advance(600_000)
    const closing = ["tool.failed", "run.cancelled", "attention.resolved"]
    expect(typesOf(story.record().get("ses_open"), before)).toEqual(closing)
    clock.advance(600_000)
    expect(typesOf(story.record().get("ses_open"), before)).toEqual(closing)
    intake.stop()
    ledger.close()
    expect(presences(story)).toEqual(["online", "offline"])
    expect(story.faults().filter((fault) => !fault.startsWith("inst-gone/"))).toEqual([])
  } finally {
    await story.close()
  }
}, 30_000)

test("an instance that comes back within its lease keeps everything open", async () => {
  const story = new Story(port, "inst-back")
  try {
    await story.start()
    await story.feed(leaveOpen("ses_open"))
    await story.kill()
    const before = story.record().get("ses_open")?.length ?? 0

    const { clock, ledger, intake } = openParts(story.home.path)
    intake.start()
    for (let beat = 0; beat < 20; beat += 1) {
      clock.advance(15_000)
      const { instance, fed } = story.feeder
      intake.apply({ instance, first: fed.length, dropped: undefined, moments: [] })
    }
    expect(typesOf(story.record().get("ses_open"), before)).toEqual([])
    intake.stop()
    ledger.close()
    expect(story.faults().filter((fault) => !fault.startsWith("inst-back/"))).toEqual([])
  } finally {
    await story.close()
  }
}, 30_000)

test("after a clean stop another instance says online, although the one before may still come back", async () => {
  const story = new Story(port, "inst-gone")
  try {
    await story.start()
    await story.feed(leaveOpen("ses_open"))
    await story.end("stop")
    expect(presences(story)).toEqual(["online", "offline"])

    const { clock, ledger, intake } = openParts(story.home.path)
    intake.start()
    const instance = { ...story.feeder.instance, id: "inst-new" }
    const beat = () => intake.apply({ instance, first: 0, dropped: undefined, moments: [] })
    beat()
    expect(presences(story)).toEqual(["online", "offline", "online"])
    for (let beats = 0; beats < 6; beats += 1) {
      clock.advance(15_000)
      beat()
    }
    expect(presences(story).at(-1)).toBe("online")
    intake.stop()
    ledger.close()
    expect(presences(story).at(-1)).toBe("offline")
  } finally {
    await story.close()
  }
}, 30_000)
