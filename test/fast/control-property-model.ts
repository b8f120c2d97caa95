/**
 * A small agent with its plugin, as observed (surface.md §0, §6, §8) and as promised (design.md §3): what is open, what an answer
 * does, what makes an ask void, what comes up of it. Imports nothing of the product, so that it cannot share its mistakes. What
 * truly happened to each ask is kept, for the judge.
 */

/** How an ask reaches its agent's user. */
export type Family = "reply" | "legacy" | "hook" | "question"

/** What truly became of an ask, once it was settled; whoever else says something of it is wrong. */
export interface Truth {
  by: "local" | "command" | "taken along"
  command?: string
  permissive: boolean
}

/** One ask. */
export interface Ask {
  id: string
  session: string
  family: Family
  call: string
  state: "open" | "void" | "settled"
  truth?: Truth
  /** The agent took an answer and says nothing of it, for now. */
  mute?: Tag
}

/** What a decision carries of its command. */
export interface Tag {
  command: string
  mark: string
}

/** A decision as it came down, parsed. */
export interface Order {
  kind: string
  session: string
  ask?: string
  run?: string
  reply?: string
  status?: string
  by?: Tag
}

/** A moment on its way up; shaped as the agents' own events are. */
export type Up = Record<string, unknown> & { kind: string }

const PERMISSIVE = new Set(["once", "always", "allow"])

/** See the head of the file. */
export class ModelAgent {
  readonly asks: Ask[] = []
  /** Sessions that are not deleted. */
  readonly sessions = new Set<string>()
  private readonly up: Up[] = []
  private readonly known = new Map<string, Up>()
  private count = 0

  constructor(private readonly name: string) {}

  /** What happened since this was called last. */
  take(): Up[] {
    return this.up.splice(0)
  }

  bus(type: string, properties: Record<string, unknown>, by?: Tag): void {
    this.up.push({ kind: "bus", event: { type, properties }, ...(by === undefined ? {} : { by }) })
  }

  begin(session: string, parentID?: string): void {
    this.sessions.add(session)
    const info = { id: session, version: "1", ...(parentID === undefined ? {} : { parentID }) }
    this.bus("session.created", { sessionID: session, info })
  }

  prompt(session: string): void {
    this.count += 1
    const message = { id: `msg_${this.name}_${this.count}`, role: "user" }
    this.up.push({ kind: "chat.message", input: { sessionID: session }, output: { message, parts: [] } })
    this.bus("session.status", { sessionID: session, status: { type: "busy" } })
  }

  ask(session: string, family: Family): Ask {
    this.count += 1
    const [id, call] = [`per_${this.name}_${this.count}`, `call_${this.name}_${this.count}`]
    const ask: Ask = { id, session, family, call, state: "open" }
    this.asks.push(ask)
    const input = { tool: "bash", sessionID: session, callID: call }
    this.up.push({ kind: "tool.before", input, output: { args: { command: "x" } } })
    this.offer(ask)
    return ask
  }

  /** Tells an open ask, for the first time or again. */
  offer({ id, session, family, call }: Ask): void {
    if (family === "question") {
      const options = [{ label: "red" }, { label: "blue" }]
      const questions = [{ question: "Colour?", header: "C", options }]
      this.bus("question.asked", {
        id,
        sessionID: session,
        questions,
        tool: { messageID: "m", callID: call },
      })
    } else if (family === "reply") {
      const tool = { messageID: "m", callID: call }
      this.bus("permission.asked", {
        id,
        sessionID: session,
        permission: "bash",
        patterns: ["x"],
        metadata: {},
        always: ["x"],
        tool,
      })
    } else {
      const permission = {
        id,
        type: "bash",
        sessionID: session,
        messageID: "m",
        callID: call,
        title: "x",
        metadata: {},
      }
      if (family === "hook") this.up.push({ kind: "permission.ask", permission, held: true })
      else this.bus("permission.updated", permission)
    }
  }

  openOf(session?: string): Ask[] {
    return this.asks.filter(
      ({ state, session: of }) => state === "open" && (session === undefined || of === session),
    )
  }

  /** Somebody at the terminal answers. A held hook shows no dialog. */
  answerHere(ask: Ask, reply: "once" | "always" | "reject"): void {
    if (ask.state !== "open" || ask.family === "hook") return
    this.settle(ask, reply, { by: "local", permissive: PERMISSIVE.has(reply) })
  }

  /** The hook's patience is over: the agent asks in its own dialog. */
  letGo(ask: Ask): void {
    if (ask.state !== "open" || ask.family !== "hook") return
    ask.family = "legacy"
    this.offer(ask)
  }

  abort(session: string): void {
    this.void(session)
    this.bus("session.error", { sessionID: session, error: { name: "MessageAbortedError", data: {} } })
    this.bus("session.idle", { sessionID: session })
  }

  idle(session: string): void {
    this.void(session)
    this.bus("session.idle", { sessionID: session })
  }

  remove(session: string): void {
    this.void(session)
    this.sessions.delete(session)
    this.bus("session.deleted", { sessionID: session, info: { id: session } })
  }

  /** The call ends by itself. */
  fail({ session, call }: Ask): void {
    for (const ask of this.openOf(session)) if (ask.call === call) ask.state = "void"
    const state = { status: "error", input: {}, error: "boom", time: { start: 1, end: 2 } }
    const part = {
      type: "tool",
      id: `prt_${call}`,
      tool: "bash",
      callID: call,
      messageID: "m",
      sessionID: session,
      state,
    }
    this.bus("message.part.updated", { sessionID: session, part })
  }

  /** Says at last what it was silent about. */
  speak(ask: Ask): void {
    const by = ask.mute
    if (by === undefined || ask.state !== "open") return
    this.settle(ask, "once", { by: "command", command: by.command, permissive: true }, by)
  }

  /** A decision came down. `mood`: whether the agent takes it, takes it in silence, or has lost the ask to another client. */
  receive(name: string, order: Order, mood: "takes" | "silent" | "gone"): "applied" | "not applied" {
    const before = this.known.get(name)
    if (before !== undefined) {
      this.up.push(before)
      return "not applied"
    }
    const ask = this.openOf(order.session).find(({ id }) => id === order.ask)
    const status = ask === undefined ? "stale" : this.carryOut(ask, order, mood)
    const { session, ask: id, by } = order
    const report = {
      kind: "delivery",
      request: name,
      status,
      session,
      ask: id,
      ...(by === undefined ? {} : { by }),
    }
    this.known.set(name, report)
    this.up.push(report)
    return status === "done" && by !== undefined ? "applied" : "not applied"
  }

  private carryOut(ask: Ask, order: Order, mood: "takes" | "silent" | "gone"): string {
    const { kind, by, reply, status } = order
    if (kind === "pending") return ask.family === "hook" ? "done" : "stale"
    if (kind === "lapse") {
      if (ask.family !== "hook") return "stale"
      this.letGo(ask)
      return "done"
    }
    const fits = { hook: ["hook"], reply: ["reply", "legacy"], answers: ["question"], dismiss: ["question"] }[
      kind
    ]
    if (by === undefined || fits?.includes(ask.family) !== true) return "stale"
    if (mood === "gone" && ask.family !== "hook") {
      this.answerHere(ask, "reject")
      return "gone"
    }
    // Once it is silent of an ask it mostly stays so.
    if (kind === "reply" && reply === "once" && (mood === "silent" || (ask.mute && mood !== "takes"))) {
      ask.mute = by
      return "done"
    }
    const permissive = kind === "answers" || PERMISSIVE.has(reply ?? status ?? "")
    const truth: Truth = { by: "command", command: by.command, permissive }
    if (kind === "hook") {
      ask.state = "settled"
      ask.truth = truth
    } else this.settle(ask, reply ?? (kind === "answers" ? "once" : "reject"), truth, by)
    return "done"
  }

  private settle(ask: Ask, reply: string, truth: Truth, by?: Tag): void {
    const { id, session, family } = ask
    ask.state = "settled"
    ask.truth = truth
    if (family === "question") {
      if (truth.permissive)
        this.bus("question.replied", { sessionID: session, requestID: id, answers: [["red"]] }, by)
      else this.bus("question.rejected", { sessionID: session, requestID: id }, by)
      return
    }
    this.bus(
      "permission.replied",
      family === "legacy"
        ? { sessionID: session, permissionID: id, response: reply }
        : { sessionID: session, requestID: id, reply },
      by,
    )
    if (family !== "reply" || reply === "once") return
    // A reject takes the session's other asks along, an always those that it covers.
    for (const other of this.openOf(session)) {
      if (other.family !== "reply") continue
      other.state = "settled"
      other.truth = { by: "taken along", permissive: reply === "always" }
      this.bus("permission.replied", { sessionID: session, requestID: other.id, reply })
    }
  }

  private void(session: string): void {
    for (const ask of this.openOf(session)) ask.state = "void"
  }
}
