/**
 * Type and payload of one line: is the type registered (AEP-0002 §3, §4), and does its payload fit the schema
 * (AEP-0002 §5). Payloads are optional and open; vendor types have no schema here.
 */
import * as v from "valibot"
import { payloadSchemaOf, registry, TYPE } from "../../shared/aep.ts"
import type { Rule } from "./event.ts"
import { expectation, pathOf } from "./issues.ts"

/** Core types must be registered; reserved ones are nobody's to emit yet. */
export const judgeType: Rule = ({ type }, tell) => {
  if (type.startsWith("x.") || !TYPE.test(type)) return
  const known = registry.get(type)
  if (known === undefined) {
    tell("type.unregistered", "the type is not registered; types of your own start with x.{vendor}.", "type")
  } else if (known.status === "reserved") {
    tell("type.reserved", "the type is reserved and has no payload schema yet", "type")
  }
}

/** The payload against its type's schema, where there are both. */
export const judgePayload: Rule = ({ type, data }, tell) => {
  const schema = payloadSchemaOf(type)
  if (schema === undefined || data === undefined) return
  for (const issue of v.safeParse(schema, data).issues ?? []) {
    const field = `data.${pathOf(issue)}`
    tell("payload.schema", `${field} ${expectation(issue)}`, field)
  }
}
