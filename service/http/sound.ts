/**
 * The quick way past the schemas of `moments-body.ts`: plain checks for what a plugin of ours sends, some six times
 * cheaper. It only says yes; whatever it does not know is left to the schemas, which also name the fault. What
 * passes here passes there: `test/fast/doors-sound.test.ts` holds the two together.
 */

/** Longest vendor id, characters. */
export const MAX_ID = 512
/** Last millisecond of the year 9999: no envelope takes a later time, and a refused event would leave a hole. */
export const MAX_TIME = 253_402_300_799_999
/** Longest path of an instance, characters. */
export const MAX_PATH = 4096
/** Longest version text, characters. */
export const MAX_VERSION = 128
/** What an instance may be called. */
export const INSTANCE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** How an agent may have been started. */
export const MODES = ["run", "tui", "serve", "unknown"] as const

/** What a plugin may report of a decision. */
export const DELIVERY_STATUSES = ["done", "stale", "gone", "failed"] as const
/** Longest id of a command, characters. */
export const MAX_COMMAND = 1024
/** What the service calls a command by: what it wants, and a digest of who sent which. */
export const COMMAND_MARK = /^[a-z]{1,16}:[0-9a-f]{1,64}$/

/** Whether this is a well-formed moment beyond doubt. */
export function isSoundMoment(value: unknown): boolean {
  if (!isObject(value) || !isIndex(value.n) || !isTime(value.at) || !isCut(value.cut)) return false
  switch (value.kind) {
    case "bus":
      return isSoundEvent(value.event) && isTag(value.by)
    case "tool.before":
      return isSoundCall(value.input) && isObject(value.output)
    case "tool.after":
      return isSoundCall(value.input) && value.output !== undefined
    case "permission.ask":
      return isObject(value.permission) && (value.held === undefined || typeof value.held === "boolean")
    case "chat.message":
      return isObject(value.input) && isObject(value.output)
    case "delivery":
      return (
        typeof value.request === "string" &&
        INSTANCE_ID.test(value.request) &&
        DELIVERY_STATUSES.some((status) => status === value.status) &&
        (value.session === undefined || isId(value.session)) &&
        (value.ask === undefined || isId(value.ask)) &&
        isTag(value.by)
      )
    case "dispose":
      return true
    default:
      return false
  }
}

/** Whether this is a well-formed batch of one of `agents`, its moments not looked at. */
export function isSoundShell(value: unknown, agents: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(value) || !isIndex(value.first) || !Array.isArray(value.moments)) return false
  if (value.dropped !== undefined || !isObject(value.instance)) return false
  const { id, agent, directory, worktree, version, mode, plugin, answers } = value.instance
  return (
    typeof id === "string" &&
    INSTANCE_ID.test(id) &&
    typeof agent === "string" &&
    Object.hasOwn(agents, agent) &&
    isText(directory, MAX_PATH) &&
    (worktree === undefined || isText(worktree, MAX_PATH)) &&
    (version === undefined || isText(version, MAX_VERSION)) &&
    MODES.some((known) => known === mode) &&
    isText(plugin, MAX_VERSION) &&
    (answers === undefined || typeof answers === "boolean")
  )
}

type Members = Record<string, unknown>

function isSoundEvent(value: unknown): boolean {
  return (
    isObject(value) &&
    (value.id === undefined || typeof value.id === "string") &&
    isId(value.type) &&
    isObject(value.properties)
  )
}

function isSoundCall(value: unknown): boolean {
  return isObject(value) && isId(value.tool) && isId(value.sessionID) && isId(value.callID)
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isTag(value: unknown): boolean {
  if (value === undefined) return true
  if (!isObject(value)) return false
  const { command, mark } = value
  return isText(command, MAX_COMMAND) && command !== "" && typeof mark === "string" && COMMAND_MARK.test(mark)
}

function isIndex(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isTime(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= MAX_TIME
}

function isCut(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((path) => typeof path === "string"))
}

function isText(value: unknown, longest: number): boolean {
  return typeof value === "string" && value.length <= longest
}

function isId(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_ID
}
