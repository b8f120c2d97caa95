/** The severity table: every entry names a type that exists, and the machinery stays below what people read. */
import { describe, expect, test } from "bun:test"
import { CORE_SEVERITY, severityOf, VENDOR_SEVERITY } from "../../service/emit/severity.ts"
import { isAtLeast, isRegistered, registry } from "../../shared/aep.ts"

describe("severity by type", () => {
  test.each(Object.entries(CORE_SEVERITY))("%s is %s and registered", (type, severity) => {
    expect(isRegistered(type)).toBe(true)
    expect(severityOf(type)).toBe(severity)
  })

  test("a registered type without a row is info", () => {
    const plain = [...registry.keys()].filter((type) => !(type in CORE_SEVERITY))
    expect(new Set(plain.map(severityOf))).toEqual(new Set(["info"]))
    expect(plain).toContain("tool.requested")
  })

  test("a request for a person is at least notice, as the protocol recommends", () => {
    expect(isAtLeast(severityOf("attention.requested"), "notice")).toBe(true)
  })

  test.each(Object.entries(VENDOR_SEVERITY))("x.{vendor}.%s is %s for every vendor", (rest, severity) => {
    expect(severityOf(`x.opencode.${rest}`)).toBe(severity)
    expect(severityOf(`x.kilo-code.${rest}`)).toBe(severity)
  })

  test.each(["x.opencode.file.edited", "x.opencode.session.error.seen", "x.opencode.my.session.error", "x."])(
    "%s is machinery at debug",
    (type) => {
      expect(severityOf(type)).toBe("debug")
    },
  )

  test("a name on the prototype is no row", () => {
    expect(severityOf("constructor")).toBe("info")
    expect(severityOf("x.opencode.constructor")).toBe("debug")
  })
})
