/**
 * What the plugin may see of its process: environment and arguments, both through `globalThis` and both possibly
 * absent. The only place that names `process`. The values are read once, when the plugin function is called.
 */
import { asFields, type Fields, isFields } from "./fields.ts"

/** Environment and arguments; empty where the host has none. */
export interface Host {
  env: Fields
  argv: readonly string[]
}

/** Reads the host. Never throws. */
export function readHost(): Host {
  const env: unknown = globalThis.process?.env
  const argv: unknown = globalThis.process?.argv
  return {
    env: asFields(env),
    argv: Array.isArray(argv) ? argv.filter((value) => typeof value === "string") : [],
  }
}

/** The directory the agent gives the plugin; empty when it gives none. */
export function directoryOf(context: unknown): string {
  const directory = isFields(context) ? context.directory : undefined
  return typeof directory === "string" ? directory : ""
}
