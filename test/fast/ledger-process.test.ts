/** What needs a second process: the lock of the home, a disk with a real limit, and a kill in the middle of it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { openLedger } from "../../service/emit/open.ts"
import { A, Home, positionsOf } from "./ledger-home.ts"

const CHILD = join(import.meta.dir, "ledger-child.ts")
const FILE = "opencode/ses_a.jsonl"

let home: Home
const children: Child[] = []
beforeEach(() => {
  home = new Home()
})
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill()
  home.remove()
})

/** One child; `ask` sends a word and takes the next line. */
class Child {
  private readonly process
  private readonly lines: AsyncIterator<string>

  constructor(path: string, limit = "true") {
    // The limit's signal would end the process before the write can fail.
    const script = `trap '' XFSZ; ${limit}; exec "$0" "$1" "$2"`
    this.process = Bun.spawn(["bash", "-c", script, process.execPath, CHILD, path], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    })
    this.lines = linesOf(this.process.stdout)
    children.push(this)
  }

  async next(): Promise<string> {
    return (await this.lines.next()).value ?? "ended"
  }

  async ask(word: string): Promise<string> {
    this.process.stdin.write(`${word}\n`)
    this.process.stdin.flush()
    return await this.next()
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL")
    await this.process.exited
  }

  async exited(): Promise<number> {
    return await this.process.exited
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ""
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split("\n")
    rest = lines.pop() ?? ""
    yield* lines
  }
}

describe("a home that another process uses", () => {
  test("is locked for us, free after its clean stop, and nothing of it was touched", async () => {
    const child = new Child(home.path)
    expect(await child.next()).toBe("opened")
    const before = statSync(`${home.path}/opencode-aep.db`).mtimeMs
    const refused = openLedger(home.options())
    expect(refused).toMatchObject({ kind: "locked" })
    expect(refused.kind === "locked" && refused.detail).toContain("stop it or choose another home")
    expect(statSync(`${home.path}/opencode-aep.db`).mtimeMs).toBe(before)
    await child.ask("close")
    expect(await child.exited()).toBe(0)
    const { ledger, report } = home.open()
    expect(report.clean).toBe(true)
    ledger.close()
  })

  test("is free after a kill as well", async () => {
    const child = new Child(home.path)
    expect(await child.next()).toBe("opened")
    await child.kill()
    const { ledger, report } = home.open()
    expect(report).toMatchObject({ clean: false, distrust: false })
    ledger.close()
  })

  test("that we use is locked for the other", async () => {
    const { ledger } = home.open()
    expect(await new Child(home.path).next()).toBe("locked")
    home.emit(ledger, ledger.session(A, { fresh: true }))
    expect(ledger.flush()).toBe(true)
    ledger.close()
  })

  test("is locked within one process too, and stays ours after the second try", async () => {
    const { ledger } = home.open()
    expect(openLedger(home.options()).kind).toBe("locked")
    expect(await new Child(home.path).next()).toBe("locked")
    ledger.close()
  })
})

describe("a disk with a real limit, filled up", () => {
  interface Filled {
    live: string[]
    health: { degraded: boolean; log?: { code: string } }
    saved: boolean
  }

  /** Fills the log in a child whose files may not pass `kib`, kills it, and opens the home without the limit. */
  async function fillAndKill(kib: number): Promise<Filled> {
    const child = new Child(home.path, `ulimit -S -f ${kib}`)
    expect(await child.next()).toBe("opened")
    const filled: Filled = JSON.parse(await child.ask("fill"))
    await child.kill()
    return filled
  }

  test("keeps whole lines only, and no position that went out live is used again after a kill", async () => {
    const { live, health, saved } = await fillAndKill(200)
    expect(health).toMatchObject({ degraded: true, log: { code: expect.stringMatching(/EFBIG|ESHORT/) } })
    expect(saved).toBe(true)
    const lines = home.lines(FILE)
    expect(readFileSync(home.log(FILE), "utf8").endsWith("}\n")).toBe(true)
    const { ledger } = home.open()
    const entry = ledger.session(A, { fresh: false })
    // What the log missed still happened, and the saved state knows.
    expect(entry.state.ids.slice(0, -10)).toEqual(lines.map((line) => String(line.id)))
    expect(entry.gap).toEqual({ reason: "degraded", missed: 10 })
    home.emit(ledger, entry)
    const positions = [...positionsOf(home.lines(FILE)), ...live]
    expect(new Set(positions).size).toBe(positions.length)
    expect(home.lines(FILE).at(-1)).toMatchObject({ epoch: 1, seq: 0 })
    ledger.close()
  })

  test("so small that the database cannot be told either: the marker file is gone, and that suffices", async () => {
    // The side file has 33 KiB once the tables are made; one more page does not fit.
    const { live, saved } = await fillAndKill(35)
    expect(saved).toBe(false)
    expect(existsSync(`${home.path}/sound`)).toBe(false)
    const { ledger, report } = home.open()
    expect(report).toMatchObject({ distrust: true })
    home.emit(ledger, ledger.session(A, { fresh: false }))
    const positions = [...positionsOf(home.lines(FILE)), ...live]
    expect(new Set(positions).size).toBe(positions.length)
    expect(existsSync(`${home.path}/sound`)).toBe(true)
    ledger.close()
    const again = home.open()
    expect(again.report.distrust).toBe(false)
    again.ledger.close()
  })
})
