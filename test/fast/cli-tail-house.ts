/**
 * What the suites about `opencode-aep tail` are told with: the real program and the real service as processes, events that
 * others post, and a server of another make, which says what ours does only in need. Not a suite.
 */
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Child, startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"
import { type Home, openHome, type Running, startService } from "../crash/service.ts"
import { repository } from "./cli-program.ts"

export const TOKEN = "tail-suite-token-0123456789"
const PROGRAM = join(repository, "service/cli.ts")
const WAIT_MS = 10_000

/** One call of the program, in UTC; `env` adds to what it needs or takes the token away with the empty text. */
export function startTail(args: readonly string[], env: Record<string, string> = {}): Tailing {
  const command = [process.execPath, PROGRAM, "tail", ...args]
  return new Tailing(
    startChild({
      command,
      cwd: repository,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: join(tmpdir(), "aep-no-such-home"),
        TZ: "UTC",
        AEP_TOKEN: TOKEN,
        ...env,
      },
    }),
  )
}

/** A program that runs. */
export class Tailing {
  constructor(readonly child: Child) {}

  get lines(): string[] {
    return this.child.stdout().split("\n").slice(0, -1)
  }

  get complaints(): string[] {
    return this.child.stderr().split("\n").slice(0, -1)
  }

  async shows(text: string, times = 1): Promise<void> {
    const print = () => this.child.stdout() + this.child.stderr()
    await waitFor(`${times} x ${text}`, WAIT_MS, () => this.child.stdout().split(text).length > times, print)
  }

  async says(text: string, times = 1): Promise<void> {
    const print = () => this.child.stdout() + this.child.stderr()
    await waitFor(`word of ${text}`, WAIT_MS, () => this.child.stderr().split(text).length > times, print)
  }

  /** Ends it the way a person does; its exit code. */
  async interrupt(): Promise<number> {
    process.kill(this.child.pid, "SIGINT")
    return this.end()
  }

  /** Its exit code, once it ends by itself. */
  async end(): Promise<number> {
    await waitFor(
      "end of the program",
      WAIT_MS,
      () => !this.child.isRunning(),
      () => this.child.stderr(),
    )
    return this.child.exited
  }
}

/** An event of another emitter; `seq` is its position and makes its id and its second. */
export function eventAt(session: string, seq: number, members: Record<string, unknown> = {}): string {
  return JSON.stringify({
    aep: "0.1",
    id: `${session}-${seq}`,
    type: seq === 0 ? "session.started" : "tool.requested",
    ...(seq === 0 ? {} : { subject: `step-${seq}` }),
    time: `2026-06-01T08:00:${String(seq % 60).padStart(2, "0")}.250Z`,
    source: `aep://host-t/agent/other/session/${session}`,
    agent: "other",
    session,
    seq,
    ...members,
  })
}

/** A service in a home of its own, through several lives. */
export class Stage {
  readonly home: Home = openHome()
  private service: Running | undefined

  constructor(
    private readonly port: number,
    private readonly env: Record<string, string> = {},
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async start(env: Record<string, string> = {}): Promise<void> {
    this.service = await startService(this.home.path, this.port, { AEP_TOKEN: TOKEN, ...this.env, ...env })
  }

  async kill(): Promise<void> {
    await this.service?.kill()
  }

  async stop(): Promise<void> {
    await this.service?.end("SIGTERM")
  }

  async close(): Promise<void> {
    await this.service?.child.stop()
    this.home.remove()
  }

  /** Posts events, each as the text it is. */
  async post(...events: string[]): Promise<void> {
    const response = await fetch(`${this.url}/events`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${TOKEN}`,
        "aep-version": "0.1",
        "content-type": "application/x-ndjson",
      },
      body: `${events.join("\n")}\n`,
    })
    if (response.status !== 202) throw new Error(`the service took nothing: ${await response.text()}`)
  }

  /** Waits until so many readers are connected. */
  async hasReaders(count: number): Promise<void> {
    await waitFor(`${count} readers`, WAIT_MS, async () => {
      const response = await fetch(`${this.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
      return (await response.text()).includes(`aep_readers{binding="stream"} ${count}\n`)
    })
  }
}

/** What a server of another make is asked, and answers: the next of its answers each time, the last one for ever. */
export interface OtherServer {
  requests: { url: URL; headers: Headers }[]
  stop: () => Promise<void>
}

/** `text` is sent and the stream ended; with `isOpen` it is left open. */
export type Answer =
  | { kind: "stream"; text: string; isOpen?: boolean }
  | { kind: "answer"; response: () => Response }

/** Listens with the answers. */
export function startOther(port: number, answers: readonly Answer[]): OtherServer {
  const requests: OtherServer["requests"] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    idleTimeout: 0,
    fetch(request) {
      requests.push({ url: new URL(request.url), headers: request.headers })
      const answer = answers[Math.min(requests.length, answers.length) - 1]
      if (answer === undefined) throw new Error("no answer is left")
      if (answer.kind === "answer") return answer.response()
      const stream = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(answer.text))
          if (answer.isOpen !== true) controller.close()
        },
      })
      return new Response(stream, { headers: { "content-type": "text/event-stream; charset=utf-8" } })
    },
  })
  return { requests, stop: () => server.stop(true) }
}

/** What a suite has started; ended behind each test, stages when asked for. */
export class TailHouse {
  private readonly tails: Tailing[] = []
  private readonly servers: OtherServer[] = []
  private readonly stages: Stage[] = []

  constructor(
    private readonly port: number,
    private readonly otherPort: number,
  ) {}

  /** Starts the program. */
  tail(args: readonly string[], env: Record<string, string> = {}): Tailing {
    const started = startTail(args, env)
    this.tails.push(started)
    return started
  }

  /** Starts a server of another make. */
  other(answers: readonly Answer[]): OtherServer {
    const started = startOther(this.otherPort, answers)
    this.servers.push(started)
    return started
  }

  /** Starts the service in a new home. */
  async stage(env: Record<string, string> = {}): Promise<Stage> {
    const stage = new Stage(this.port, env)
    this.stages.push(stage)
    await stage.start()
    return stage
  }

  /** Ends programs and other servers. Throws when one printed the token. */
  async clear(): Promise<void> {
    for (const server of this.servers.splice(0)) await server.stop()
    for (const { child } of this.tails.splice(0)) {
      await child.stop()
      if (`${child.stdout()}${child.stderr()}`.includes(TOKEN)) throw new Error("the token was printed")
    }
  }

  /** Ends all. */
  async close(): Promise<void> {
    await this.clear()
    for (const stage of this.stages.splice(0)) await stage.close()
  }
}
