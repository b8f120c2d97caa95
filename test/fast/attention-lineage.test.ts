/** The way from the session that a person knows down to the one that asks. */
import { expect, test } from "bun:test"
import { lineageOf } from "../../service/attention/lineage.ts"

const tree: Readonly<Record<string, string>> = {
  child: "root",
  grandchild: "child",
  a: "b",
  b: "a",
  self: "self",
  ...{ one: "two", two: "three", three: "one", below: "one", constructor: "root" },
  ...Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`d${at + 1}`, `d${at}`])),
}
const parentOf = (session: string): string | undefined =>
  Object.hasOwn(tree, session) ? tree[session] : undefined

test.each([
  ["root", ["root"]],
  ["child", ["root", "child"]],
  ["grandchild", ["root", "child", "grandchild"]],
  ["unknown", ["unknown"]],
  ["self", ["self"]],
  ["a", ["b", "a"]],
  ["one", ["three", "two", "one"]],
  ["below", ["three", "two", "one", "below"]],
  ["constructor", ["root", "constructor"]],
  ["toString", ["toString"]],
  ["", [""]],
])("of %s is %j", (session, lineage) => {
  expect(lineageOf(session, parentOf)).toEqual(lineage)
})

test("is bounded, and the nearest are named", () => {
  const lineage = lineageOf("d30", parentOf)
  expect(lineage).toHaveLength(16)
  expect(lineage.slice(-2)).toEqual(["d29", "d30"])
})

test("asks for no more parents than it names, however deep or round it goes", () => {
  for (const session of ["d30", "one", "self"]) {
    let asked = 0
    const lineage = lineageOf(session, (of) => {
      asked += 1
      return parentOf(of)
    })
    expect(asked).toBeLessThanOrEqual(lineage.length)
    expect(new Set(lineage).size).toBe(lineage.length)
  }
})
