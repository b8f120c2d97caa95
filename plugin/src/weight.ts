/**
 * What a value will weigh as JSON, found by walking it: strings are measured, never read. And the two ways to
 * make it lighter: a bound for its largest strings, or, when it is not strings that weigh, a sparse copy.
 */
import { clipText, MARKER_LENGTH } from "./clip.ts"
import { isFields } from "./fields.ts"

/** Strings shorter than this are never cut by the moment bound: ids, names and paths survive it. */
export const SHORT = 256

const MOST_NODES = 20_000
const DEEPEST = 64
const SPARSE = { nodes: 400, text: 96, key: 128 } as const

/** Weight of a value in characters of JSON before escaping. */
export interface Weight {
  /** Infinite when the value has too many parts, or is nested too deeply, to be counted. */
  units: number
  /** Lengths of the strings that may be cut. */
  long: number[]
}

/** Counts a value. Costs one visit a node, at most 20000 nodes. Looks at no getter twice. */
export function weigh(value: unknown): Weight {
  const weight: Weight = { units: 0, long: [] }
  const left = visit(value, weight, MOST_NODES, 0)
  if (left <= 0) weight.units = Number.POSITIVE_INFINITY
  return weight
}

function visit(value: unknown, weight: Weight, nodes: number, depth: number): number {
  if (typeof value === "string") {
    weight.units += value.length + 3
    if (value.length > SHORT) weight.long.push(value.length)
    return nodes - 1
  }
  if (typeof value !== "object" || value === null) {
    weight.units += 8
    return nodes - 1
  }
  if (depth > DEEPEST) return 0
  if (ArrayBuffer.isView(value)) {
    const units = value.byteLength * 4
    weight.units += units
    if (units > SHORT) weight.long.push(units)
    return nodes - 1
  }
  let left = nodes - 1
  weight.units += 2
  if (Array.isArray(value)) {
    for (const item of value) {
      if (left <= 0) return left
      left = visit(item, weight, left, depth + 1)
    }
    return left
  }
  if (!isFields(value)) return left
  for (const key of Object.keys(value)) {
    if (left <= 0) return left
    weight.units += key.length + 4
    left = visit(value[key], weight, left, depth + 1)
  }
  return left
}

/**
 * The greatest length at which the long strings, each cut to it, fit into `limit` units together with the rest.
 * Undefined when they do not fit even at the shortest length that is cut.
 */
export function longestThatFits(weight: Weight, limit: number): number | undefined {
  const lengths = [...weight.long].sort((a, b) => a - b)
  const rest = weight.units - lengths.reduce((sum, length) => sum + length, 0)
  let room = limit - rest
  for (let index = 0; index < lengths.length; index += 1) {
    const share = Math.floor(room / (lengths.length - index))
    const length = lengths[index] ?? 0
    if (length > share) return share >= SHORT + MARKER_LENGTH ? share : undefined
    room -= length
  }
  return room >= 0 ? Number.POSITIVE_INFINITY : undefined
}

/**
 * A copy of a value that is sure to be small: its plain members first, level by level, until 400 parts are taken;
 * texts cut to 96 characters. Appends the path of every part left out or cut to `cuts` (at most 32).
 */
export function sparseCopy(value: unknown, cuts: string[]): unknown {
  const budget = { nodes: SPARSE.nodes }
  const noteCut = (path: string) => {
    if (cuts.length < 32 && path.length <= SPARSE.key * 2) cuts.push(path)
  }
  const copy = (item: unknown, path: string, depth: number): unknown => {
    budget.nodes -= 1
    if (typeof item === "string") {
      if (item.length > SPARSE.text) noteCut(path)
      return clipText(item, SPARSE.text)
    }
    if (typeof item !== "object" || item === null) return item
    if (budget.nodes <= 0 || depth > 8 || ArrayBuffer.isView(item)) {
      noteCut(path)
      return undefined
    }
    const into: Record<string, unknown> = {}
    const nested: string[] = []
    for (const key in item) {
      if (budget.nodes <= 0 || key.length > SPARSE.key) {
        noteCut(path)
        break
      }
      const member = Reflect.get(item, key)
      if (typeof member === "object" && member !== null) nested.push(key)
      else into[key] = copy(member, join(path, key), depth + 1)
      if (nested.length > SPARSE.nodes) break
    }
    for (const key of nested) into[key] = copy(Reflect.get(item, key), join(path, key), depth + 1)
    return Array.isArray(item) ? Object.values(into) : into
  }
  return copy(value, "", 0)
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`
}
