/** The way from the session that a person knows down to the one that asks. */
import { expect, test } from "bun:test"
import { lineageOf } from "../../service/attention/lineage.ts"

const tree: Readonly<Record<string, string>> = {
  child: "root",
  grandchild: "child",
  a: "b",
  b: "a",
  self: "self",
  ...Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`d${at + 1}`, `d${at}`])),
}
const parentOf = (session: string): string | undefined => tree[session]

test.each([
  ["root", ["root"]],
  ["child", ["root", "child"]],
  ["grandchild", ["root", "child", "grandchild"]],
  ["unknown", ["unknown"]],
  ["self", ["self"]],
  ["a", ["b", "a"]],
])("of %s is %j", (session, lineage) => {
  expect(lineageOf(session, parentOf)).toEqual(lineage)
})

test("is bounded, and the nearest are named", () => {
  const lineage = lineageOf("d30", parentOf)
  expect(lineage).toHaveLength(16)
  expect(lineage.slice(-2)).toEqual(["d29", "d30"])
})
