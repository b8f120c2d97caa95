/**
 * The envelope of one line (AEP-0001 §5), by the schema every part of this project uses, which also checks that `time`
 * and `source` are what they claim. Extensions are judged apart, so that a bad one does not hide the other faults.
 */
import * as v from "valibot"
import {
  AEP_VERSION,
  EXTENSION_NAME,
  envelopeSchema,
  isCoreAttribute,
  isExtensionValue,
} from "../../shared/aep.ts"
import type { Code } from "./codes.ts"
import type { Tell } from "./event.ts"
import { expectation, pathOf } from "./issues.ts"

/** Says each fault of an envelope. The names of extensions are the file's own and are not repeated. */
export function judgeEnvelope(raw: Record<string, unknown>, tell: Tell): void {
  const core: Record<string, unknown> = {}
  for (const name of Object.keys(raw)) {
    if (isCoreAttribute(name)) core[name] = raw[name]
    else if (!EXTENSION_NAME.test(name)) {
      tell("envelope.extension", "the name of an attribute is neither the protocol's nor [a-z0-9]{1,20}")
    } else if (!isExtensionValue(raw[name])) {
      tell("envelope.extension", "an extension attribute is no string, integer or boolean")
    }
  }
  const { issues } = v.safeParse(envelopeSchema, core)
  for (const issue of issues ?? []) {
    const field = pathOf(issue)
    if (field === "") tell("envelope.placement", lowerFirst(issue.message))
    else tell(codeOf(field), saying(field, issue), field)
  }
}

function codeOf(field: string): Code {
  if (field === "aep") return "envelope.version"
  return field === "type" ? "envelope.type" : "envelope.attribute"
}

/** Patterns say little to people; the four attributes that have one get a sentence. */
const PATTERNS: Readonly<Record<string, string>> = {
  aep: `must be "${AEP_VERSION}"`,
  type: "must be a {category}.{token} of the closed set of categories, or x.{vendor}.{category}.{rest}, in lower case",
  source: "must be a URI with a scheme",
  traceparent: "must be a W3C traceparent of 2-32-16-2 hex digits",
}

function saying(field: string, issue: v.BaseIssue<unknown>): string {
  const isMissing = issue.type === "loose_object"
  const pattern = Object.hasOwn(PATTERNS, field) ? PATTERNS[field] : undefined
  return `${field} ${isMissing || pattern === undefined ? expectation(issue) : pattern}`
}

const lowerFirst = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1)
