/**
 * The service without its doors: intake, emitter, ledger and claims on a real home in a temporary folder, with a clock that
 * tests move. A crash is a copy of the home's files while it is open: what was written is there, nothing is closed.
 */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { digestOf } from "../service/capture/digest.ts"
import { type Commands, createCommands } from "../service/commands.ts"
import { Emitter, type Said } from "../service/emit/emitter.ts"
import { Intake } from "../service/emit/intake.ts"
import type { Ledger } from "../service/emit/ledger.ts"
import { sessionFolding } from "../service/emit/logged.ts"
import { openLedger } from "../service/emit/open.ts"
import { readMoment } from "../service/http/moments-body.ts"
import type { Message } from "../service/hub/message.ts"
import { OwnSessions } from "../service/hub/own-sessions.ts"
import { Roster } from "../service/hub/roster.ts"
import type { Desk } from "../service/session/desk.ts"
import { isOpen, type SessionState } from "../service/session/state.ts"
import type { AepEvent } from "../shared/aep.ts"
import type { Instance, Moment, MomentAck, MomentBody } from "../shared/moments.ts"
import { Clock } from "./clock.ts"
import { type Posture, QUIET } from "./posture.ts"
import { sha256Hex } from "./replay.ts"

/** An instance with everything a batch needs; members may be replaced. */
export function instanceOf(id: string, members: Partial<Instance> = {}): Instance {
  return { id, agent: "opencode", directory: "/home/dev/project", mode: "serve", plugin: "0.1.0", ...members }
}

/** A bus event as a moment without its stamp. */
export function bus(type: string, properties: Record<string, unknown> = {}): MomentBody {
  return { kind: "bus", event: { type, properties } }
}

/** What the service waits by default. */
const WINDOWS: Desk["windows"] = { hookMs: 55_000, askMs: 1_800_000 }
export const PROOF_KEY: Buffer = Buffer.alloc(32, 7)

let eventIds = 0

export class House {
  readonly ledger: Ledger<SessionState>
  readonly intake: Intake
  readonly emitter: Emitter
  readonly refused: string[] = []
  readonly faults: unknown[] = []
  readonly roster = new Roster()
  readonly own: OwnSessions
  /** Control and downlink as the service puts them together, with a proof key of the tests'. */
  readonly commands: Commands
  /** Acknowledgements that were told again. */
  readonly repeated: string[] = []
  /** Commands that came to a session of ours over the roster. */
  readonly routed: Message[] = []
  /** What was said to hub and relay, in order. */
  readonly said: Said[] = []
  private readonly next = new Map<string, number>()

  constructor(
    readonly clock: Clock = new Clock(),
    readonly home: string = mkdtempSync(join(tmpdir(), "aep-house-")),
    private readonly posture: Posture = QUIET,
    private readonly windows: Desk["windows"] = WINDOWS,
  ) {
    const opened = openLedger({
      home,
      boot: "boot-1",
      now: clock.now,
      timers: clock.timers,
      folding: sessionFolding,
      isOpen,
    })
    if (opened.kind !== "opened") throw new Error(opened.detail)
    this.ledger = opened.ledger
    this.commands = createCommands({
      proofKey: PROOF_KEY,
      agents: ["opencode", "kilocode"],
      ledger: this.ledger,
      intake: () => this.intake,
      windows,
      repeat: ({ text }) => this.repeated.push(text),
      digest: (value) => digestOf(value, sha256Hex),
      now: clock.now,
      timers: clock.timers,
    })
    this.emitter = new Emitter(
      this.ledger,
      {
        host: "host-a",
        newId: () => `E${String(++eventIds).padStart(8, "0")}`,
        digest: (value) => digestOf(value, sha256Hex),
        ...posture,
        desk: this.commands.desk,
      },
      (type, field, code) => this.refused.push(`${type} ${field} ${code}`),
      (said) => {
        this.said.push(said)
        this.commands.control.said(said.messages)
      },
    )
    this.own = new OwnSessions({
      roster: this.roster,
      control: () => ({ accepts: [] }),
      take: (command) => this.routed.push(command),
      isLogged: (session) => this.ledger.knows({ agent: "opencode", session }),
    })
    this.intake = new Intake({
      claims: {
        hold: (session, speaker) => this.own.hold(session, speaker),
        free: (session, instance) => this.own.free(session, instance),
        freeAll: (instance) => {
          this.own.freeAll(instance)
          this.commands.downlink.forget(instance)
        },
      },
      onDelivery: this.commands.delivered,
      onLeaving: (instance) => this.commands.control.gone(instance),
      ledger: this.ledger,
      emitter: this.emitter,
      now: clock.now,
      timers: clock.timers,
      read: readMoment,
      onFault: (error) => this.faults.push(error),
    })
    this.intake.start()
  }

  /** Stamps bodies with the instance's next indexes and the clock. */
  stamp(instance: Instance, bodies: readonly MomentBody[]): Moment[] {
    return bodies.map((body) => {
      const n = this.next.get(instance.id) ?? 0
      this.next.set(instance.id, n + 1)
      return { ...body, n, at: this.clock.now() }
    })
  }

  /** Sends bodies as one batch of new moments. */
  tell(instance: Instance, ...bodies: MomentBody[]): MomentAck {
    const first = this.next.get(instance.id) ?? 0
    return this.send(instance, first, this.stamp(instance, bodies))
  }

  /** Sends moments as they are. */
  send(
    instance: Instance,
    first: number,
    moments: readonly unknown[],
    dropped?: Record<string, number>,
  ): MomentAck {
    return this.intake.apply({ instance, first, dropped, moments })
  }

  /** The events of a session's log, or of the agent's own (`agent.presence`) when none is given. */
  events(session?: string, agent = "opencode"): AepEvent[] {
    const folder = join(this.home, "logs", agent)
    if (!existsSync(folder)) return []
    const all = readdirSync(folder).flatMap((file) =>
      readFileSync(join(folder, file), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as AepEvent),
    )
    return all.filter((event) => event.session === session)
  }

  /** The types of a session's core events. */
  core(session?: string, agent = "opencode"): string[] {
    return this.events(session, agent).flatMap(({ type }) => (type.startsWith("x.") ? [] : [type]))
  }

  /** How often the agent was said to be there or gone, in order. */
  presence(agent = "opencode"): unknown[] {
    return this.events(undefined, agent).map(({ data }) => data?.state)
  }

  /** A second service on what a kill of this one would have left. The first must not be used after. */
  crash(): House {
    const copy = mkdtempSync(join(tmpdir(), "aep-house-"))
    cpSync(this.home, copy, { recursive: true })
    this.remove()
    const house = new House(this.clock, copy, this.posture, this.windows)
    for (const [id, n] of this.next) house.next.set(id, n)
    return house
  }

  /** A second service after a clean stop of this one. */
  restart(): House {
    this.commands.control.close()
    this.intake.stop()
    this.ledger.close()
    const house = new House(this.clock, this.home, this.posture, this.windows)
    for (const [id, n] of this.next) house.next.set(id, n)
    return house
  }

  /** Ends timers and takes the folder away. */
  remove(): void {
    this.commands.control.close()
    this.intake.stop()
    this.ledger.close()
    rmSync(this.home, { recursive: true, force: true })
  }
}
