/**
 * Rule (b) of the redaction pipeline (AEP-0003 §9.4): values the operator named as secret, wherever they stand, also in
 * the forms that JSON and addresses give them. Pure; which values these are is configuration.
 */
import type { FindSpans } from "./spans.ts"

/** A shorter value would be cut out of ordinary words. */
export const MIN_SECRET_VALUE = 4

/** The rule for these values; shorter ones than `MIN_SECRET_VALUE` are left alone. */
export function findConfigured(values: readonly string[]): FindSpans {
  const forms = new Set(values.filter((value) => value.length >= MIN_SECRET_VALUE).flatMap(formsOf))
  return (text, add) => {
    for (const form of forms) {
      for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length)) {
        add(at, at + form.length)
      }
    }
  }
}

function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const twice = JSON.stringify(json).slice(1, -1)
  return [value, json, twice, encodeURIComponent(value.toWellFormed()), value.trim()].filter(
    (form) => form.length >= MIN_SECRET_VALUE,
  )
}
