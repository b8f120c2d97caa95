/**
 * The part of the configuration that says how much may be told: ceilings (AEP-0003 §9.1) and what redaction hides (§9.4).
 * Reads nothing but its arguments. A value that is secret never stands in an error, and neither does an entry of the
 * list of names, since somebody may have put the secret itself there.
 */

import { CAPTURES, type Capture } from "../shared/aep.ts"
import { CATEGORIES, type Category, type Ceilings, ceilingsFrom } from "./capture/ceiling.ts"
import { MIN_SECRET_VALUE } from "./capture/configured.ts"

/** How much may be told, and what is hidden. */
export interface CaptureConfig {
  ceilings: Ceilings
  /** Whether personal data is hidden at `redacted`. */
  pii: boolean
  /** Values of the variables listed in `AEP_REDACT_NAMES`. */
  secretValues: readonly string[]
  /** Which names of that list, counted from 1, have no value: nothing is hidden for them. */
  unsetNames: readonly number[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads `AEP_CAPTURE`, `AEP_CAPTURE_<CATEGORY>`, `AEP_REDACT_NAMES` and `AEP_REDACT_PII`. */
export function readCapture(env: Environment, faults: string[]): CaptureConfig {
  const single: Partial<Record<Category, Capture>> = {}
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || value === undefined || value === "") continue
    const category = CATEGORIES.find((known) => known.toUpperCase() === variable.slice(PREFIX.length))
    if (category === undefined) {
      faults.push(`${variable} names no category; give ${PREFIX} and one of ${CATEGORY_NAMES}`)
      continue
    }
    const level = levelOf(variable, value, faults)
    if (level !== undefined) single[category] = level
  }
  const general = env.AEP_CAPTURE
  const ceilings = ceilingsFrom(
    general === undefined || general === "" ? undefined : levelOf("AEP_CAPTURE", general, faults),
    single,
  )
  return { ceilings, pii: piiOf(env.AEP_REDACT_PII, faults), ...secretsOf(env, faults) }
}

const PREFIX = "AEP_CAPTURE_"
const CATEGORY_NAMES = CATEGORIES.map((category) => category.toUpperCase()).join(", ")

function levelOf(variable: string, value: string, faults: string[]): Capture | undefined {
  const level = CAPTURES.find((known) => known === value)
  if (level === undefined) faults.push(`${variable} is \`${value}\`; give one of ${CAPTURES.join(", ")}`)
  return level
}

function piiOf(value: string | undefined, faults: string[]): boolean {
  if (value === undefined || value === "" || value === "on") return true
  if (value !== "off") faults.push(`AEP_REDACT_PII is \`${value}\`; give on or off`)
  return false
}

function secretsOf(env: Environment, faults: string[]): Pick<CaptureConfig, "secretValues" | "unsetNames"> {
  const secretValues: string[] = []
  const unsetNames: number[] = []
  const names = (env.AEP_REDACT_NAMES ?? "").split(",").map((name) => name.trim())
  names.forEach((name, index) => {
    if (name === "") return
    const value = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? env[name] : ""
    if (value === undefined) unsetNames.push(index + 1)
    else if (value.length >= MIN_SECRET_VALUE) secretValues.push(value)
    else faults.push(`AEP_REDACT_NAMES: ${UNUSABLE[value === "" ? "name" : "value"](index + 1)}`)
  })
  return { secretValues, unsetNames }
}

const UNUSABLE = {
  name: (at: number) =>
    `entry ${at} is no name of a variable that has a value; give names, not values, separated by commas`,
  value: (at: number) =>
    `the value of entry ${at} is shorter than ${MIN_SECRET_VALUE} characters and would be cut out of ordinary words`,
}
