/** What of the agent's words may stand where structure is told (AEP-0003 §9.2): identifiers, and nothing that could be content. */
import { describe, expect, test } from "bun:test"
import { identifierOf, idOf, qualifiedNameOf } from "../../service/map/identifier.ts"

const IDENTIFIERS = [
  ...["bash", "call_1", "toolu_01AbC", "ses_dd13827c7ffel4C7625ZfeX7XE", "functions.bash:0", "1", "t12"],
  ...[
    "call_a|fc_b",
    "mcp_server_tool-name",
    "1.18.33",
    "0.0.0-dev-202603021400",
    "APIError",
    "tool-calls",
    "$x",
  ],
  "a".repeat(128),
]

const CONTENT = [
  ...[
    "two words",
    "line\nbreak",
    "tab\there",
    "",
    "a'b",
    'a"b',
    "a=b",
    "ann@example.org",
    "/home/dev",
    "~/x",
    "é",
  ],
  ...[
    "https://ann:tiger@example.org",
    "-rf",
    ".env",
    "a".repeat(129),
    "(x)",
    "<b>",
    "a,b",
    "a;b",
    "$(x) y",
    "`x`",
  ],
]

const CREDENTIALS = [
  ...[
    "AKIAZ9ZZYYXXWWVVUU11",
    "ghp_abcdefghij0123456789",
    "sk-proj-abcdefghij0123456789",
    "glpat-abcdefghij0123456789",
  ],
  ...["eyJhbGciOi.eyJzdWIi.abc", "x-eyJhbGciOi.eyJ", "xoxb-1234567890-abc"],
]

describe("an identifier", () => {
  test.each(IDENTIFIERS)("rides as it is: %s", (text) => {
    expect(identifierOf(text)).toBe(text)
    expect(idOf(text)).toBe(text)
  })

  test.each([...CONTENT, ...CREDENTIALS])("is not %j", (text) => {
    expect(identifierOf(text)).toBeUndefined()
  })

  test.each([[undefined], [null], [7], [{}], [["a"]], [true]])("is not %j, which is no text", (value) => {
    expect(identifierOf(value)).toBeUndefined()
    expect(qualifiedNameOf(value)).toBeUndefined()
    expect(idOf(value)).toBeUndefined()
  })

  test("may be bounded shorter", () => {
    expect(identifierOf("abc", 3)).toBe("abc")
    expect(identifierOf("abcd", 3)).toBeUndefined()
  })
})

describe("a name in parts", () => {
  test.each(["claude-3.5", "vendor/model:tag", "git/commit", "server:prompt", "a/b/c"])(
    "rides: %s",
    (text) => {
      expect(qualifiedNameOf(text)).toBe(text)
    },
  )

  test.each(["/etc/passwd", "a//b", "a/", "../a", "C:/Users/ann", "a/b c", "x/sk-proj-abcdefghij0123456789"])(
    "is not %s",
    (text) => {
      expect(qualifiedNameOf(text)).toBeUndefined()
    },
  )
})

describe("an id that is no identifier", () => {
  test.each([...CONTENT.filter((text) => text !== ""), ...CREDENTIALS])(
    "becomes a hash, always the same: %j",
    (text) => {
      const told = idOf(text)
      expect(told).toMatch(/^~[0-9a-f]{16}$/)
      expect(idOf(text)).toBe(told as string)
      expect(idOf(told)).toBe(told as string)
    },
  )

  test("and another one do not meet", () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => idOf(`call ${index}`))
    expect(new Set(ids).size).toBe(ids.length)
  })
})
