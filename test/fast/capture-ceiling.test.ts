/** Ceilings by category of event, and the configuration that sets them (AEP-0003 §9.1, §9.4). */
import { describe, expect, test } from "bun:test"
import { CATEGORIES, ceilingOf, ceilingsFrom } from "../../service/capture/ceiling.ts"
import { type CaptureConfig, readCapture } from "../../service/config-capture.ts"
import { CAPTURES, registry, TYPE } from "../../shared/aep.ts"

type Env = Record<string, string>

function read(env: Env): CaptureConfig {
  const faults: string[] = []
  const config = readCapture(env, faults)
  expect(faults).toEqual([])
  return config
}

function faultsOf(env: Env): string[] {
  const faults: string[] = []
  readCapture(env, faults)
  return faults
}

describe("ceilings", () => {
  test("with nothing said are metadata, and redacted for asks", () => {
    const ceilings = ceilingsFrom()
    for (const category of CATEGORIES) {
      expect(ceilings[category]).toBe(category === "attention" ? "redacted" : "metadata")
    }
  })

  test.each(CAPTURES)("a general %s holds for every category, asks included", (level) => {
    expect(new Set(Object.values(ceilingsFrom(level)))).toEqual(new Set([level]))
  })

  test("a single category goes its own way, above or below the general level", () => {
    const ceilings = ceilingsFrom("redacted", { tool: "none", x: "full" })
    expect(ceilingOf(ceilings, "tool.requested")).toBe("none")
    expect(ceilingOf(ceilings, "x.opencode.session.error")).toBe("full")
    expect(ceilingOf(ceilings, "run.started")).toBe("redacted")
  })

  test("every registered type has the ceiling of the category its name begins with", () => {
    for (const type of registry.keys()) {
      const [category = ""] = type.split(".")
      expect(CATEGORIES as readonly string[]).toContain(category)
      expect(ceilingOf(ceilingsFrom(undefined, { [category]: "full" }), type)).toBe("full")
    }
  })

  test("the categories are those of the grammar of types", () => {
    for (const category of CATEGORIES) {
      expect(TYPE.test(category === "x" ? "x.vendor.a.b" : `${category}.a`)).toBe(true)
    }
  })

  test("a name of no category is told as a vendor's", () => {
    const ceilings = ceilingsFrom("full", { x: "none" })
    for (const type of ["strange.type", "constructor.name", "nodot", ""]) {
      expect(ceilingOf(ceilings, type)).toBe("none")
    }
  })
})

describe("the environment", () => {
  test("with nothing given leaves the defaults", () => {
    expect(read({})).toEqual({ ceilings: ceilingsFrom(), pii: true, secretValues: [], unsetNames: [] })
    const empty = { AEP_CAPTURE: "", AEP_CAPTURE_RUN: "", AEP_REDACT_NAMES: "", AEP_REDACT_PII: "" }
    expect(read(empty)).toEqual(read({}))
  })

  test.each(CAPTURES)("AEP_CAPTURE=%s", (level) => {
    expect(read({ AEP_CAPTURE: level }).ceilings).toEqual(ceilingsFrom(level))
  })

  test.each(CATEGORIES)("a variable of its own for category %s", (category) => {
    const env = { [`AEP_CAPTURE_${category.toUpperCase()}`]: "full" }
    expect(read(env).ceilings).toEqual(ceilingsFrom(undefined, { [category]: "full" }))
  })

  test("asks keep a level of their own under a general one", () => {
    const { ceilings } = read({ AEP_CAPTURE: "none", AEP_CAPTURE_ATTENTION: "redacted" })
    expect(ceilings).toEqual(ceilingsFrom("none", { attention: "redacted" }))
  })

  test.each([
    ["AEP_CAPTURE", "all", "none, metadata, redacted, full"],
    ["AEP_CAPTURE", "Full", "none, metadata, redacted, full"],
    ["AEP_CAPTURE_TOOL", "yes", "none, metadata, redacted, full"],
    ["AEP_REDACT_PII", "no", "on or off"],
  ])("%s=%s is refused, naming what is accepted", (variable, value, accepted) => {
    const [fault = ""] = faultsOf({ [variable]: value })
    expect(fault).toContain(variable)
    expect(fault).toContain(`\`${value}\``)
    expect(fault).toContain(accepted)
  })

  test.each(["AEP_CAPTURE_FOO", "AEP_CAPTURE_tool", "AEP_CAPTURE_", "AEP_CAPTURE_TOOLS"])(
    "%s names no category and is refused with those there are",
    (variable) => {
      const [fault = ""] = faultsOf({ [variable]: "full" })
      expect(fault).toContain(variable)
      for (const category of CATEGORIES) expect(fault).toContain(category.toUpperCase())
    },
  )

  test.each([
    ["on", true],
    ["off", false],
  ])("AEP_REDACT_PII=%s", (value, pii) => {
    expect(read({ AEP_REDACT_PII: value }).pii).toBe(pii)
  })
})

describe("secret names", () => {
  const DEPLOY = "deploy-value-77"

  test("give the values of their variables", () => {
    const env = { AEP_REDACT_NAMES: " DEPLOY_KEY, other_1 ,", DEPLOY_KEY: DEPLOY, other_1: "four" }
    expect(read(env)).toMatchObject({ secretValues: [DEPLOY, "four"], unsetNames: [] })
  })

  test("without a variable are counted by their place", () => {
    const env = { AEP_REDACT_NAMES: "GONE,DEPLOY_KEY,ALSO_GONE", DEPLOY_KEY: DEPLOY }
    expect(read(env)).toMatchObject({ secretValues: [DEPLOY], unsetNames: [1, 3] })
  })

  test.each([
    ["a value that is too short", { AEP_REDACT_NAMES: "PIN", PIN: "zqx" }, "shorter than 4"],
    ["a variable that is empty", { AEP_REDACT_NAMES: "PIN", PIN: "" }, "entry 1"],
    ["a secret in the place of a name", { AEP_REDACT_NAMES: "A_B,zqx-not/a name" }, "entry 2"],
  ])("%s is refused by its place, and nothing of it is told", (_, env, expected) => {
    const [fault = ""] = faultsOf(env)
    expect(fault).toStartWith("AEP_REDACT_NAMES")
    expect(fault).toContain(expected)
    expect(fault).not.toContain("zqx")
  })
})
