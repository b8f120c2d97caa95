/**
 * Fifty times `kill -9` while two plugin instances feed the service: what was acknowledged is in the record, once,
 * in order, whatever the moment of the kill. Prints where the kills fell.
 */
import { expect, test } from "bun:test"
import type { Child } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { createFeeder, type Feeder, type Wire } from "./feeder.ts"
import { createRandom } from "./random.ts"
import { brokenPromises, faultsOf, raisedEpochs, readRecord, type SessionRecord } from "./record.ts"
import { killNow, launch, listening, openHome, startService } from "./service.ts"
import { POINTS, type Point, Strike, spinUntilChanged } from "./strike.ts"
import { createWorkload, type Workload } from "./workload.ts"

const SEED = 0x5eed
const KILLS = 50
const MOST_BURST = 150
const port = suitePort("crash", 0)

interface Tally {
  kills: Record<Point, number>
  /** Batches whose lines were in the log and whose answer never came. */
  loggedUnanswered: number
  batches: number
  lost: number
}

test("50 kills during a live feed lose, repeat and reorder nothing that was acknowledged", async () => {
  const random = createRandom(SEED)
  const home = openHome()
  const tally: Tally = {
    kills: { sent: 0, logged: 0, answered: 0, saving: 0, starting: 0 },
    loggedUnanswered: 0,
    batches: 0,
    lost: 0,
  }
  let strike: Strike | undefined
  let ending = false
  let child: Child | undefined
  const speakers: { feeder: Feeder; workload: Workload }[] = []
  const inFlight = new Map<string, { first: number; moments: number }>()
  const unanswered: { instance: string; first: number; moments: number }[] = []

  const speak = (name: string) => {
    const workload = createWorkload(name, random)
    const feeder = createFeeder(`inst-${name}`, home.path, port, random, (wire) => onWire(wire))
    const burst = () => {
      const most = random.whole(1, MOST_BURST)
      for (let fed = 0; fed < most; fed += 1) feeder.feed(workload.next())
    }
    const onWire = (wire: Wire) => {
      if (wire.kind === "sent") inFlight.set(name, wire)
      if (wire.kind === "lost") {
        const batch = inFlight.get(name)
        if (batch !== undefined) unanswered.push({ instance: feeder.instance.id, ...batch })
      }
      strike?.onWire(feeder, wire)
      if (wire.kind === "accepted" && !ending) burst()
    }
    speakers.push({ feeder, workload })
    burst()
  }

  const state = () =>
    [
      ...speakers.map(({ feeder: { instance, fed, acknowledged, batches, lost } }) =>
        [instance.id, fed.length, acknowledged, batches, lost].join(" "),
      ),
      child?.stderr() ?? "",
    ].join("\n")
  const check = (record: SessionRecord, acknowledged: readonly number[]) => {
    const faults = faultsOf(record)
    speakers.forEach(({ feeder }, index) => {
      const promised = {
        instance: feeder.instance.id,
        fed: feeder.fed,
        acknowledged: acknowledged[index] ?? 0,
      }
      faults.push(...brokenPromises(record, promised))
    })
    expect(faults.slice(0, 10)).toEqual([])
    expect(raisedEpochs(record)).toEqual([])
  }

  try {
    child = (await startService(home.path, port)).child
    speak("a")
    speak("b")
    for (let kill = 0; kill < KILLS; kill += 1) {
      const point = POINTS[kill % POINTS.length] ?? "sent"
      if (point === "starting") {
        killNow(child)
        await child.exited
        child = launch(home.path, port)
        spinUntilChanged([`${home.database}-wal`, home.database], 2_000)
        killNow(child)
      } else {
        // Until both roads were used once, a batch leaves a turn later than it says, and watching would block it.
        strike = new Strike(home, child, point, random.whole(point === "logged" ? 6 : 1, 12), random)
        await waitFor(`kill at ${point}`, 20_000, () => strike?.done, state)
        strike = undefined
      }
      await child.exited
      tally.kills[point] += 1
      const onDisk = readRecord(home.logs, false)
      tally.loggedUnanswered += countLogged(onDisk, unanswered.splice(0))
      child = launch(home.path, port)
      await listening(child, port)
      // Taken before the reading: what is acknowledged meanwhile may or may not be read.
      const acknowledged = speakers.map(({ feeder }) => feeder.acknowledged)
      check(readRecord(home.logs, false), acknowledged)
    }
    ending = true
    for (const { feeder } of speakers) {
      feeder.feed({ body: { kind: "dispose" }, event: "session.ended" })
      await feeder.drained()
      tally.batches += feeder.batches
      tally.lost += feeder.lost
      await feeder.close()
    }
    process.kill(child.pid, "SIGTERM")
    expect(await child.exited).toBe(0)

    const record = readRecord(home.logs, true)
    check(
      record,
      speakers.map(({ feeder }) => feeder.fed.length),
    )
    const lines = [...record.values()].flat()
    expect(openEnds(lines)).toEqual([])
    const moments = speakers.reduce((sum, { feeder }) => sum + feeder.fed.length, 0)
    process.stdout.write(
      `${KILLS} kills ${JSON.stringify(tally.kills)}, ${moments} moments, ${record.size} logs, ${lines.length} lines, ` +
        `${tally.batches} batches answered, ${tally.lost} not; ${tally.loggedUnanswered} killed after the log took ` +
        "their lines and before the answer\n",
    )
    // A suite whose kills never fall where it hurts proves nothing.
    expect(tally.loggedUnanswered).toBeGreaterThan(KILLS / 10)
  } finally {
    await child?.stop()
    for (const { feeder } of speakers) await feeder.close()
    home.remove()
  }
}, 240_000)

function countLogged(
  record: SessionRecord,
  batches: readonly { instance: string; first: number; moments: number }[],
): number {
  const logged = new Map<string, Set<number>>()
  for (const { opencodeinstance, opencodemoment } of [...record.values()].flat()) {
    if (opencodeinstance === undefined || opencodemoment === undefined) continue
    const known = logged.get(opencodeinstance) ?? new Set()
    logged.set(opencodeinstance, known.add(opencodemoment))
  }
  // A batch that was sent again and again while nobody listened counts once.
  const distinct = new Map(batches.map((batch) => [`${batch.instance}/${batch.first}`, batch]))
  return [...distinct.values()].filter(({ instance, first, moments }) =>
    Array.from({ length: moments }, (_, index) => first + index).some((n) => logged.get(instance)?.has(n)),
  ).length
}

/** Runs, calls and asks without a terminal, after every instance said goodbye. */
function openEnds(
  lines: readonly { id: string; type: string; cause?: string; subject?: string }[],
): string[] {
  const ended = new Set(lines.flatMap(({ cause, subject }) => [cause, subject]))
  return lines
    .filter(({ type }) => ["run.started", "tool.requested", "attention.requested"].includes(type))
    .filter(({ id }) => !ended.has(id))
    .map(({ id, type }) => `${type} ${id}`)
}
