/**
 * Plays one run by its seed: a model agent on the real service (without its doors), commanders who answer what they see, and
 * everything that goes wrong between them. Runs share a house, each with an instance and sessions of its own.
 */
import { existsSync, mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { AepEvent } from "../../shared/aep.ts"
import type { Instance, MomentBody } from "../../shared/moments.ts"
import { Clock } from "../clock.ts"
import { createRandom, type Random } from "../crash/random.ts"
import { House, instanceOf } from "../house.ts"
import type { CameDown, Evidence, Sent } from "./control-property-judge.ts"
import { type Family, ModelAgent, type Order } from "./control-property-model.ts"

const WINDOWS = { hookMs: 55_000, askMs: 120_000 }
const GONE = AbortSignal.abort()
const ENDS = new Set(["attention.resolved", "attention.timeout"])
const ANSWERS: readonly Record<string, unknown>[] = [
  { option: "once" },
  { option: "once" },
  { option: "always" },
  { option: "reject" },
  { option: "allow" },
  { option: "allow" },
  { option: "deny" },
  { text: "ONCE " },
  { text: "allow once" },
  { text: "yes" },
  { text: "rather not" },
  { text: "" },
  { option: "reject", text: "a reason" },
  { values: { 1: "1" } },
  { values: { 1: "own words" } },
  { values: { 2: "1" } },
  { option: "maybe" },
  {},
]

/** In memory where the system has files there: thousands of runs write little of use to a disk. */
const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

function newHouse(): House {
  return new House(new Clock(), mkdtempSync(join(FOLDER, "aep-property-")), undefined, WINDOWS)
}

/** What happened at least once; the test wants each to have. */
export type Situations = Map<string, number>

/** A run's evidence, and its steps in words. */
export interface Played {
  evidence: Evidence
  story: string[]
}

/** Houses, one after the other, and what was seen in them. */
export class Plays {
  readonly situations: Situations = new Map()
  private house = newHouse()
  private runs = 0

  /** One run. A house is left after a while: its folder and its memory grow. */
  async play(seed: number): Promise<Played> {
    this.runs += 1
    if (this.runs % 100 === 0) {
      this.house.remove()
      this.house = newHouse()
    }
    const run = new Run(seed, this.house, this.situations)
    const played = await run.toEnd()
    this.house = run.house
    return played
  }

  close(): void {
    this.house.remove()
  }
}

interface Command {
  sent: Sent
  session: string
  text: string
  event: AepEvent
}

class Run {
  private readonly random: Random
  private readonly agent: ModelAgent
  private readonly instance: Instance
  private readonly story: string[] = []
  private readonly sent: Command[] = []
  private readonly cameDown: CameDown[] = []
  private readonly repeated: string[] = []
  /** Events that the commanders saw: requests, and which of them have ended. */
  private readonly requests: { event: AepEvent; ask: string }[] = []
  private readonly ended = new Set<string>()
  private readonly root: string
  private readonly child: string
  private readonly families: readonly Family[]
  private lastBatch: { first: number; moments: unknown[] } | undefined
  private seen: number
  private told: number
  private isPolling = true
  private isAlive = true

  constructor(
    seed: number,
    public house: House,
    private readonly situations: Situations,
  ) {
    this.random = createRandom(seed)
    this.agent = new ModelAgent(`s${seed}`)
    this.instance = instanceOf(`i-${seed}`, { answers: true })
    this.root = `ses_${seed}_root`
    this.child = `ses_${seed}_child`
    this.families = this.random.pick<readonly Family[]>([
      ["reply", "reply", "question"],
      ["hook", "legacy"],
    ])
    this.seen = house.said.length
    this.told = house.repeated.length
  }

  async toEnd(): Promise<Played> {
    this.agent.begin(this.root)
    this.agent.begin(this.child, this.random.fraction() < 0.8 ? this.root : undefined)
    this.agent.prompt(this.root)
    this.tell(`ask ${this.agent.ask(this.root, this.random.pick(this.families)).id}`)
    await this.exchange()
    const steps = this.random.whole(5, 12)
    for (let nth = 0; nth < steps; nth += 1) {
      await this.step()
      await this.exchange()
    }
    await this.finish()
    const read = (session: string): string[] => {
      const file = join(this.house.home, `logs/opencode/${session}.jsonl`)
      return readFileSync(file, "utf8").split("\n").slice(0, -1)
    }
    return {
      evidence: {
        logs: [read(this.root), read(this.child)],
        asks: this.agent.asks,
        sent: this.sent.map(({ sent }) => sent),
        cameDown: this.cameDown,
        repeated: this.repeated,
      },
      story: this.story,
    }
  }

  private async step(): Promise<void> {
    const { random, agent } = this
    const ask = this.maybe(agent.openOf())
    const session = random.pick([this.root, this.child])
    switch (random.pick(STEPS)) {
      case "ask":
        if (agent.sessions.has(session)) this.tell(`ask ${agent.ask(session, random.pick(this.families)).id}`)
        return
      case "answer here":
        if (ask !== undefined && this.isAlive) {
          this.note("answered at the agent")
          agent.answerHere(ask, random.pick(["once", "always", "reject"]))
          this.tell(`answered here ${ask.id}`)
        }
        return
      case "command":
        this.command()
        return
      case "again":
        this.again()
        return
      case "time":
        this.pass(random.pick([5, 300, 3_100, 6_000, 9_000, 20_000, 56_000, 121_000]))
        return
      case "abort":
        agent.abort(session)
        this.tell(`abort ${session}`)
        return
      case "idle":
        agent.idle(session)
        this.tell(`idle ${session}`)
        return
      case "delete":
        if (random.fraction() < 0.3 && agent.sessions.has(this.child)) {
          agent.remove(this.child)
          this.tell("delete the child")
        }
        return
      case "call ends":
        if (ask !== undefined) {
          agent.fail(ask)
          this.tell(`call of ${ask.id} ends`)
        }
        return
      case "let go":
        if (ask?.family === "hook") {
          agent.letGo(ask)
          this.tell(`let go ${ask.id}`)
        }
        return
      case "speak":
        if (ask?.mute !== undefined) {
          this.note("confirmed late")
          agent.speak(ask)
          this.tell(`spoke ${ask.id}`)
        }
        return
      case "silence":
        this.isPolling = random.fraction() < 0.4
        this.tell(`polling ${this.isPolling}`)
        return
      case "offer":
        for (const open of agent.openOf()) agent.offer(open)
        this.note("offered again")
        this.tell("offered again")
        return
      case "resend":
        if (this.lastBatch === undefined) return
        this.house.send(this.instance, this.lastBatch.first, this.lastBatch.moments)
        this.tell("batch again")
        return
      case "restart":
        if (random.fraction() < 0.25) this.restart()
        return
      case "die":
        if (random.fraction() < 0.15) {
          this.isAlive = false
          this.tell("plugin dies")
        }
        return
    }
  }

  /** A commander answers a request that it saw, maybe one that has ended, maybe one that never was. */
  private command(): void {
    const { random } = this
    const open = this.requests.filter(({ event }) => !this.ended.has(event.id))
    // Mostly what waits is answered, and as it can be.
    const request = random.fraction() < 0.8 ? this.maybe(open) : this.maybe(this.requests)
    const isForm = request?.event.data?.kind === "form"
    const offered = ((request?.event.data?.options ?? []) as { id: string }[]).map(({ id }) => ({
      option: id,
    }))
    const fitting = isForm ? [...offered, { values: { 1: "1" } }, { values: { 1: "2" } }] : offered
    const answer = fitting.length > 0 && random.fraction() < 0.6 ? random.pick(fitting) : random.pick(ANSWERS)
    const session = request?.event.session ?? this.root
    const id = `CMD-${this.instance.id}-${this.sent.length}`
    const subject = request?.event.id ?? "nobody-asked"
    const event = {
      ...{ aep: "0.1", id, type: "control.attention.respond", time: "2026-12-01T00:00:00Z" },
      ...{ source: "aep://host/agent/phone", agent: "phone", session, subject, data: { answer } },
    } as AepEvent
    const isDue = this.house.intake.targetOf(session) !== undefined
    const command = { sent: { id, subject, answer, isDue }, session, text: JSON.stringify(event), event }
    this.sent.push(command)
    this.note(
      request === undefined
        ? "command about nothing"
        : this.ended.has(subject)
          ? "command too late"
          : "command in time",
    )
    this.story.push(`command ${id} ${subject} ${JSON.stringify(answer)}`)
    this.house.commands.control.take(command)
  }

  private again(): void {
    const command = this.maybe(this.sent)
    if (command === undefined) return
    this.note("command again")
    this.story.push(`command ${command.sent.id} again`)
    this.house.commands.control.take(command)
  }

  private pass(ms: number): void {
    this.story.push(`${ms} ms pass`)
    // A plugin that is there speaks every now and then; one pass of time is otherwise its lease's end.
    for (let left = ms; left > 0; left -= 10_000) {
      this.house.clock.advance(Math.min(left, 10_000))
      if (this.isAlive && this.isPolling) this.house.intake.renew(this.instance.id)
    }
  }

  private restart(): void {
    this.note(this.agent.openOf().length > 0 ? "restart amid an ask" : "restart")
    this.story.push("service restarts")
    this.watch()
    // What was undecided then is new when it comes again.
    for (const { sent } of this.sent) sent.isDue = false
    this.house = this.house.restart()
    this.seen = 0
    this.told = 0
    if (this.isAlive) this.house.tell(this.instance)
  }

  private tell(what: string): void {
    this.story.push(what)
  }

  /** Moments go up and decisions come down, until there is nothing more of either. */
  private async exchange(): Promise<void> {
    for (let round = 0; round < 20; round += 1) {
      this.watch()
      const moments = this.isAlive ? (this.agent.take() as MomentBody[]) : []
      if (moments.length > 0) {
        const stamped = this.house.stamp(this.instance, moments)
        this.lastBatch = { first: stamped[0]?.n ?? 0, moments: stamped }
        const { rejected } = this.house.send(this.instance, this.lastBatch.first, stamped)
        if (rejected.length > 0) throw new Error(`a moment was refused: ${JSON.stringify(rejected)}`)
        this.watch()
      }
      const messages = this.isAlive && this.isPolling ? await this.poll() : []
      if (moments.length === 0 && messages === 0) return
    }
  }

  private async poll(): Promise<number> {
    if (!this.house.intake.renew(this.instance.id)) this.house.tell(this.instance)
    const messages = await this.house.commands.downlink.poll(this.instance.id, "nonce-0123456789", GONE)
    this.watch()
    for (const { request, decision } of messages) {
      // An answer to a poll may be lost on its way.
      if (this.random.fraction() < 0.1) {
        this.note("decision lost on its way")
        continue
      }
      const order = JSON.parse(decision) as Order
      this.noteDecision(order)
      const mood = this.random.pick(["takes", "takes", "takes", "silent", "silent", "gone"] as const)
      const done = this.agent.receive(request, order, mood)
      this.story.push(`${order.kind} for ${order.ask} came down (${mood}): ${done}`)
      if (done === "applied") this.note(`applied ${order.kind}`)
    }
    return messages.length
  }

  private noteDecision(order: Order): void {
    const { by, ask = "", kind, reply, status } = order
    if (by === undefined) {
      this.note(kind)
      return
    }
    const mine = this.requests.filter(({ ask: of }) => of === ask)
    this.cameDown.push({
      ask,
      command: by.command,
      isPermissive: kind === "answers" || reply === "once" || reply === "always" || status === "allow",
      isLate: mine.every(({ event }) => this.ended.has(event.id)),
    })
  }

  /** What was said since the last look. */
  private watch(): void {
    for (const { messages } of this.house.said.slice(this.seen)) {
      for (const { event } of messages) {
        if (event.type === "attention.requested") {
          this.requests.push({
            event,
            ask: String(Reflect.get(event, "opencoderequest")),
          })
        }
        if (ENDS.has(event.type)) this.ended.add(event.subject ?? "")
        this.noteEvent(event)
      }
    }
    this.seen = this.house.said.length
    this.repeated.push(...this.house.repeated.slice(this.told))
    this.told = this.house.repeated.length
  }

  private noteEvent({ type, data = {} }: AepEvent): void {
    if (type === "control.rejected") this.note(`rejected ${[data.reason, data.why].join(" ")}`)
    else if (type === "attention.resolved") this.note(`resolved ${data.resolution}`)
    else if (type === "attention.timeout" || type === "x.opencode.attention.unconfirmed") this.note(type)
  }

  private async finish(): Promise<void> {
    if (this.isAlive) {
      this.isPolling = true
      for (const session of [this.child, this.root])
        if (this.agent.sessions.has(session)) this.agent.remove(session)
      await this.exchange()
    }
    // Acknowledgements that wait for a report, and asks of a plugin that is gone.
    this.pass(10_000)
    await this.exchange()
    if (!this.isAlive) this.house.clock.advance(800_000)
    this.watch()
    if (this.isAlive) this.house.tell(this.instance, { kind: "dispose" })
  }

  /** One of the list, or none. */
  private maybe<T>(list: readonly T[]): T | undefined {
    return list[this.random.whole(-1, list.length - 1)]
  }

  private note(situation: string): void {
    this.situations.set(situation, (this.situations.get(situation) ?? 0) + 1)
  }
}

/** Steps by their weight. */
const STEPS = [
  ...Array<"command">(14).fill("command"),
  ...Array<"ask">(7).fill("ask"),
  ...Array<"time">(5).fill("time"),
  ...([
    "again",
    "again",
    "again",
    "answer here",
    "answer here",
    "speak",
    "speak",
    "silence",
    "silence",
  ] as const),
  ...(["abort", "idle", "delete", "call ends", "let go", "offer", "resend", "restart", "die"] as const),
]
