/**
 * The real service as a process of its own in a temporary home, and the plugin's side of it: recorded moments go in by
 * the plugin's door, what was logged is read back from disk. How the endpoint is asked is `client.ts`.
 */
import { createHmac } from "node:crypto"
import { join } from "node:path"
import type { AepEvent } from "../../shared/aep.ts"
import { waitFor } from "../agent/wait.ts"
import { type Home, openHome, type Running, startService, textOf } from "../crash/service.ts"
import { readMomentFile } from "../recordings.ts"
import type { Step } from "../replay.ts"

/** The token of services that are given one. */
export const TOKEN = "hub-suite-token-0123456789abcdef"

/** See the head of the file. */
export class Stage {
  private readonly processes: Running[]

  private constructor(
    private readonly port: number,
    private readonly env: Record<string, string>,
    readonly home: Home,
    first: Running,
  ) {
    this.processes = [first]
  }

  /** Starts a service in a new home and waits until it listens. `env` is set on top of home and port. */
  static async open(port: number, env: Record<string, string> = {}): Promise<Stage> {
    const home = openHome()
    return new Stage(port, env, home, await startService(home.path, port, env))
  }

  get service(): Running {
    const running = this.processes.at(-1)
    if (running === undefined) throw new Error("no service was started")
    return running
  }

  get url(): string {
    return this.service.url
  }

  /** The token that the service made for itself; absent where it was given one. */
  get madeToken(): string | undefined {
    return textOf(join(this.home.path, "token"))?.trim()
  }

  /** Starts the service again in the same home, after its end. */
  async startAgain(): Promise<void> {
    this.processes.push(await startService(this.home.path, this.port, this.env))
  }

  /** All that the services of this home printed. */
  printed(): string {
    return this.processes.map(({ child }) => `${child.stdout()}\n${child.stderr()}`).join("\n")
  }

  /** Posts moments as the plugin does, one request for each run of one instance. */
  async tell(steps: readonly Step[]): Promise<void> {
    for (let at = 0; at < steps.length; ) {
      const instance = steps[at]?.instance
      const same = steps.slice(at).findIndex((step) => step.instance.id !== instance?.id)
      const batch = steps.slice(at, same === -1 ? undefined : at + same)
      at += batch.length
      const moments = batch.map(({ moment }) => moment)
      const answer = await fetch(`${this.url}/opencode/moments`, {
        method: "POST",
        headers: { authorization: `Bearer ${this.doorCredential()}`, "content-type": "application/json" },
        body: JSON.stringify({ instance, first: moments[0]?.n, moments }),
      })
      const told = await answer.text()
      if (answer.status !== 202 || !told.includes('"rejected":[]')) throw new Error(`moments: ${told}`)
    }
  }

  /** The whole lines of a session's log, as they stand on disk now. */
  logged(session: string, agent = "opencode"): string[] {
    const text = textOf(join(this.home.logs, agent, `${session}.jsonl`)) ?? ""
    return text.split("\n").slice(0, -1)
  }

  /** Tells a whole conversation, and waits for its last run's end, which comes some time after its last moment. */
  async converse({ session, steps, runs }: Conversation): Promise<void> {
    await this.tell(steps)
    await waitFor("end of the last run", 10_000, () => runsEnded(this.logged(session)) === runs)
  }

  /** Ends the service and takes the home away. */
  async close(): Promise<void> {
    await this.service.child.stop()
    this.home.remove()
  }

  private doorCredential(): string {
    const { key }: { key: string } = JSON.parse(textOf(join(this.home.path, "plugin.json")) ?? "{}")
    return createHmac("sha256", key).update("door/1").digest("hex")
  }
}

/** A recorded conversation of one session, without the goodbye of its instance: the session stays claimed. */
export interface Conversation {
  session: string
  steps: readonly Step[]
  /** How many runs it has, each of which ends as finished. */
  runs: number
}

/** Reads a recording of our own plugin; its session is renamed, so that one home can hold it several times. */
export function conversationOf(name: string, session: string): Conversation {
  const steps = readMomentFile(name).filter(({ moment }) => moment.kind !== "dispose")
  const [recorded] = /\bses_[A-Za-z0-9]+/.exec(JSON.stringify(steps)) ?? []
  if (recorded === undefined) throw new Error(`${name}: no session`)
  const id = `of-${session}`
  return {
    session,
    runs: steps.filter(({ moment }) => moment.kind === "chat.message").length,
    steps: steps.map(({ instance, moment }) => ({
      instance: { ...instance, id },
      moment: JSON.parse(JSON.stringify(moment).replaceAll(recorded, session)),
    })),
  }
}

/** How many runs ended in these lines. */
export function runsEnded(lines: readonly string[]): number {
  return eventsOf(lines).filter(({ type }) => type === "run.finished").length
}

/** Events of log lines. */
export function eventsOf(lines: readonly string[]): AepEvent[] {
  return lines.map((line) => JSON.parse(line))
}
