/**
 * `opencode-aep timeline`: real processes on logs in a folder, sub-agents in files of their own beside them.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { visible } from "../../service/cli/visible.ts"
import { folderOf, repository, run, shell } from "./cli-program.ts"
import { log, text } from "./validate-damage.ts"

const whole = join(repository, "fixtures/validate/accept/whole-session.jsonl")
const linesOf = (session: string) =>
  log
    .filter((event) => event.session === session)
    .map((event) => `${JSON.stringify(event)}\n`)
    .join("")

const hostile = JSON.stringify({
  aep: "0.1",
  id: "H1",
  type: "tool.requested",
  subject: "bash\n   9.99s  run finished\u001b[2K\u202e",
  time: "2026-06-01T08:00:00Z",
  source: "aep://host-f/agent/opencode/session/s1",
  agent: "opencode",
  session: "s1",
  seq: 0,
})
const temporary = folderOf({
  "s_main.jsonl": linesOf("s_main"),
  "s_child.jsonl": linesOf("s_child"),
  "alone.jsonl": "",
  "broken.jsonl": `no json\n${text.slice(0, -20)}`,
  "hostile.jsonl": `${hostile}\n`,
  "long.jsonl": Array.from(
    { length: 4000 },
    (_, seq) => `${JSON.stringify({ ...JSON.parse(hostile), id: `H${seq}`, seq, subject: "bash" })}\n`,
  ).join(""),
})
afterAll(temporary.remove)

describe("a session", () => {
  test("is told line by line, its sub-agent from the log beside it where it was started", async () => {
    const { code, stdout, stderr } = await run(["timeline", temporary.path("s_main.jsonl")])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const lines = stdout.trimEnd().split("\n")
    expect(lines.slice(0, 4)).toEqual([
      "   0.00s  session s_main started (opencode 1.18.33)",
      "   0.25s  run started by user",
      "   0.50s  tool bash called",
      "   0.75s  ? opencode requests permission: bash [once, always, reject]",
    ])
    const started = lines.indexOf("   3.50s  sub-agent s_child started")
    expect(lines[started + 1]).toBe("   3.75s    | session s_child started (opencode 1.18.33)")
    expect(lines).toContain("   4.50s    | tool read FAILED: missing in 12 ms")
  })

  test("with a sub-agent in the same file is told the same way, and the agent's own events apart", async () => {
    const one = await run(["timeline", whole])
    const two = await run(["timeline", temporary.path("s_main.jsonl")])
    expect(one.stdout).toBe(`   0.00s  agent opencode is online\n\n${two.stdout}`)
  })

  test("is told of machinery only when asked", async () => {
    const machinery = "x.opencode.session.config_change"
    expect((await run(["timeline", whole])).stdout).not.toContain(machinery)
    expect((await run(["timeline", "--verbose", whole])).stdout).toContain(machinery)
  })

  test("comes from standard input too; there nothing lies beside it, which is said", async () => {
    const { code, stdout, stderr } = await run(["timeline", "-"], linesOf("s_main"))
    expect(code).toBe(0)
    expect(stdout).toContain("sub-agent s_child started")
    expect(stderr).toContain("the log of sub-agent s_child is not beside <stdin>")
  })
})

describe("a damaged or missing log", () => {
  test("is shown as far as it is events, and says what tells more", async () => {
    const { code, stdout, stderr } = await run(["timeline", temporary.path("broken.jsonl")])
    expect(code).toBe(0)
    expect(stdout).toContain("session s_main started")
    expect(stderr).toContain("2 lines are no events and not shown; next: opencode-aep validate ")
  })

  test("without one event ends with 1", async () => {
    const { code, stdout, stderr } = await run(["timeline", temporary.path("alone.jsonl")])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain("there is no event in ")
  })

  test("that cannot be read ends with 2", async () => {
    for (const name of ["absent.jsonl", ""]) {
      const { code, stdout, stderr } = await run(["timeline", temporary.path(name)])
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toStartWith("opencode-aep: cannot read ")
    }
  })
})

describe("what comes from outside", () => {
  test("cannot forge a line or reach the terminal", async () => {
    const { stdout } = await run(["timeline", temporary.path("hostile.jsonl")])
    expect(stdout).toBe("   0.00s  tool bash{U+000A}   9.99s  run finished{U+001B}[2K{U+202E} called\n")
  })

  test("is left as it is where it can be seen", () => {
    expect(visible("größer 日本 — 😀 a\tb")).toBe("größer 日本 — 😀 a{U+0009}b")
    expect(visible("\ud800x")).toBe("\ufffdx")
  })

  test("a reader that leaves ends it quietly", async () => {
    const { stdout, stderr } = await shell(
      '$AEP timeline "$0" | head -n 1 >/dev/null; echo "$' + '{PIPESTATUS[0]}"',
      temporary.path("long.jsonl"),
    )
    expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "" })
  })
})
