/**
 * One home through several lives of the service, with one plugin instance that outlives them: what the scenarios of
 * loss and stop are told with.
 */
import { statSync } from "node:fs"
import { waitFor } from "../agent/wait.ts"
import { createFeeder, type Feeder } from "./feeder.ts"
import { createRandom } from "./random.ts"
import { brokenPromises, faultsOf, readRecord, type SessionRecord } from "./record.ts"
import { type Home, openHome, type Running, startService } from "./service.ts"
import { created, type Deed, takeTurn } from "./workload.ts"

/** See the head of the file. */
export class Story {
  readonly home: Home = openHome()
  readonly feeder: Feeder
  readonly random = createRandom(7)
  private running: Running | undefined

  constructor(
    private readonly port: number,
    id = "inst-story",
  ) {
    this.feeder = createFeeder(id, this.home.path, port, this.random)
  }

  /** The service now. Throws when none runs. */
  get service(): Running {
    if (this.running === undefined) throw new Error("no service runs")
    return this.running
  }

  async start(): Promise<void> {
    this.running = await startService(this.home.path, this.port)
  }

  /** Feeds deeds and waits until they are acknowledged. */
  async feed(deeds: Iterable<Deed>): Promise<void> {
    for (const deed of deeds) this.feeder.feed(deed)
    await this.feeder.drained()
  }

  /** Begins a session and lives it through `turns`. */
  async live(session: string, turns: number): Promise<void> {
    await this.feed([created(session)])
    for (let turn = 0; turn < turns; turn += 1) await this.takeTurn(session, `${turn}`)
  }

  async takeTurn(session: string, name: string): Promise<void> {
    await this.feed(takeTurn(session, `${session}t${name}`, this.random))
  }

  /** Ends the service: cleanly, or by `kill -9` once the database knows of all that was acknowledged. */
  async end(how: "stop" | "kill"): Promise<void> {
    if (how === "stop") {
      const code = await this.service.end("SIGTERM")
      if (code !== 0) throw new Error(`the service ended with ${code}\n${this.service.child.stderr()}`)
    } else {
      await this.saved()
      await this.service.kill()
    }
    this.running = undefined
  }

  /** `kill -9` now. */
  async kill(): Promise<void> {
    await this.service.kill()
    this.running = undefined
  }

  record(): SessionRecord {
    return readRecord(this.home.logs, this.running === undefined)
  }

  /** What is wrong with the record, promises to the instance included. */
  faults(): string[] {
    const record = this.record()
    const { instance, fed, acknowledged } = this.feeder
    return [...faultsOf(record), ...brokenPromises(record, { instance: instance.id, fed, acknowledged })]
  }

  async close(): Promise<void> {
    await this.running?.child.stop()
    await this.feeder.close()
    this.home.remove()
  }

  /** Waits for a save that began after now: a heartbeat changes nothing, so two deeds in two batches are told. */
  private async saved(): Promise<void> {
    const stamp = () => statSync(`${this.home.database}-wal`, { bigint: true }).mtimeNs
    for (let save = 0; save < 2; save += 1) {
      const before = stamp()
      await this.feed([mark()])
      await waitFor("save of the database", 5_000, () => stamp() !== before)
    }
  }
}

function mark(): Deed {
  return {
    body: { kind: "bus", event: { type: "file.edited", properties: {} } },
    event: "x.opencode.file.edited",
  }
}
