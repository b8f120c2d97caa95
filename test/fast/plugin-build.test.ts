/** The committed drop-in is what its sources say, and is a file every agent can load. */
import { describe, expect, test } from "bun:test"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import manifest from "../../package.json"
import { BUILD_COMMAND, bundleDropIn, bundleShortNames, DROP_IN, scanDropIn } from "../../plugin/build.ts"

const text = await Bun.file(DROP_IN).text()
const shortNames = await bundleShortNames()

describe("the committed file", () => {
  test(`is what ${BUILD_COMMAND} makes`, async () => {
    expect(text).toBe(await bundleDropIn())
  })

  test("passes its own scan", () => {
    expect(scanDropIn(text, shortNames)).toEqual([])
  })

  test("exports one async function and nothing else", async () => {
    const loaded: Record<string, unknown> = await import(DROP_IN)
    expect(Object.keys(loaded)).toEqual(["OpencodeAep"])
    expect(loaded.OpencodeAep?.constructor.name).toBe("AsyncFunction")
    expect(text.match(/^export /gm)?.length).toBe(1)
  })

  test("says what it is, its version, its sources and how it is made", () => {
    const banner = text.slice(0, text.indexOf("*/"))
    for (const word of ["opencode-aep", manifest.version, "plugin/src", BUILD_COMMAND]) {
      expect(banner).toContain(word)
    }
  })

  test("is readable: no line is longer than a screen is wide", () => {
    for (const line of text.split("\n")) expect(line.length).toBeLessThan(180)
  })

  test("names no machine", () => {
    expect(text).not.toMatch(/\/(home|root|work|tmp|Users)\//)
  })
})

describe("the scan finds", () => {
  const base = "export const OpencodeAep = async () => ({})\n"
  const short = (code: string) => `${code}\nexport { a as OpencodeAep }`
  test.each([
    ["a second export", `${base}export const other = 1`, short("")],
    ["a default export", `${base}export default OpencodeAep`, short("")],
    ["an import", `import fs from "node:fs"\n${base}fs`, short("")],
    ["a dynamic import", base, short('const a = await import("./x.js")')],
    ["a name of the import object", base, short("const a = import.meta.url")],
    ["require", base, short('const a = require("fs")')],
    ["a name of Bun", base, short("const a = Bun.version")],
    ["a name of Node", base, short("const a = Buffer.from([])")],
    ["the console", base, short("console.log(1)")],
    ["setImmediate", base, short("setImmediate(a)")],
    ["eval", base, short('eval("1")')],
    ["Function", base, short('const a = new Function("1")')],
    ["a bare process", `${base}process.env`, short("")],
    ["the process's output", `${base}globalThis.process?.stdout`, short("")],
    ["the process by itself", `${base}const p = globalThis.process`, short("")],
    ["a foreign name in a choice", base, short("const a = b ? Buffer : c")],
    ["a foreign name after a template", base, short(`const a = \`\${b}\` + Buffer`)],
    ["a foreign name inside a template", base, short(`const a = \`x\${Buffer}y\``)],
    ["a foreign name after a pattern", base, short("const a = /[/']/.test(b) || Buffer")],
  ])("%s", (_what, drop, names) => {
    expect(scanDropIn(drop, names).length).toBeGreaterThan(0)
  })

  test("nothing wrong with names that are members, texts or comments", () => {
    const code = "const a = { Buffer: 1, send(b) { return b.console } }\n// Bun\nconst c = 'process'\n"
    expect(scanDropIn(base, short(code))).toEqual([])
  })
})

describe("the check", () => {
  const check = async (file: string) => {
    const cwd = new URL("../..", import.meta.url).pathname
    const child = Bun.spawn([process.execPath, "plugin/build.ts", "--check", file], { cwd, stderr: "pipe" })
    return { said: await new Response(child.stderr).text(), code: await child.exited }
  }

  test("is silent and exits 0 for the committed file", async () => {
    expect(await check(DROP_IN)).toEqual({ said: "", code: 0 })
  })

  test("exits 1 and says what to run for a file that one character was added to", async () => {
    const folder = await mkdtemp(join(tmpdir(), "aep-plugin-"))
    const stale = join(folder, "opencode-aep.js")
    await Bun.write(stale, `${text} `)
    expect(await check(stale)).toEqual({
      said: `plugin/opencode-aep.js is stale; run: ${BUILD_COMMAND}\n`,
      code: 1,
    })
    expect((await check(join(folder, "absent.js"))).code).toBe(1)
    await rm(folder, { recursive: true })
  })
})
