/**
 * What the suites about commands of the program are told with: the real service as a process, a plugin that is played down to the
 * proof of its decisions, and the real program. Not a suite.
 */
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { AepEvent } from "../../shared/aep.ts"
import type { Decision, DownAnswer, Instance, MomentBody } from "../../shared/moments.ts"
import { type Child, startChild } from "../agent/child.ts"
import { waitFor } from "../agent/wait.ts"
import { type Home, openHome, type Running, startService } from "../crash/service.ts"
import { instanceOf } from "../house.ts"
import { repository } from "./cli-program.ts"

const KEY = "control-suite-key-0123456789"
const TOKEN = "control-suite-token-0123456789"
const WAIT_MS = 10_000
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text)
const PROOF_KEY = hmac(KEY, "proof/1").digest()
const headers = {
  authorization: `Bearer ${hmac(KEY, "door/1").digest("hex")}`,
  "content-type": "application/json",
}

/** A decision as it came down, proven. */
export interface Came {
  request: string
  decision: Decision
}

/** A moment of the agent's bus. */
export function bus(type: string, properties: Record<string, unknown>): MomentBody {
  return { kind: "bus", event: { type, properties } }
}

/** See the head of the file. */
export class ControlHouse {
  private readonly home: Home = openHome()
  private readonly instance: Instance = { ...instanceOf("i-control"), answers: true }
  private service: Running | undefined
  private next = 0
  private readonly children: Child[] = []

  /** Starts the service on the port. */
  async open(port: number): Promise<void> {
    this.service = await startService(this.home.path, port, { AEP_OPENCODE_KEY: KEY, AEP_TOKEN: TOKEN })
  }

  get url(): string {
    return this.service?.url ?? ""
  }

  /** Has the plugin tell moments, all of which the service must take. */
  async tell(...bodies: MomentBody[]): Promise<void> {
    const first = this.next
    const moments = bodies.map((body) => ({ ...body, n: this.next++, at: Date.now() }))
    const answer = await fetch(`${this.url}/opencode/moments`, {
      method: "POST",
      headers,
      body: JSON.stringify({ instance: this.instance, first, moments }),
    })
    const said = JSON.stringify(await answer.json())
    if (said !== JSON.stringify({ next: this.next, rejected: [] })) throw new Error(`not taken: ${said}`)
  }

  /** One poll of the plugin. Throws where a decision is not proven. */
  async poll(): Promise<Came[]> {
    const nonce = crypto.randomUUID()
    const { id } = this.instance
    const answer = await fetch(`${this.url}/opencode/instances/${id}/down?nonce=${nonce}`, { headers })
    const { messages } = (await answer.json()) as DownAnswer
    return messages.map(({ request, decision, proof }) => {
      const own = hmac(PROOF_KEY, [nonce, id, request, decision].join("\0")).digest("hex")
      if (own !== proof) throw new Error("a decision without its proof")
      return { request, decision: JSON.parse(decision) }
    })
  }

  /** The next decision that is more than a notice. */
  async decision(): Promise<Came> {
    return waitFor("decision", WAIT_MS, async () => (await this.poll())[0])
  }

  /** What the service logged of a session. */
  logged(session: string): AepEvent[] {
    const file = join(this.home.path, `logs/opencode/${session}.jsonl`)
    return readFileSync(file, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }

  /** Starts the program with the service's address and token. */
  start([command = "", ...args]: readonly string[], env: Record<string, string> = {}): Child {
    const child = startChild({
      command: [process.execPath, join(repository, "service/cli.ts"), command, "--url", this.url, ...args],
      cwd: repository,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: join(tmpdir(), "aep-no-home"),
        AEP_TOKEN: TOKEN,
        ...env,
      },
    })
    this.children.push(child)
    return child
  }

  /** One call to its end. */
  async run(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
    return ran(this.start(args, env))
  }

  async close(): Promise<void> {
    for (const child of this.children) await child.stop()
    await this.service?.child.stop()
    this.home.remove()
  }
}

/** What a call left. */
export interface Ran {
  code: number
  said: string
  complained: string
}

/** Waits for the end of a call. */
export async function ran(child: Child): Promise<Ran> {
  const code = await child.exited
  return { code, said: child.stdout(), complained: child.stderr() }
}
