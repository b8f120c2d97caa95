/**
 * One plugin instance as the service meets it: the plugin's own uplink and link, fed from a workload, over the Unix
 * socket and TCP by turns. Keeps what was acknowledged, which is what the record is held against. What the agent
 * would do in between is not here.
 */

import { writeMoment } from "../../plugin/src/bound.ts"
import { createDrops } from "../../plugin/src/drops.ts"
import { createLink, type Link } from "../../plugin/src/link.ts"
import { PACE } from "../../plugin/src/pace.ts"
import { createUplink } from "../../plugin/src/uplink.ts"
import type { Instance } from "../../shared/moments.ts"
import { waitFor } from "../agent/wait.ts"
import type { Random } from "./random.ts"
import type { Deed } from "./workload.ts"

/** Retries at once, so that a minute of test sees many of them. */
const QUICK = {
  ...PACE,
  requestMs: 3_000,
  heartbeatMs: 500,
  backoffFirstMs: 20,
  backoffMostMs: 100,
  batchItems: 400,
}

/** What happened on the wire. */
export type Wire =
  | { kind: "sent"; first: number; moments: number }
  | { kind: "accepted"; next: number }
  | { kind: "lost" }

/** See the head of the file. */
export interface Feeder {
  readonly instance: Instance
  /** Every moment fed, by index. */
  readonly fed: readonly Deed[]
  /** The service has acknowledged every index below. */
  readonly acknowledged: number
  readonly batches: number
  /** Answers that never came. */
  readonly lost: number
  /** Queues one moment. */
  feed(deed: Deed): void
  /** Waits until everything fed is acknowledged. */
  drained(): Promise<void>
  /** Ends the uplink's timers. */
  close(): Promise<void>
}

/** A feeder for the service at `home` and `port`. `onWire` is called before anything else looks at an answer. */
export function createFeeder(
  id: string,
  home: string,
  port: number,
  random: Random,
  onWire: (wire: Wire) => void = () => undefined,
): Feeder {
  const instance: Instance = {
    id,
    agent: "opencode",
    directory: "/home/dev/project",
    mode: "serve",
    plugin: "0.1.0",
  }
  const off = { off: false, stream: false, home }
  // Another spelling of the same address: then the socket named beside the first one is not used.
  const roads: Link[] = [
    createLink(off, QUICK.requestMs, QUICK.pollMs),
    createLink({ ...off, url: `http://localhost:${port}` }, QUICK.requestMs, QUICK.pollMs),
  ]
  const fed: Deed[] = []
  const counts = { acknowledged: 0, batches: 0, lost: 0, turn: 0 }
  const link: Pick<Link, "send" | "forget" | "abandon"> = {
    async send(body) {
      counts.turn += 1
      const { first, moments } = JSON.parse(body) as { first: number; moments: unknown[] }
      const road = roads[counts.turn % roads.length]
      if (road === undefined) throw new Error("no road")
      const answer = road.send(body)
      onWire({ kind: "sent", first, moments: moments.length })
      const outcome = await answer
      if (outcome.kind === "accepted") {
        counts.acknowledged = Math.max(counts.acknowledged, outcome.next)
        counts.batches += 1
        onWire({ kind: "accepted", next: outcome.next })
      } else {
        counts.lost += 1
        onWire({ kind: "lost" })
      }
      return outcome
    },
    forget: () => {
      for (const road of roads) road.forget()
    },
    abandon: () => {
      for (const road of roads) road.abandon()
    },
  }
  const uplink = createUplink({
    link,
    drops: createDrops(),
    pace: QUICK,
    header: () => ({ instance, next: fed.length }),
    now: () => Date.now(),
    random: random.fraction,
  })
  return {
    instance,
    fed,
    get acknowledged() {
      return counts.acknowledged
    },
    get batches() {
      return counts.batches
    },
    get lost() {
      return counts.lost
    },
    feed(deed) {
      const n = fed.length
      fed.push(deed)
      const written = writeMoment(deed.body, n, Date.now())
      uplink.push({ n, ...written, kind: deed.body.kind, plane: "state" })
    },
    async drained() {
      await waitFor(
        `acknowledgement of ${fed.length} moments of ${id}`,
        20_000,
        () => counts.acknowledged >= fed.length,
        () => `acknowledged below ${counts.acknowledged}`,
      )
    },
    close: () => uplink.close(),
  }
}
