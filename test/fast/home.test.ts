/**
 * The state folder on disk: who may read it, which secrets are kept, and what is done about files that are damaged
 * (design section 4). Real folders below the system's temporary one.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  homePaths,
  leaveHome,
  prepareHome,
  readSecrets,
  writePid,
  writePluginFile,
} from "../../service/home.ts"

const NONE = { token: undefined, key: undefined }
let root = ""

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "aep-home-"))
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

test("a home is made with its parents, for its user alone", () => {
  const home = join(root, "a/b")
  expect(prepareHome(home)).toBeUndefined()
  expect(mode(home)).toBe("700")
})

test("a home that others could enter is closed", () => {
  chmodSync(root, 0o755)
  expect(prepareHome(root)).toBeUndefined()
  expect(mode(root)).toBe("700")
})

test("a folder that holds other things keeps its mode", () => {
  writeFileSync(join(root, "letter.txt"), "")
  chmodSync(root, 0o755)
  expect(prepareHome(root)).toBeUndefined()
  expect(mode(root)).toBe("755")
})

test("a home that is a file is refused with what to do", () => {
  const file = join(root, "file")
  writeFileSync(file, "")
  expect(prepareHome(file)).toContain("AEP_HOME")
  expect(prepareHome(join(file, "below"))).toContain("set AEP_HOME to another")
})

test("secrets are made once, kept, and written for their user alone", () => {
  const paths = homePaths(root)
  const first = readSecrets(paths, NONE)
  writePluginFile(paths, "http://127.0.0.1:8390", paths.socket, first.key)
  expect(first.token).toMatch(/^[\w-]{43}$/)
  expect(first.key).toMatch(/^[\w-]{43}$/)
  expect(first.key).not.toBe(first.token)
  expect(readSecrets(paths, NONE)).toEqual(first)
  expect(mode(paths.token)).toBe("600")
  expect(mode(paths.pluginFile)).toBe("600")
  expect(readdirSync(root).sort()).toEqual(["plugin.json", "token"])
})

test("the door credential is derived, so that the key itself never travels", () => {
  const { key, doorCredential } = readSecrets(homePaths(root), NONE)
  expect(doorCredential).toBe(createHmac("sha256", key).update("door/1").digest("hex"))
})

test("secrets of the operator win and do not replace the kept ones", () => {
  const paths = homePaths(root)
  const kept = readSecrets(paths, NONE)
  writePluginFile(paths, "http://127.0.0.1:8390", undefined, kept.key)
  const given = readSecrets(paths, { token: "operator-token-0123", key: "operator-key-012345" })
  expect([given.token, given.key]).toEqual(["operator-token-0123", "operator-key-012345"])
  expect(readSecrets(paths, NONE)).toEqual(kept)
})

test("a token that others could read is closed", () => {
  const paths = homePaths(root)
  writeFileSync(paths.token, "kept-token\n", { mode: 0o644 })
  expect(readSecrets(paths, NONE).token).toBe("kept-token")
  expect(mode(paths.token)).toBe("600")
})

test("an empty token file is filled", () => {
  const paths = homePaths(root)
  writeFileSync(paths.token, " \n")
  expect(readSecrets(paths, NONE).token).toMatch(/^[\w-]{43}$/)
})

describe("a plugin file that is damaged costs a new key, not the start", () => {
  test.each(["", "{", "null", "7", '"key"', "[]", "{}", '{"key":7}', '{"key":""}', '{"key":null}', "\u0000"])(
    "%j",
    (text) => {
      const paths = homePaths(root)
      writeFileSync(paths.pluginFile, text)
      expect(readSecrets(paths, NONE).key).toMatch(/^[\w-]{43}$/)
    },
  )
})

test("a plugin file that cannot be read is a fault, not a new key", () => {
  const paths = homePaths(root)
  mkdirSync(paths.pluginFile)
  expect(() => readSecrets(paths, NONE)).toThrow("EISDIR")
})

test("the plugin file tells address, socket and key, and no socket where there is none", () => {
  const paths = homePaths(root)
  writePluginFile(paths, "http://127.0.0.1:8390", "/tmp/x.sock", "k")
  expect(JSON.parse(readFileSync(paths.pluginFile, "utf8"))).toEqual({
    url: "http://127.0.0.1:8390",
    socket: "/tmp/x.sock",
    key: "k",
  })
  writePluginFile(paths, "http://[::1]:8390", undefined, "k")
  expect(JSON.parse(readFileSync(paths.pluginFile, "utf8"))).toEqual({ url: "http://[::1]:8390", key: "k" })
})

test("leaving takes pid and socket away and keeps what the next start needs; twice does no harm", () => {
  const paths = homePaths(root)
  const { key } = readSecrets(paths, NONE)
  writePluginFile(paths, "http://127.0.0.1:8390", undefined, key)
  writePid(paths, 123)
  writeFileSync(paths.socket, "")
  expect(readFileSync(paths.pidFile, "utf8")).toBe("123\n")
  expect(mode(paths.pidFile)).toBe("600")
  leaveHome(paths)
  leaveHome(paths)
  expect([paths.pidFile, paths.socket].map(existsSync)).toEqual([false, false])
  expect([paths.token, paths.pluginFile].map(existsSync)).toEqual([true, true])
})
