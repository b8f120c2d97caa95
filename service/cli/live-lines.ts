/**
 * Events of several sessions, as they come, as lines people read: a heading wherever another session speaks, or another day
 * is meant, then the time of day and the words of `timeline.ts`. Pure. Used by `tail-command.ts`.
 */
import type { AepEvent } from "../../shared/aep.ts"
import { sentence } from "./timeline.ts"
import { visible } from "./visible.ts"

/** See the head of the file. */
export class LiveLines {
  private heading: string | undefined

  /** `verbose`: show severity `debug` too. */
  constructor(private readonly verbose: boolean) {}

  /** The lines for the next event; none for machinery. */
  next(event: AepEvent): string[] {
    if (event.severity === "debug" && !this.verbose) return []
    const { day, time } = clockOf(event.time)
    const heading = `==> ${day} ${event.session === undefined ? `agent ${event.agent}` : event.session} <==`
    const line = `${time}  ${sentence(event)}`
    const before = this.heading
    this.heading = heading
    if (before === heading) return [visible(line)]
    return [...(before === undefined ? [] : [""]), visible(heading), visible(line)]
  }
}

/** In the time zone of whoever reads. */
function clockOf(time: string): { day: string; time: string } {
  const at = new Date(time)
  // A leap second is a time, and no date.
  if (Number.isNaN(at.getTime())) return { day: time.slice(0, 10), time: time.slice(11) }
  const two = (value: number): string => String(value).padStart(2, "0")
  const seconds = (at.getSeconds() + at.getMilliseconds() / 1000).toFixed(3).padStart(6, "0")
  return {
    day: `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
    time: `${two(at.getHours())}:${two(at.getMinutes())}:${seconds}`,
  }
}
