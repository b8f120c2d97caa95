/** Who speaks: agent and mode from what the three products' processes were seen to look like. */
import { describe, expect, test } from "bun:test"
import { readHost } from "../../plugin/src/host.ts"
import { createInstance, modeOf, versionIn } from "../../plugin/src/instance.ts"

const SCRIPT = "/$bunfs/root/src/index.js"

describe("the mode", () => {
  test.each([
    ["serve", ["bun", SCRIPT, "serve", "--port", "4096"]],
    ["run", ["bun", SCRIPT, "run"]],
    ["run", ["bun", SCRIPT, "run", "serve"]],
    ["tui", ["bun", "/$bunfs/root/src/cli/tui/worker.js"]],
    ["tui", ["bun", "/$bunfs/root/src/cli/cmd/tui/worker.js"]],
    ["unknown", ["bun", SCRIPT, "./run"]],
    ["unknown", ["bun", SCRIPT, "acp", "run"]],
    ["unknown", []],
  ])("is %s for %j", (mode, argv) => {
    expect(modeOf(argv)).toBe(mode as ReturnType<typeof modeOf>)
  })
})

describe("the instance", () => {
  test("is OpenCode without version until a session tells it", () => {
    const env = { OPENCODE: "1", AGENT: "1", KILO_API_KEY: "x" }
    const instance = createInstance({ directory: "/p", worktree: "/" }, { env, argv: ["bun", SCRIPT, "run"] })
    expect(instance).toMatchObject({ agent: "opencode", directory: "/p", worktree: "/", mode: "run" })
    expect(instance.version).toBeUndefined()
    expect(instance.id).toMatch(/^[A-Za-z0-9._-]{1,64}$/)
  })

  test("is Kilo by its own mark, with its version", () => {
    const env = { OPENCODE: "1", KILO: "1", KILOCODE_VERSION: "7.7.7" }
    const instance = createInstance({ directory: "/p" }, { env, argv: [] })
    expect(instance).toMatchObject({ agent: "kilocode", version: "7.7.7", mode: "unknown" })
  })

  test.each([[undefined], [null], [7], [{ directory: 7, worktree: [] }]])(
    "has an empty directory for a context that is %j",
    (context) => {
      expect(createInstance(context, { env: {}, argv: [] })).toMatchObject({ directory: "" })
    },
  )
})

test("a version is taken from the creation of a session, not from what happens to an old one", () => {
  const properties = { info: { version: "1.18.33" } }
  expect(versionIn({ type: "session.created", properties })).toBe("1.18.33")
  expect(versionIn({ type: "session.updated", properties })).toBeUndefined()
  expect(versionIn(undefined)).toBeUndefined()
})

test("a host is read without being changed", () => {
  const { env, argv } = readHost()
  expect(env.PATH).toBe(process.env.PATH)
  expect(argv).toEqual(process.argv)
})
