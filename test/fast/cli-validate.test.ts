/**
 * `opencode-aep validate` as people and scripts meet it: real processes, their output and their exit codes.
 */
import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { folderOf, repository, run, shell } from "./cli-program.ts"
import { text } from "./validate-damage.ts"
import { eventsOf } from "./validate-judge.ts"

const fixtures = join(repository, "fixtures/validate")
const valid = join(fixtures, "accept/whole-session.jsonl")
const doubtful = join(fixtures, "accept/middle-of-a-log.jsonl")
const invalid = join(fixtures, "reject/run-ends-twice.jsonl")

const event = (seq: number, more: object = {}) =>
  JSON.stringify({
    aep: "0.1",
    id: `E${seq}`,
    type: "progress.status",
    time: "2026-06-01T08:00:00Z",
    source: "aep://host-f/agent/opencode/session/s1",
    agent: "opencode",
    session: "s1",
    seq,
    ...more,
  })

const temporary = folderOf({
  "huge.jsonl": `${event(0)}\n${event(1, { capture: "full", data: { x: "y".repeat(17 << 20) } })}\n${event(2)}\n`,
  "many.jsonl": Array.from({ length: 3000 }, () => `${event(0, { severity: "loud" })}\n`).join(""),
  "two\u001b[31m\nlines.jsonl": "no json\n",
})
mkdirSync(temporary.path("folder"))
afterAll(temporary.remove)

describe("the verdict", () => {
  test("a valid file ends with 0 and a line that counts", async () => {
    expect(await run(["validate", valid])).toEqual({
      code: 0,
      stdout: `${eventsOf(text).length} events in 2 sessions: valid\n`,
      stderr: "",
    })
  })

  test("problems end with 1, each as file, line, code, detail and section", async () => {
    const { code, stdout, stderr } = await run(["validate", invalid])
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
    const [first, ...rest] = stdout.trimEnd().split("\n")
    expect(first).toBe(`${invalid}:3: run.terminal: the run ended in line 2 already (AEP-0002 §2.5)`)
    expect(rest.at(-1)).toBe(`3 problems in ${invalid}, 5 events in 1 session`)
  })

  test("warnings are said and are no failure, but are one under strict", async () => {
    const plain = await run(["validate", doubtful])
    expect(plain.code).toBe(0)
    expect(plain.stdout).toContain(":2: warning attention.unknown: ")
    expect(plain.stdout).toEndWith("4 events in 1 session: valid (3 warnings)\n")
    const strict = await run(["validate", "--strict", doubtful])
    expect(strict.code).toBe(1)
    expect(strict.stdout).toContain(":1: cause.unknown: ")
    expect(strict.stdout).toEndWith("(strict)\n")
  })

  test("several files are judged apart and counted together", async () => {
    const good = await run(["validate", valid, valid])
    expect(good).toEqual({
      code: 0,
      stdout: `${eventsOf(text).length * 2} events in 4 sessions of 2 files: valid\n`,
      stderr: "",
    })
    const { code, stdout } = await run(["validate", valid, invalid])
    expect(code).toBe(1)
    expect(stdout).toContain("3 problems in 2 files, ")
  })

  test("a dash reads standard input", async () => {
    expect(await run(["validate", "-"], text)).toMatchObject({ code: 0, stderr: "" })
    const torn = await run(["validate", "-"], text.slice(0, -20))
    expect(torn.code).toBe(1)
    expect(torn.stdout).toContain("<stdin>:43: line.torn: ")
  })

  test("a pipe is a file", async () => {
    const { code, stdout } = await shell('$AEP validate <(cat "$0")', valid)
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(": valid") })
  })

  test("a line above the bound is one problem, and the lines after it are read", async () => {
    const { code, stdout } = await run(["validate", temporary.path("huge.jsonl")])
    expect(code).toBe(1)
    expect(stdout).toContain("huge.jsonl:2: line.too-long: ")
    expect(stdout).toEndWith("huge.jsonl, 2 events in 1 session\n")
  })

  test("more findings than anybody reads are counted and not shown", async () => {
    const { code, stdout } = await run(["validate", temporary.path("many.jsonl")])
    expect(code).toBe(1)
    const lines = stdout.trimEnd().split("\n")
    expect(lines.length).toBe(1002)
    expect(lines.at(-2)).toEndWith(": 4999 more findings are not shown; --json counts them all")
    expect(lines.at(-1)).toStartWith("5999 problems in ")
  })
})

describe("--json", () => {
  test("is one document with totals, and counts and findings of each file", async () => {
    const { code, stdout, stderr } = await run(["validate", "--json", invalid, doubtful])
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
    const document = JSON.parse(stdout)
    expect(document).toMatchObject({ valid: false, strict: false, errors: 3, warnings: 3 })
    expect(document.files.map(({ file }: { file: string }) => file)).toEqual([invalid, doubtful])
    const [first] = document.files
    expect(first).toMatchObject({
      lines: 5,
      events: 5,
      sessions: 1,
      skipped: 0,
      errors: 3,
      warnings: 0,
      omitted: 0,
    })
    expect(first.findings[0]).toEqual({
      line: 3,
      code: "run.terminal",
      severity: "error",
      rule: "AEP-0002 §2.5",
      field: "run",
      detail: "the run ended in line 2 already",
    })
  })

  test("tells of what could not be read as well", async () => {
    const { code, stdout } = await run(["validate", "--json", temporary.path("absent"), valid])
    expect(code).toBe(2)
    const [absent, read] = JSON.parse(stdout).files
    expect(absent).toMatchObject({ file: temporary.path("absent"), unreadable: { code: "ENOENT" } })
    expect(read).toMatchObject({ file: valid, errors: 0, findings: [] })
  })
})

describe("what cannot be judged ends with 2 and says what to do", () => {
  test.each([
    [
      "a missing file",
      () => ["validate", temporary.path("absent.jsonl")],
      "there is no such file; logs are below",
    ],
    ["a folder", () => ["validate", temporary.path("folder")], "give the files in it"],
    ["no file at all", () => ["validate"], "missing required argument 'files'"],
    ["an unknown option", () => ["validate", "--jsno", valid], "Did you mean --json?"],
    ["an unknown command", () => ["validat"], "Did you mean validate?"],
  ])("%s", async (_what, args, says) => {
    const { code, stdout, stderr } = await run(args())
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toStartWith("opencode-aep: ")
    expect(stderr).toContain(says)
  })

  test("one file of several does not keep the others from being judged", async () => {
    const { code, stdout, stderr } = await run(["validate", temporary.path("absent"), invalid])
    expect(code).toBe(2)
    expect(stdout).toContain("3 problems in ")
    expect(stderr).toContain("there is no such file")
  })
})

describe("the streams", () => {
  test("a reader that leaves ends it quietly, and not with a yes", async () => {
    const { stdout, stderr } = await shell(
      '$AEP validate "$0" | head -n 1 >/dev/null; echo "$' + '{PIPESTATUS[0]}"',
      temporary.path("many.jsonl"),
    )
    expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "" })
  })

  test.skipIf(process.platform !== "linux")("a full disk is said and ends with 2", async () => {
    const { code, stderr } = await shell('$AEP validate "$0" >/dev/full', valid)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "opencode-aep: cannot write the result: the system says ENOSPC\n",
    })
  })

  test("control characters of a file's name stay on their line", async () => {
    const { stdout } = await run(["validate", temporary.path("two\u001b[31m\nlines.jsonl")])
    expect(stdout.split("\n").length).toBe(3)
    expect(stdout).toContain("two{U+001B}[31m{U+000A}lines.jsonl:1: line.json: ")
  })
})

describe("help", () => {
  test.each([
    [["--help"], "$ opencode-aep timeline "],
    [["validate", "--help"], "| opencode-aep validate -"],
    [["help", "timeline"], "$ opencode-aep timeline --verbose "],
  ])("%j ends with 0 and holds an example", async (args, example) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain("Example")
    expect(stdout).toContain(example)
  })

  test("a call without a command is a wrong call that shows the help", async () => {
    const { code, stdout, stderr } = await run([])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain("Usage: opencode-aep [options] [command]")
  })

  test("the version is the package's", async () => {
    const manifest = await Bun.file(join(repository, "package.json")).json()
    expect(await run(["--version"])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" })
  })
})
