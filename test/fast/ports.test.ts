/** The table of ports: every suite in the band, ten ports each, none shared. */
import { describe, expect, test } from "bun:test"
import { BAND, SUITES, type Suite, suitePort } from "../ports.ts"

const suites = Object.keys(SUITES) as Suite[]

test("no two suites share a port, and all lie in the band", () => {
  const owned = suites.flatMap((suite) => Array.from({ length: 10 }, (_, index) => suitePort(suite, index)))
  expect(new Set(owned).size).toBe(suites.length * 10)
  expect(Math.min(...owned)).toBeGreaterThanOrEqual(BAND.first)
  expect(Math.max(...owned)).toBeLessThanOrEqual(BAND.last)
  expect(BAND).toEqual({ first: 18390, last: 18489 })
})

describe("a port outside a suite's ten is refused", () => {
  test.each([-1, 10, 0.5, Number.NaN])("%p", (index) => {
    expect(() => suitePort("fast", index)).toThrow("owns ports 0 to 9")
  })
})
