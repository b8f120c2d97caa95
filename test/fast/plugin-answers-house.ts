/**
 * A core of the plugin with the other end of both its roads, and an agent's client that notes what it is told and answers as a
 * test wants: what the plugin's answering is tested in.
 */
import { createHmac } from "node:crypto"
import { type Core, createCore } from "../../plugin/src/core.ts"
import { PACE, type Pace } from "../../plugin/src/pace.ts"
import type { Decision, DownMessage, Moment } from "../../shared/moments.ts"
import { busEvent } from "./plugin-fixtures.ts"
import { type Peer, type Poll, startPeer } from "./plugin-peer.ts"

const KEY = "test-key"
/** A pace in which little is waited for. */
export const QUICK: Pace = {
  ...PACE,
  requestMs: 500,
  pollMs: 2_000,
  pollGapMs: 1,
  pollBackoffMs: 1,
  backoffFirstMs: 1,
  backoffMostMs: 5,
  callMs: 50,
}

export const S = "ses_1"
export const BY = { command: "01A", mark: "respond:1" }

/** One call of the agent's client. */
export interface Call {
  url: string
  [member: string]: unknown
}

/** See the head of the file. */
export class AnswersHouse {
  readonly peer: Peer = startPeer(0)
  readonly calls: Call[] = []
  /** What the client answers with. */
  answer: (call: Call) => unknown = () => ({ data: true, response: { status: 200 } })
  /** What the agent knows of sessions. */
  readonly sessions = new Map<string, object>()
  private readonly cores: Core[] = []

  /** The agent's client, in the shape the real ones have. */
  readonly client = {
    postSessionIdPermissionsPermissionId: (options: object) =>
      this.called("/session/{id}/permissions/{permissionID}", options),
    _client: { post: ({ url, ...options }: Call) => this.called(url, options) },
    session: {
      get: ({ path: { id } }: { path: { id: string } }) => {
        this.calls.push({ url: "/session/{id}", path: { id } })
        return Promise.resolve({ data: this.sessions.get(id) })
      },
    },
  }

  /** A core; connects with its first moment. */
  core(pace: Partial<Pace> = {}, more: { noHold?: boolean; client?: unknown } = {}): Core {
    const { client = this.client, ...explicit } = more
    const said = { off: false, stream: false, url: this.peer.url, key: KEY, ...explicit }
    const core = createCore(
      { directory: "/project", client },
      said,
      { env: {}, argv: [] },
      { ...QUICK, ...pace },
    )
    this.cores.push(core)
    return core
  }

  /** The poll that is open now. */
  async poll(): Promise<Poll> {
    const open = () => this.peer.polls.find(({ isOpen }) => isOpen)
    await this.peer.until(() => open() !== undefined)
    const poll = open()
    if (poll === undefined) throw new Error("no poll is open")
    return poll
  }

  /** Has the open poll bring decisions down, proven. */
  async send(...decisions: (readonly [request: string, decision: Decision])[]): Promise<void> {
    const poll = await this.poll()
    const messages = decisions.map(([request, decision]) => prove(poll, request, JSON.stringify(decision)))
    poll.answer(Response.json({ messages, answerable: true }))
  }

  /** Tells the plugin whether somebody could answer, and waits until it has heard. */
  async sayAnswerable(answerable: boolean): Promise<void> {
    const poll = await this.poll()
    poll.answer(Response.json({ messages: [], answerable }))
    await this.peer.until(() => this.peer.polls.some(({ isOpen }) => isOpen))
  }

  /** Reports that went up. */
  deliveries(): Omit<Extract<Moment, { kind: "delivery" }>, "n" | "at" | "kind">[] {
    return this.peer.applied.flatMap((moment) => {
      if (moment.kind !== "delivery") return []
      const { n: _, at: __, kind: ___, ...report } = moment
      return [report]
    })
  }

  reported(count: number): Promise<void> {
    return this.peer.until(() => this.deliveries().length >= count)
  }

  /** Types of the bus moments that went up, with the commands they are the echo of. */
  told(): string[] {
    return this.peer.applied.flatMap((moment) => {
      if (moment.kind !== "bus") return [moment.kind]
      return [moment.by === undefined ? moment.event.type : `${moment.event.type} by ${moment.by.command}`]
    })
  }

  async close(): Promise<void> {
    await Promise.all(this.cores.map((core) => core.end()))
    await this.peer.stop()
  }

  private called(url: string, options: object): unknown {
    const call = { url, ...options }
    this.calls.push(call)
    return this.answer(call)
  }
}

function prove(poll: Poll, request: string, decision: string): DownMessage {
  const key = createHmac("sha256", KEY).update("proof/1").digest()
  const instance = poll.path.split("/")[3] ?? ""
  const proof = createHmac("sha256", key)
    .update([poll.nonce, instance, request, decision].join("\0"))
    .digest("hex")
  return { request, decision, proof }
}

/** Asks as the agents tell them. */
export const ASKED = {
  reply: busEvent("permission.asked", {
    id: "per_1",
    sessionID: S,
    permission: "bash",
    tool: { callID: "call_1" },
  }),
  legacy: busEvent("permission.updated", { id: "per_1", sessionID: S, type: "bash", callID: "call_1" }),
  question: busEvent("question.asked", {
    id: "per_1",
    sessionID: S,
    questions: [{ options: [{ label: "Red" }, { label: "Blue" }] }, { options: [{ label: "Yes" }] }],
    tool: { callID: "call_1" },
  }),
}

/** Decisions about that ask. */
export const about = { session: S, ask: "per_1" } as const
