/**
 * One speaker a directory, however often this file is loaded: from the project and the global folder, twice by a
 * TUI with `--port`, again while an instance shuts down. The copies meet under a global symbol and see the same
 * objects, so the first to see an object speaks for it.
 */
import type { Core } from "./core.ts"

/** What the copies share for one directory. */
export interface Slot {
  /** The core that speaks; absent before the first moment and after its end. */
  core: Core | undefined
  /** Which copy saw an object first. */
  owners: WeakMap<object, object>
}

const KEY = Symbol.for("opencode-aep/speakers/1")

/** The slot of a directory, made when there is none. Two directories in one process share nothing. */
export function slotOf(directory: string): Slot {
  const found: unknown = Reflect.get(globalThis, KEY)
  const slots: Map<string, Slot> = found instanceof Map ? found : new Map()
  if (found !== slots) Reflect.defineProperty(globalThis, KEY, { value: slots })
  let slot = slots.get(directory)
  if (slot === undefined) {
    slot = { core: undefined, owners: new WeakMap() }
    slots.set(directory, slot)
  }
  return slot
}

/**
 * True when `speaker` is the first to see `subject`, and ever after: an object that one copy sees twice is two
 * moments (OpenCode 1.0 passes an ask's object to its hook and again as the properties of a bus event).
 */
export function claim(slot: Slot, speaker: object, subject: object): boolean {
  const owner = slot.owners.get(subject)
  if (owner === undefined) slot.owners.set(subject, speaker)
  return owner === undefined || owner === speaker
}
