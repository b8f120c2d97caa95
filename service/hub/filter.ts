/**
 * attr-match (AEP-0003 §6.1, §6.2): which events a subscription gets, by their routing attributes. A filter is judged whole
 * and compiled once; what is not understood is refused, never passed over, since a reader that gets everything instead of
 * little may not be one who may have it. Matches the event as stored, before any down-leveling. Pure.
 */
import {
  type AepEvent,
  CORE_ATTRIBUTES,
  DEFAULT_CAPTURE,
  DEFAULT_SEVERITY,
  EXTENSION_NAME,
  isAtLeast,
  isCoreAttribute,
  SEVERITIES,
  type Severity,
} from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"

/** Whether an event belongs to the subscription. */
export type Filter = (event: AepEvent) => boolean

/** One member of a filter, compiled. */
type Test = Filter

const UNFILTERABLE: ReadonlySet<string> = new Set(["aep", "time", "seq", "traceparent", "data"])
const FILTERABLE = CORE_ATTRIBUTES.filter((name) => !UNFILTERABLE.has(name))
const PATTERN = /^(?:[a-z0-9_-]+\.)+\*$/

/** What an absent attribute counts as; others match nothing (AEP-0003 §6.2). */
const DEFAULTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["severity", DEFAULT_SEVERITY],
  ["capture", DEFAULT_CAPTURE],
  ["epoch", 0],
])

/** Compiles a filter, or says which member cannot be used and what is taken. Absent means everything. */
export function readFilter(value: unknown): { filter: Filter } | { fault: string } {
  if (value === undefined) return { filter: everything }
  if (!isObject(value)) return { fault: "filter: give an object of attribute and value" }
  const tests: Test[] = []
  for (const name of Object.keys(value)) {
    const read = readMember(name, value[name])
    if ("fault" in read) return read
    tests.push(read.test)
  }
  return { filter: all(tests) }
}

const everything: Filter = () => true

function all(tests: readonly Test[]): Filter {
  const [first, second] = tests
  if (first === undefined) return everything
  if (second === undefined) return first
  return (event) => {
    for (const test of tests) if (!test(event)) return false
    return true
  }
}

type Member = { test: Test } | { fault: string }

function readMember(name: string, predicate: unknown): Member {
  if (isCoreAttribute(name) ? UNFILTERABLE.has(name) : !EXTENSION_NAME.test(name)) {
    return {
      fault: `filter: a member is no attribute to filter by; take ${FILTERABLE.join(", ")} or an extension's name`,
    }
  }
  if (name === "severity" && isObject(predicate)) return readRange(predicate)
  const values = Array.isArray(predicate) ? predicate : [predicate]
  if (values.length === 0) return { fault: `filter.${name}: an empty list matches nothing; leave it out` }
  const exact = new Set<unknown>()
  const prefixes = new Set<string>()
  for (const each of values) {
    if (!isScalar(each))
      return { fault: `filter.${name}: give a text, an integer, a boolean, or a list of these` }
    if (typeof each !== "string" || !each.includes("*")) exact.add(each)
    else if (name === "type" && PATTERN.test(each)) prefixes.add(each.slice(0, -1))
    else return { fault: `filter.${name}: * stands only at the end of a type, like tool.*` }
  }
  return { test: anyOf(name, exact, prefixes) }
}

function anyOf(name: string, exact: ReadonlySet<unknown>, prefixes: ReadonlySet<string>): Test {
  const missing = DEFAULTS.get(name)
  // What an object inherits, such as `constructor`, is no scalar and so equals nothing that can be asked for.
  const read = (event: AepEvent): unknown => event[name] ?? missing
  const [value] = exact
  const [prefix] = prefixes
  // Most filters ask for one thing, and each is asked once an event and reader.
  if (exact.size === 1 && prefix === undefined) return (event) => read(event) === value
  if (exact.size === 0 && prefixes.size === 1 && prefix !== undefined)
    return ({ type }) => type.startsWith(prefix)
  return (event) => {
    const value = read(event)
    return exact.has(value) || (prefixes.size > 0 && startsWithAny(event.type, prefixes))
  }
}

/** Looks up each beginning of a type that ends in a dot: what it costs is a matter of the type, not of how many there are. */
function startsWithAny(type: string, prefixes: ReadonlySet<string>): boolean {
  for (let dot = type.indexOf("."); dot !== -1; dot = type.indexOf(".", dot + 1)) {
    if (prefixes.has(type.slice(0, dot + 1))) return true
  }
  return false
}

function readRange(range: Record<string, unknown>): Member {
  const { gte, lte, ...others } = range
  const isEmpty = gte === undefined && lte === undefined
  if (isEmpty || Object.keys(others).length > 0 || !isBound(gte) || !isBound(lte)) {
    return { fault: `filter.severity: give {gte, lte} with ${SEVERITIES.join(", ")}, or one of these` }
  }
  return {
    test: ({ severity = DEFAULT_SEVERITY }) =>
      (gte === undefined || isAtLeast(severity, gte)) && (lte === undefined || isAtLeast(lte, severity)),
  }
}

function isBound(value: unknown): value is Severity | undefined {
  return value === undefined || SEVERITIES.some((severity) => severity === value)
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isInteger(value)
}
