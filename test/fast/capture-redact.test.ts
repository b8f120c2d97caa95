/**
 * The redaction pipeline (AEP-0003 §9.4): the official corpus, our own table of exact results, and what holds for every
 * text: redacting twice changes nothing, and the operator's values are never left over.
 */
import { describe, expect, test } from "bun:test"
import table from "../../fixtures/redaction/cases.json" with { type: "json" }
import { createRedactor, type RedactorOptions } from "../../service/capture/redact.ts"
import { officialData, readOfficial } from "../official.ts"

interface OfficialCase {
  name: string
  input: unknown
  opts?: { home?: string; secretValues?: string[]; pii?: boolean }
  must_contain?: string[]
  must_not_contain?: string[]
}
interface Corpus {
  text_cases: OfficialCase[]
  value_cases: OfficialCase[]
}
interface OwnCase extends Partial<RedactorOptions> {
  name: string
  text: string
  told?: string
  same?: boolean
  secrets?: string[]
}

const official = officialData()
const corpus =
  official.kind === "present"
    ? (readOfficial("conformance/fixtures/redaction/cases.json") as Corpus)
    : { text_cases: [], value_cases: [] }
const own = table.texts as OwnCase[]

const redactor = (options: Partial<RedactorOptions> = {}) =>
  createRedactor({ home: "/home/dev", secretValues: [], pii: true, ...options })

if (official.kind === "absent") test.skip(official.reason, () => undefined)

describe.skipIf(official.kind === "absent")("the official corpus", () => {
  const missed = ({ must_contain = [], must_not_contain = [] }: OfficialCase, told: string) => [
    ...must_contain.filter((text) => !told.includes(text)).map((text) => `lost: ${text}`),
    ...must_not_contain.filter((text) => told.includes(text)).map((text) => `left: ${text}`),
  ]

  test.each(corpus.text_cases)("text: $name", (entry) => {
    expect(missed(entry, redactor(entry.opts).text(String(entry.input)))).toEqual([])
  })

  test.each(corpus.value_cases)("value: $name", (entry) => {
    expect(missed(entry, JSON.stringify(redactor(entry.opts).value(entry.input)))).toEqual([])
  })

  test("is driven whole", () => {
    const { text_cases, value_cases } = corpus
    process.stdout.write(
      `redaction/cases.json: ${text_cases.length} text cases, ${value_cases.length} value cases\n`,
    )
    expect(text_cases.length).toBeGreaterThanOrEqual(28)
    expect(value_cases.length).toBeGreaterThanOrEqual(5)
  })
})

describe("our own table", () => {
  const told = ({ secrets = [], text, told: _, ...options }: OwnCase) =>
    redactor({ secretValues: secrets, ...options }).text(text)

  test.each(own)("text: $name", (entry) => {
    expect(told(entry)).toBe(entry.same === true ? entry.text : (entry.told ?? ""))
  })

  test.each(own)("told again, nothing changes: $name", (entry) => {
    expect(told({ ...entry, text: told(entry) })).toBe(told(entry))
  })

  test.each(table.values as { name: string; value: unknown; told: unknown }[])("value: $name", (entry) => {
    const before = JSON.stringify(entry.value)
    expect(redactor().value(entry.value)).toEqual(entry.told)
    expect(JSON.stringify(entry.value)).toBe(before)
  })
})

describe("structured values", () => {
  test("are cut where they are nested too deep, not followed", () => {
    let deep: unknown = "secret"
    for (let level = 0; level < 100_000; level += 1) deep = level % 2 === 0 ? { in: deep } : [deep]
    const told = JSON.stringify(redactor().value({ deep }))
    expect(told.length).toBeLessThan(1000)
    expect(told).not.toContain("secret")
  })

  test("keep a member called __proto__ as data", () => {
    const value = JSON.parse('{"__proto__": {"polluted": "password=p"}}')
    expect(JSON.stringify(redactor().value(value))).toBe(
      '{"__proto__":{"polluted":"password=[REDACTED:secret]"}}',
    )
    expect("polluted" in {}).toBe(false)
  })
})

describe("a secret longer than any window", () => {
  test("is found whole wherever it lies in a text of a megabyte", () => {
    const value = `${"v".repeat(300)}-deploy`
    const { text } = redactor({ secretValues: [value] })
    for (const at of [0, 65_400, 65_536, 131_000, 900_000]) {
      const long = `${"x ".repeat(at / 2)}${value}${" y".repeat((1_000_000 - at) / 2)}`
      expect(text(long)).not.toContain("vvv")
    }
  })
})
