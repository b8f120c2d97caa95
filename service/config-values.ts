/**
 * How single values of the configuration are read: one that cannot be used adds a fault naming where it came from,
 * what it was and what is accepted, and something usable is returned so that the other faults are found as well. For
 * `config.ts` and its parts.
 */

/** A value with the name of the flag or variable it came from. */
export interface Named {
  name: string
  value: string
}

/** Finds what was given for a variable; an empty variable is an absent one. */
export type PickVariable = (variable: string) => Named | undefined

/** A whole number within bounds, both included. */
export function wholeNumber(
  given: Named | undefined,
  fallback: number,
  min: number,
  max: number,
  faults: string[],
): number {
  if (given === undefined) return fallback
  const value = /^\d+$/.test(given.value) ? Number(given.value) : Number.NaN
  if (value >= min && value <= max) return value
  faults.push(`${given.name} is \`${given.value}\`; give a whole number from ${min} to ${max}`)
  return fallback
}

/** The host part of the address people open, as a list of at most one. */
export function publicHosts(given: Named | undefined, faults: string[]): string[] {
  if (given === undefined) return []
  const url = URL.parse(given.value)
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return [url.host]
  faults.push(
    `${given.name} is \`${given.value}\`; give the address people open, like https://aep.example.org`,
  )
  return []
}

/** A list of origins, separated by commas. */
export function origins(given: Named | undefined, faults: string[]): string[] {
  if (given === undefined) return []
  return given.value.split(",").flatMap((part) => {
    const value = part.trim()
    const url = URL.parse(value)
    if (url !== null && url.origin === value) return [value]
    faults.push(
      `${given.name} has \`${value}\`; give origins like https://aep.example.org, separated by commas`,
    )
    return []
  })
}

/** A secret of at least `minLength` characters; its value never stands in an error. */
export function secret(given: Named | undefined, minLength: number, faults: string[]): string | undefined {
  if (given === undefined) return undefined
  if (given.value.length < minLength || /\s/.test(given.value)) {
    faults.push(`${given.name} is too weak: give at least ${minLength} characters without white space`)
  }
  return given.value
}
