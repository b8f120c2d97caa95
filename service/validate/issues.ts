/**
 * Schema issues in words that quote nothing of the file: the schema's own messages repeat what they received. Used by
 * the rules that run a schema.
 */
import type * as v from "valibot"

/** Where an issue lies, as `fields[0].choices`; empty for the whole. Its names are the schema's, never the file's. */
export function pathOf(issue: v.BaseIssue<unknown>): string {
  let path = ""
  for (const { key } of issue.path ?? []) {
    path += typeof key === "number" ? `[${key}]` : `${path === "" ? "" : "."}${String(key)}`
  }
  return path
}

/** What the schema wants there. */
export function expectation(issue: v.BaseIssue<unknown>): string {
  switch (issue.type) {
    case "loose_object":
      return "is missing"
    case "check":
    case "raw_check":
    case "custom":
      // Our own sentences, fixed in the schema.
      return `is not accepted: ${issue.message}`
    case "integer":
      return "must be an integer"
    case "non_empty":
      return "must not be empty"
    case "min_value":
    case "max_value":
      return `must be ${issue.expected}`
    case "picklist":
      return `must be one of ${issue.expected}`
    case "union":
      return "must be an object or a string"
    default:
      return `must be a ${(issue.expected ?? "value of another type").toLowerCase()}`
  }
}
