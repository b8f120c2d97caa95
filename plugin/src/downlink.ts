/**
 * The road down: one poll in flight, re-armed when it is answered, resting when it fails. Begins once the service is known to
 * be there and ends with the instance. Knows nothing of decisions but that they are handed on.
 */
import type { DownMessage } from "../../shared/moments.ts"
import { createBreaker } from "./breaker.ts"
import type { Drops } from "./drops.ts"
import type { Link } from "./link.ts"
import type { Pace } from "./pace.ts"
import { after } from "./timer.ts"

/** The downlink as the core uses it. */
export interface Downlink {
  /** Whether somebody could answer asks, as the last poll said; never while polls fail. */
  readonly answerable: boolean
  /** Begins to poll; at rest after a failure, at once: the service is there. */
  start(): void
  /** Ends the poll in flight, and polls no more. May be called twice. */
  close(): void
}

/** What the downlink is given. */
export interface DownlinkParts {
  link: Link
  drops: Drops
  pace: Pace
  instance: string
  /** Takes a decision that was proven. Must not throw. */
  deliver(message: DownMessage): void
  /** The service does not know this instance: it was started anew. Must not throw. */
  onUnknown(): void
  /** Milliseconds. */
  now(): number
  /** 0 to 1. */
  random(): number
}

/** A downlink that has polled nothing and owns no timer yet. */
export function createDownlink(parts: DownlinkParts): Downlink {
  const { link, drops, pace, instance, deliver, onUnknown, now, random } = parts
  const breaker = createBreaker(pace.pollBackoffMs, pace.backoffMostMs, random)
  let running = false
  let closed = false
  let wake: (() => void) | undefined
  let failed = false
  let answerable = false

  const fault = () => drops.count("fault")

  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = after(ms, resolve, fault)
      wake = () => {
        cancel()
        resolve()
      }
    })

  async function run(): Promise<void> {
    while (!closed) {
      const began = now()
      let polled = await link.poll(instance, answerable)
      if (polled.kind === "unauthorized" && !closed) {
        link.forget()
        polled = await link.poll(instance, answerable)
      }
      if (closed) return
      if (polled.kind !== "answered") {
        failed = true
        answerable = false
        if (polled.kind === "unknown") onUnknown()
        else link.forget()
        await rest(breaker.fail(polled.kind === "absent"))
        continue
      }
      failed = false
      answerable = polled.answerable
      breaker.succeed()
      for (let count = 0; count < polled.unproved; count += 1) drops.count("unproved")
      for (const message of polled.messages) deliver(message)
      // Whatever answers without being asked to wait must not be asked without end.
      if (polled.messages.length === 0) await rest(Math.max(0, pace.pollGapMs - (now() - began)))
    }
  }

  return {
    get answerable() {
      return answerable
    },
    start() {
      if (failed) wake?.()
      if (running || closed) return
      running = true
      run().catch(fault)
    },
    close() {
      closed = true
      answerable = false
      link.hangUp()
      wake?.()
    },
  }
}
