/**
 * Checks the body of `POST /opencode/moments`: the shell as a whole, each moment for itself, so that one malformed
 * moment costs only itself. Errors name the field, never its value: values are content.
 */
import * as v from "valibot"
import type { Instance, Moment, Rejection } from "../../shared/moments.ts"
import { isShallow, isTooDeep, MAX_LEVELS } from "../hub/depth.ts"
import { sessionOf } from "../map/moment.ts"
import { PROFILES } from "../map/profile.ts"
import {
  COMMAND_MARK,
  DELIVERY_STATUSES,
  INSTANCE_ID,
  isSoundMoment,
  isSoundShell,
  MAX_COMMAND,
  MAX_ID,
  MAX_PATH,
  MAX_TIME,
  MAX_VERSION,
  MODES,
} from "./sound.ts"

const identifier = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_ID))
const index = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const object = v.record(v.string(), v.unknown())

const instanceSchema = v.object({
  id: v.pipe(v.string(), v.regex(INSTANCE_ID, "1 to 64 characters of A-Z a-z 0-9 . _ -")),
  agent: v.picklist(Object.keys(PROFILES)),
  directory: v.pipe(v.string(), v.maxLength(MAX_PATH)),
  worktree: v.optional(v.pipe(v.string(), v.maxLength(MAX_PATH))),
  version: v.optional(v.pipe(v.string(), v.maxLength(MAX_VERSION))),
  mode: v.picklist(MODES),
  plugin: v.pipe(v.string(), v.maxLength(MAX_VERSION)),
  answers: v.optional(v.boolean()),
})

/** A batch as the door takes it, its moments not looked at; exported for the same test. */
export const shellSchema = v.object({
  instance: instanceSchema,
  first: index,
  dropped: v.optional(v.record(v.pipe(v.string(), v.maxLength(MAX_ID)), index)),
  moments: v.array(v.unknown()),
})

const toolInput = v.object({
  tool: identifier,
  sessionID: identifier,
  callID: identifier,
  args: v.optional(v.unknown()),
})

const by = v.optional(
  v.object({
    command: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_COMMAND)),
    mark: v.pipe(v.string(), v.regex(COMMAND_MARK, "a word, a colon and hex digits")),
  }),
)

const clock = {
  n: index,
  at: v.pipe(v.number(), v.minValue(0), v.maxValue(MAX_TIME)),
  cut: v.optional(v.array(v.string())),
}

/** A moment as the door takes it; exported for the test that holds the quick checks against it. */
export const momentSchema = v.variant("kind", [
  v.object({
    ...clock,
    kind: v.literal("bus"),
    event: v.object({ id: v.optional(v.string()), type: identifier, properties: v.optional(object, {}) }),
    by,
  }),
  v.object({
    ...clock,
    kind: v.literal("tool.before"),
    input: toolInput,
    output: v.object({ args: v.optional(v.unknown()) }),
  }),
  v.object({ ...clock, kind: v.literal("tool.after"), input: toolInput, output: v.unknown() }),
  v.object({
    ...clock,
    kind: v.literal("permission.ask"),
    permission: object,
    held: v.optional(v.boolean()),
  }),
  v.object({ ...clock, kind: v.literal("chat.message"), input: object, output: object }),
  v.object({
    ...clock,
    kind: v.literal("delivery"),
    request: v.pipe(v.string(), v.regex(INSTANCE_ID, "1 to 64 characters of A-Z a-z 0-9 . _ -")),
    status: v.picklist(DELIVERY_STATUSES),
    session: v.optional(identifier),
    ask: v.optional(identifier),
    by,
  }),
  v.object({ ...clock, kind: v.literal("dispose") }),
])

/** A batch whose shell is sound; its moments still have to be judged one by one. */
export interface Shell {
  /** The body was too short to nest beyond the bound, so nobody has to look. */
  isShallow: boolean
  instance: Instance
  first: number
  dropped: Record<string, number> | undefined
  moments: readonly unknown[]
}

/** The shell of a batch whose text had `length` characters, or what is wrong with it. */
export function readShell(
  body: unknown,
  length: number,
  maxBatch: number,
): { shell: Shell } | { fault: string } {
  const result = isSoundShell(body, PROFILES)
    ? { success: true as const, output: body as v.InferOutput<typeof shellSchema> }
    : v.safeParse(shellSchema, body)
  if (!result.success) return { fault: faultOf(result.issues[0]) }
  const { instance, first, dropped, moments } = result.output
  if (moments.length > maxBatch) {
    return { fault: `moments: more than ${maxBatch} in one request; send them in several` }
  }
  return { shell: { isShallow: isShallow(length), instance: instance as Instance, first, dropped, moments } }
}

/** One moment, or why it is refused. `fallback` is the index to report when it has none of its own; `skipsDepth` spares
 *  the walk through a moment that cannot be too deep. */
export function readMoment(
  value: unknown,
  fallback: number,
  skipsDepth = false,
): { moment: Moment } | { rejection: Rejection } {
  const result = isSoundMoment(value)
    ? { success: true as const, output: value as v.InferOutput<typeof momentSchema> }
    : v.safeParse(momentSchema, value)
  if (result.success && !skipsDepth && isTooDeep(value)) {
    return { rejection: { n: result.output.n, reason: `body: expected at most ${MAX_LEVELS} levels` } }
  }
  if (result.success) {
    const moment = result.output as Moment
    // Sessions name files and stand in every line: one bound for all the places a session's id is read from.
    return (sessionOf(moment)?.length ?? 0) <= MAX_ID
      ? { moment }
      : { rejection: { n: moment.n, reason: `session id: expected at most ${MAX_ID} characters` } }
  }
  const n = v.is(v.object({ n: index }), value) ? value.n : fallback
  return { rejection: { n, reason: faultOf(result.issues[0]) } }
}

/** `field: what is expected`; what was received could be content and stays out. */
function faultOf(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue)
  return `${path ?? "body"}: expected ${issue.expected ?? issue.message}`
}
