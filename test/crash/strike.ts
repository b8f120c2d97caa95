/**
 * When the kill falls: points in the life of a batch or of a start, each met by watching the files the service
 * writes. The watching blocks this process, so no answer can be taken in before the kill is sent.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import type { Child } from "../agent/child.ts"
import type { Feeder, Wire } from "./feeder.ts"
import type { Random } from "./random.ts"
import { type Home, killNow } from "./service.ts"

/**
 * `sent`: a batch left, nothing more is known. `logged`: a log has grown, no answer came yet. `answered`: the
 * moment an answer came, so before the next save. `saving`: the database has begun to change after an answer.
 * `starting`: the database has begun to change after a start.
 */
export const POINTS = ["sent", "logged", "answered", "saving", "starting"] as const
export type Point = (typeof POINTS)[number]

const SPIN_MS = 600

/** Watches the wire of all feeders and kills at its point. */
export class Strike {
  private left: number
  private struck = false

  /** Kills `child` at `point`, after `afterBatches` answers. */
  constructor(
    private readonly home: Home,
    private readonly child: Child,
    private readonly point: Point,
    afterBatches: number,
    private readonly random: Random,
  ) {
    this.left = afterBatches
  }

  /** Whether the kill was sent. */
  get done(): boolean {
    return this.struck
  }

  /** To be told of everything on the wire, at once. */
  onWire(feeder: Feeder, wire: Wire): void {
    if (this.struck) return
    if (wire.kind === "accepted") {
      this.left -= 1
      if (this.left > 0) return
      if (this.point === "answered") this.kill()
      if (this.point === "saving") {
        spinUntilChanged([`${this.home.database}-wal`])
        this.kill()
      }
    }
    if (wire.kind === "sent" && this.left <= 0) {
      if (this.point === "sent") this.kill()
      if (this.point === "logged") {
        const log = this.logToWatch(feeder, wire)
        if (log === undefined) return
        spinUntilChanged([log])
        this.kill()
      }
    }
  }

  /** One of the logs this batch will write to, so that the kill falls among its writes, early or late. */
  private logToWatch(feeder: Feeder, wire: { first: number; moments: number }): string | undefined {
    const deeds = feeder.fed.slice(wire.first, wire.first + wire.moments)
    const loud = deeds.flatMap((deed) => (deed.event === undefined ? [] : [deed.session]))
    if (loud.length === 0) return undefined
    const session = this.random.pick(loud) ?? `instance-${feeder.instance.id}`
    return join(this.home.logs, "opencode", `${session}.jsonl`)
  }

  private kill(): void {
    this.struck = true
    killNow(this.child)
  }
}

/** Blocks until one of the files is not what it was, or the bound is reached. Returns whether one changed. */
export function spinUntilChanged(files: readonly string[], mostMs = SPIN_MS): boolean {
  const before = files.map(stampOf)
  const end = performance.now() + mostMs
  while (performance.now() < end) {
    if (files.some((file, index) => stampOf(file) !== before[index])) return true
  }
  return false
}

function stampOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? "" : `${found.ino} ${found.size} ${found.mtimeNs}`
}
