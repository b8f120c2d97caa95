/**
 * The configuration of the service as a table: each variable and flag with what it takes, what it refuses and what
 * wins (design section 4). Errors name where the value came from, what it was and what is accepted; a secret's value
 * never stands in one.
 */
import { describe, expect, test } from "bun:test"
import { ceilingsFrom } from "../../service/capture/ceiling.ts"
import { type Config, readConfig } from "../../service/config.ts"

type Env = Record<string, string>
const HUB = { auth: "all", buffer: 10_000, maxSessions: 500, maxFrom: 500 } as const
const USER = "/home/dev"
const SECRET = "s3cret-value-that-must-not-be-told"

function config(args: string[], env: Env = {}): Config {
  const read = readConfig(args, env, USER)
  if (read.kind !== "config") throw new Error(JSON.stringify(read))
  return read.config
}

function fault(args: string[], env: Env = {}, user = USER): string {
  const read = readConfig(args, env, user)
  return read.kind === "invalid" ? read.detail : `not invalid but ${read.kind}`
}

test("with nothing given the defaults hold", () => {
  expect(config([])).toEqual({
    home: "/home/dev/.aep",
    host: "127.0.0.1",
    port: 8390,
    publicHosts: [],
    allowedOrigins: [],
    token: undefined,
    key: undefined,
    capture: { ceilings: ceilingsFrom(), pii: true, secretValues: [], unsetNames: [] },
    hub: { auth: "all", buffer: 10_000, maxSessions: 500, maxFrom: 500 },
    windows: { hookMs: 55_000, askMs: 1_800_000 },
    relay: undefined,
    maxBody: 16 * 1024 * 1024,
    maxBatch: 10_000,
  })
})

describe("a valid value is taken", () => {
  test.each([
    ["AEP_HOME", "/var/aep", { home: "/var/aep" }],
    ["AEP_HOME", "C:\\aep", { home: "C:\\aep" }],
    ["AEP_ASK_TIMEOUT_MS", "200", { windows: { hookMs: 55_000, askMs: 200 } }],
    ["AEP_ATTENTION_TIMEOUT_MS", "200", { windows: { hookMs: 200, askMs: 1_800_000 } }],
    ["AEP_OPENCODE_HOST", "::1", { host: "::1" }],
    ["AEP_OPENCODE_HOST", "localhost", { host: "localhost" }],
    ["AEP_OPENCODE_PORT", "1", { port: 1 }],
    ["AEP_OPENCODE_PORT", "65535", { port: 65_535 }],
    ["AEP_OPENCODE_PORT", "08390", { port: 8390 }],
    ["AEP_PUBLIC_URL", "https://aep.example.org/x?y", { publicHosts: ["aep.example.org"] }],
    ["AEP_PUBLIC_URL", "http://aep.example.org:9000", { publicHosts: ["aep.example.org:9000"] }],
    ["AEP_ALLOWED_ORIGINS", "https://a.example", { allowedOrigins: ["https://a.example"] }],
    [
      "AEP_ALLOWED_ORIGINS",
      "https://a.example, http://b.example:81",
      { allowedOrigins: ["https://a.example", "http://b.example:81"] },
    ],
    ["AEP_TOKEN", SECRET, { token: SECRET }],
    ["AEP_OPENCODE_KEY", "0123456789abcdef", { key: "0123456789abcdef" }],
    ["AEP_MAX_BODY", "1024", { maxBody: 1024 }],
    ["AEP_MAX_BODY", "2147483647", { maxBody: 2_147_483_647 }],
    ["AEP_MAX_BATCH", "1", { maxBatch: 1 }],
    ["AEP_MAX_BATCH", "1000000", { maxBatch: 1_000_000 }],
    ["AEP_AUTH", "all", {}],
    ["AEP_AUTH", "control", { hub: { ...HUB, auth: "control" } }],
    ["AEP_BUFFER", "1", { hub: { ...HUB, buffer: 1 } }],
    ["AEP_BUFFER", "1000000", { hub: { ...HUB, buffer: 1_000_000 } }],
    ["AEP_MAX_SESSIONS", "7", { hub: { ...HUB, maxSessions: 7, maxFrom: 7 } }],
    ["AEP_MAX_FROM", "1024", { hub: { ...HUB, maxFrom: 1024 } }],
  ] as [string, string, Partial<Config>][])("%s=%s", (variable, value, members) => {
    expect(config([], { [variable]: value })).toEqual({ ...config([]), ...members })
  })
})

describe("an empty variable is an absent one", () => {
  test.each([
    ...["AEP_HOME", "AEP_OPENCODE_HOST", "AEP_OPENCODE_PORT", "AEP_PUBLIC_URL", "AEP_ALLOWED_ORIGINS"],
    ...["AEP_TOKEN", "AEP_OPENCODE_KEY", "AEP_MAX_BODY", "AEP_MAX_BATCH", "AEP_AUTH", "AEP_BUFFER"],
    ...["AEP_MAX_SESSIONS", "AEP_MAX_FROM", "AEP_RELAY_URL", "AEP_RELAY_TOKEN"],
  ])("%s", (variable) => {
    expect(config([], { [variable]: "" })).toEqual(config([]))
  })
})

describe("an invalid value is refused, naming variable, value and what is accepted", () => {
  test.each([
    ["AEP_HOME", "relative/home", "absolute path"],
    ["AEP_HOME", "~/aep", "absolute path"],
    ["AEP_OPENCODE_HOST", "0.0.0.0", "127.0.0.1, localhost, ::1"],
    ["AEP_OPENCODE_HOST", "example.org", "127.0.0.1, localhost, ::1"],
    ["AEP_OPENCODE_PORT", "abc", "1 to 65535"],
    ["AEP_OPENCODE_PORT", "0", "1 to 65535"],
    ["AEP_OPENCODE_PORT", "65536", "1 to 65535"],
    ["AEP_OPENCODE_PORT", "-1", "1 to 65535"],
    ["AEP_OPENCODE_PORT", "80.5", "1 to 65535"],
    ["AEP_OPENCODE_PORT", " 80", "1 to 65535"],
    ["AEP_OPENCODE_PORT", "0x50", "1 to 65535"],
    ["AEP_PUBLIC_URL", "aep.example.org", "https://aep.example.org"],
    ["AEP_PUBLIC_URL", "ftp://aep.example.org", "https://aep.example.org"],
    ["AEP_ALLOWED_ORIGINS", "https://a.example/path", "https://aep.example.org"],
    ["AEP_ALLOWED_ORIGINS", "*", "https://aep.example.org"],
    ["AEP_ALLOWED_ORIGINS", "null", "https://aep.example.org"],
    ["AEP_MAX_BODY", "1023", "1024 to 2147483647"],
    ["AEP_MAX_BODY", "2147483648", "1024 to 2147483647"],
    ["AEP_MAX_BODY", "16MiB", "1024 to 2147483647"],
    ["AEP_MAX_BATCH", "0", "1 to 1000000"],
    ["AEP_MAX_BATCH", "1000001", "1 to 1000000"],
    ["AEP_AUTH", "none", "all or control"],
    ["AEP_AUTH", "Control", "all or control"],
    ["AEP_BUFFER", "0", "1 to 1000000"],
    ["AEP_BUFFER", "1000001", "1 to 1000000"],
    ["AEP_MAX_SESSIONS", "0", "1 to 100000"],
    ["AEP_MAX_FROM", "-1", "1 to 100000"],
    ["AEP_RELAY_URL", "http://relay.example.org", "https or wss"],
    ["AEP_RELAY_URL", "ws://10.0.0.1:7000/socket", "https or wss"],
    ["AEP_RELAY_URL", "ws://localhost.example.org", "https or wss"],
  ])("%s=%s", (variable, value, accepted) => {
    const detail = fault([], { [variable]: value })
    expect(detail).toContain(variable)
    expect(detail).toContain(`\`${value}\``)
    expect(detail).toContain(accepted)
  })

  test("of a list only the wrong part is named", () => {
    const detail = fault([], { AEP_ALLOWED_ORIGINS: "https://a.example,nonsense" })
    expect(detail).toContain("`nonsense`")
    expect(detail).not.toContain("a.example,")
  })

  test("all of them at once, one line each", () => {
    const detail = fault(["--port", "x"], { AEP_MAX_BODY: "y", AEP_OPENCODE_HOST: "z" })
    expect(detail.split("\n")).toHaveLength(3)
  })

  test("openness beyond this machine", () => {
    const detail = fault([], { AEP_AUTH: "control", AEP_OPENCODE_HOST: "0.0.0.0" })
    expect(detail.split("\n").find((line) => line.startsWith("AEP_AUTH"))).toContain("listen on 127.0.0.1")
  })

  test("no home folder and no AEP_HOME", () => {
    expect(fault([], {}, "")).toContain("AEP_HOME is not set")
  })
})

describe("a weak secret is refused without being told", () => {
  test.each([
    ["AEP_TOKEN", "tooshort-secret"],
    ["AEP_OPENCODE_KEY", "tooshort-secret"],
    ["AEP_TOKEN", "zebra okapi tapir gnu lemur"],
    ["AEP_OPENCODE_KEY", "zebra-okapi-tapir\ngnu-lemur"],
  ])("%s", (variable, value) => {
    const detail = fault([], { [variable]: value })
    expect(detail).toContain(variable)
    expect(detail).toContain("16 characters")
    for (const piece of value.split(/\s/)) expect(detail).not.toContain(piece)
  })
})

describe("the relay's address becomes that of its socket", () => {
  test.each([
    ["https://relay.example.org", "wss://relay.example.org/socket"],
    ["https://relay.example.org/", "wss://relay.example.org/socket"],
    ["https://relay.example.org:8443/aep", "wss://relay.example.org:8443/aep/socket"],
    ["https://relay.example.org/aep/", "wss://relay.example.org/aep/socket"],
    ["wss://relay.example.org", "wss://relay.example.org/socket"],
    ["wss://relay.example.org/socket", "wss://relay.example.org/socket"],
    ["wss://relay.example.org/aep/socket/", "wss://relay.example.org/aep/socket"],
    ["WSS://RELAY.example.org", "wss://relay.example.org/socket"],
    ["http://127.0.0.1:7000", "ws://127.0.0.1:7000/socket"],
    ["http://localhost:7000", "ws://localhost:7000/socket"],
    ["ws://[::1]:7000", "ws://[::1]:7000/socket"],
  ])("%s -> %s", (value, url) => {
    expect(config([], { AEP_RELAY_URL: value }).relay).toEqual({ url, token: undefined })
  })

  test("and its token stands beside it, however short", () => {
    expect(config([], { AEP_RELAY_URL: "https://r.example", AEP_RELAY_TOKEN: "x" }).relay).toEqual({
      url: "wss://r.example/socket",
      token: "x",
    })
  })

  test.each([
    ["relay.example.org", "https://relay.example.org"],
    ["ftp://relay.example.org", "https://relay.example.org"],
    [`not a url ${SECRET}`, "https://relay.example.org"],
    [`https://dev:${SECRET}@relay.example.org`, "AEP_RELAY_TOKEN"],
    [`https://${SECRET}@relay.example.org`, "AEP_RELAY_TOKEN"],
    [`http://dev:${SECRET}@relay.example.org`, "AEP_RELAY_TOKEN"],
    [`wss://relay.example.org/socket?access_token=${SECRET}`, "AEP_RELAY_TOKEN"],
    [`https://relay.example.org/#${SECRET}`, "AEP_RELAY_TOKEN"],
  ])("%# is refused, saying what to do and nothing of it that may be secret", (value, remedy) => {
    const detail = fault([], { AEP_RELAY_URL: value })
    expect(detail).toContain("AEP_RELAY_URL")
    expect(detail).toContain(remedy)
    expect(detail).not.toContain(SECRET)
  })

  test.each([
    [{ AEP_RELAY_TOKEN: SECRET }, "without AEP_RELAY_URL"],
    [{ AEP_RELAY_URL: "https://r.example", AEP_RELAY_TOKEN: `${SECRET} ${SECRET}` }, "white space"],
    [{ AEP_RELAY_URL: "https://r.example", AEP_RELAY_TOKEN: `${SECRET}\n` }, "white space"],
  ] as [Env, string][])("a token that cannot be used is refused without being told (%#)", (env, what) => {
    const detail = fault([], env)
    expect(detail).toContain("AEP_RELAY_TOKEN")
    expect(detail).toContain(what)
    expect(detail).not.toContain(SECRET)
  })
})

describe("flags", () => {
  test.each([
    [["--home", "/flag"], { AEP_HOME: "/env" }, { home: "/flag" }],
    [["--home=/flag"], {}, { home: "/flag" }],
    [["--host", "::1"], { AEP_OPENCODE_HOST: "localhost" }, { host: "::1" }],
    [["--port", "1234"], { AEP_OPENCODE_PORT: "4321" }, { port: 1234 }],
    [["--port", "1234"], { AEP_OPENCODE_PORT: "nonsense" }, { port: 1234 }],
  ] as [string[], Env, Partial<Config>][])("%j win over %j", (args, env, members) => {
    expect(config(args, env)).toEqual({ ...config([]), ...members })
  })

  test.each([
    [["--port", "abc"], "--port", "`abc`"],
    [["--port", ""], "--port", "``"],
    [["--host", "0.0.0.0"], "--host", "`0.0.0.0`"],
    [["--home", "here"], "--home", "`here`"],
  ])("%j is refused by the flag's name", (args, name, value) => {
    expect(fault(args)).toContain(name)
    expect(fault(args)).toContain(value)
  })

  test.each([[["--nonsense"]], [["--port"]], [["--help=yes"]], [["-x"]]])(
    "%j is refused and points to the help",
    (args) => {
      expect(fault(args)).toContain("--help")
    },
  )

  test.each([[[`--token=${SECRET}`]], [["--token", SECRET]], [[`--key=${SECRET}`]]])(
    "a secret given as a flag is not repeated (case %#)",
    (args) => {
      const detail = fault(args)
      expect(detail).not.toStartWith("not invalid")
      expect(detail).not.toContain(SECRET)
    },
  )

  test.each([
    [["--help"], "help"],
    [["-h"], "help"],
    [["--version"], "version"],
    [["--help", "--port", "abc"], "help"],
  ])("%j asks for %s, whatever else is wrong", (args, kind) => {
    expect(readConfig(args, { AEP_OPENCODE_PORT: "abc" }, "").kind).toBe(kind as never)
  })
})
