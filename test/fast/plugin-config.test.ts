/** Where the plugin finds the service: options before environment before `plugin.json`, and what it refuses. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Explicit, readExplicit, resolveTarget } from "../../plugin/src/config.ts"
import { doorCredential } from "../../plugin/src/credential.ts"
import { fileUrl, readPluginFile } from "../../plugin/src/plugin-file.ts"

const host = (env: Record<string, string>) => ({ env, argv: [] })
const plain: Explicit = { off: false, stream: false }

describe("what is said explicitly", () => {
  test("options come before the environment", () => {
    const env = { AEP_OPENCODE_URL: "http://env", AEP_OPENCODE_KEY: "env", AEP_HOME: "/env" }
    const options = { url: "http://option", key: "option", home: "/option", stream: true, off: true }
    expect(readExplicit(options, host(env))).toEqual({ ...options })
    expect(readExplicit(undefined, host(env))).toEqual({
      ...plain,
      url: "http://env",
      key: "env",
      home: "/env",
    })
  })

  test("an empty string or a value of another type counts as absent", () => {
    expect(readExplicit({ url: "", key: 7 }, host({ AEP_OPENCODE_URL: "" }))).toEqual(plain)
  })

  test("switches are on at 1 and at nothing else", () => {
    const read = (value: string) =>
      readExplicit(null, host({ AEP_OPENCODE_OFF: value, AEP_OPENCODE_STREAM: value }))
    expect(read("1")).toEqual({ off: true, stream: true })
    for (const value of ["0", "", "true"]) expect(read(value)).toEqual(plain)
    expect(readExplicit({ off: false }, host({ AEP_OPENCODE_OFF: "1" })).off).toBe(false)
  })

  test.each([
    [{ HOME: "/home/dev" }, "/home/dev/.aep"],
    [{ HOME: "/home/dev", AEP_HOME: "/srv/aep" }, "/srv/aep"],
    [{ USERPROFILE: "C:\\Users\\dev" }, "C:\\Users\\dev/.aep"],
    [{ OS: "Windows_NT", HOME: "/c/Users/dev", USERPROFILE: "C:\\Users\\dev" }, "C:\\Users\\dev/.aep"],
  ])("with %j the home is %s", (env, home) => {
    expect(readExplicit({}, host(env as Record<string, string>)).home).toBe(home)
  })
})

describe("the target", () => {
  const file = { url: "http://127.0.0.1:8390", socket: "/s.sock", key: "file" }

  test("is the file's with its socket", () => {
    expect(resolveTarget(plain, file)).toEqual(file)
  })

  test("keeps the file's key but not its socket when another url is given", () => {
    const url = "http://127.0.0.1:9000/"
    expect(resolveTarget({ ...plain, url }, file)).toEqual({ url: "http://127.0.0.1:9000", key: "file" })
  })

  test("keeps the socket when the same url is given", () => {
    expect(resolveTarget({ ...plain, url: file.url, key: "mine" }, file)).toEqual({ ...file, key: "mine" })
  })

  test("is none without url or key", () => {
    expect(resolveTarget(plain, undefined)).toBeUndefined()
    expect(resolveTarget(plain, { url: file.url })).toBeUndefined()
    expect(resolveTarget({ ...plain, key: "k" }, undefined)).toBeUndefined()
  })

  test.each([
    "http://127.0.0.1:1",
    "http://127.9.9.9:1",
    "http://localhost:1",
    "http://[::1]:1",
    "https://aep.example",
  ])("%s is acceptable", (url) => {
    expect(resolveTarget({ ...plain, url, key: "k" }, undefined)?.url).toBe(url)
  })

  test.each([
    "http://192.168.0.2:1",
    "http://aep.example",
    "http://127.0.0.1.example",
    "http://localhost.example",
    "ws://127.0.0.1",
    "file:///etc",
    "no url",
  ])("%s is refused", (url) => {
    expect(resolveTarget({ ...plain, url, key: "k" }, undefined)).toBeUndefined()
    expect(resolveTarget(plain, { url, key: "k", socket: "/s.sock" })).toBeUndefined()
  })
})

describe("plugin.json", () => {
  let folder = ""
  beforeAll(async () => {
    folder = join(await mkdtemp(join(tmpdir(), "aep-plugin-")), "a b#c?d%20é")
    await mkdir(folder)
  })
  afterAll(() => rm(join(folder, ".."), { recursive: true }))

  test("is read from a folder with any characters in its name", async () => {
    await Bun.write(join(folder, "plugin.json"), JSON.stringify({ url: "u", socket: "s", key: "k", gate: 1 }))
    expect(await readPluginFile(folder, 1000)).toEqual({ url: "u", socket: "s", key: "k" })
  })

  test.each([
    ["no JSON", "{", undefined],
    ["a list", "[]", {}],
    ["members of another type", '{"url":7,"key":null,"socket":""}', {}],
    ["too much", JSON.stringify({ key: "k".repeat(70_000) }), undefined],
  ])("that holds %s gives what can be used", async (_what, text, expected) => {
    await Bun.write(join(folder, "plugin.json"), text)
    expect(await readPluginFile(folder, 1000)).toEqual(expected)
  })

  test("that is absent gives nothing", async () => {
    expect(await readPluginFile(join(folder, "absent"), 1000)).toBeUndefined()
  })

  test("keeps the drive of a Windows path", () => {
    expect(fileUrl("C:\\Users\\a b\\.aep/plugin.json")).toBe("file:///C:/Users/a%20b/.aep/plugin.json")
  })
})

test("the credential is the keyed hash of door/1, as another implementation computes it", async () => {
  const expected = new Bun.CryptoHasher("sha256", "the key é").update("door/1").digest("hex")
  expect(await doorCredential("the key é")).toBe(expected)
})
