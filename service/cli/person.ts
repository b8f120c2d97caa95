/**
 * Commands come from people: what an agent runs may find this home and its token, but does not command with them. No wall (a
 * hostile program of the same user can unset a variable), but no agent answers its own prompt by the way (design.md §3).
 */

/** Set in the environment of whatever OpenCode and its forks run. */
const MARKS = ["OPENCODE", "AGENT"]

/** Why the command does not run here, and what to do; undefined where it may. */
export function refusalInside(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (MARKS.every((name) => env[name] === undefined)) return undefined
  return `${command} does not run inside an agent (OPENCODE or AGENT is set); call it from a terminal of your own`
}
