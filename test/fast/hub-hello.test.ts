/** A client's hello judged (AEP-0003 §4), as tables: what is taken from it, and what refuses it. */
import { describe, expect, test } from "bun:test"
import { readHello } from "../../service/hub/hello.ts"

const BARE = { role: "consumer", agent: undefined, instance: undefined, control: undefined, emits: undefined }
const NAMED = { versions: ["0.1"], role: "emitter", identity: { agent: "em" } }
/** Characters that the names and blocks may take, as JSON, with all that stands around them. */
const MOST = 16_384

describe("a hello is taken", () => {
  const control = { accepts: ["control.cancel"], vendor: { depth: [1] } }
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ["that has a version alone", { versions: ["0.1"] }, BARE],
    ["whose versions hold ours anywhere", { versions: ["9.9", 7, "0.1"] }, BARE],
    ["with members that nobody knows", { versions: ["0.1"], type: "hello", mood: "good" }, BARE],
    [
      "with identity and blocks, these as they are",
      {
        ...NAMED,
        role: "both",
        identity: { agent: "em", instance: "i", card: {} },
        capabilities: { control, emits: ["run.*"] },
      },
      { role: "both", agent: "em", instance: "i", control, emits: ["run.*"] },
    ],
    [
      "with names that are none, for a consumer",
      { versions: ["0.1"], identity: { agent: "", instance: 7 } },
      BARE,
    ],
    [
      "with a control block that is no object, as without one",
      { ...NAMED, capabilities: { control: ["control.cancel"] } },
      { ...BARE, role: "emitter", agent: "em" },
    ],
    [
      "with capabilities that are no object, as without any",
      { ...NAMED, capabilities: "all" },
      { ...BARE, role: "emitter", agent: "em" },
    ],
    [
      "with a block that is falsy, which is a value",
      { ...NAMED, capabilities: { emits: null } },
      { ...BARE, role: "emitter", agent: "em", emits: null },
    ],
  ])("%s", (_, members, hello) => {
    expect<unknown>(readHello(members)).toEqual({ kind: "hello", hello })
  })
})

describe("a hello is refused", () => {
  test.each<[string, Record<string, unknown>, string, RegExp]>([
    ["without versions", {}, "version-unsupported", /^versions/],
    ["with a version that is no list", { versions: "0.1" }, "version-unsupported", /^versions/],
    ["with another version alone", { versions: ["0.10"] }, "version-unsupported", /^versions/],
    ["with a number for a version", { versions: [0.1] }, "version-unsupported", /^versions/],
    [
      "by its version before its role",
      { versions: [], role: "canary-2b" },
      "version-unsupported",
      /^versions/,
    ],
    ["with an unknown role", { versions: ["0.1"], role: "canary-2b" }, "invalid-hello", /^role/],
    ["with a role that is null", { versions: ["0.1"], role: null }, "invalid-hello", /^role/],
    [
      "with an identity that is no object",
      { ...NAMED, identity: ["canary-2b"] },
      "invalid-hello",
      /^identity:/,
    ],
    [
      "of an emitter without a name",
      { ...NAMED, identity: { instance: "i" } },
      "invalid-hello",
      /^identity\.agent/,
    ],
    [
      "of both roles with a name that is empty",
      { ...NAMED, role: "both", identity: { agent: "" } },
      "invalid-hello",
      /^identity\.agent/,
    ],
  ])("%s", (_, members, code, detail) => {
    const read = readHello(members)
    expect<unknown>(read).toEqual({ kind: "refused", code, detail: expect.stringMatching(detail) })
    expect(JSON.stringify(read)).not.toContain("canary")
  })

  test.each<[string, (text: string) => Record<string, unknown>]>([
    ["a name", (text) => ({ ...NAMED, identity: { agent: text } })],
    ["an instance", (text) => ({ ...NAMED, identity: { agent: "em", instance: text } })],
    ["a control block", (text) => ({ ...NAMED, capabilities: { control: { text } } })],
    ["an emits block", (text) => ({ ...NAMED, capabilities: { emits: text } })],
  ])("when %s is longer than the roster may repeat for each claim", (_, hello) => {
    expect(readHello(hello("x".repeat(MOST - 200))).kind).toBe("hello")
    expect(readHello(hello("x".repeat(MOST)))).toMatchObject({ kind: "refused", code: "invalid-hello" })
  })
})
