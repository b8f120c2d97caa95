/**
 * The mechanical fallback of AEP-0002 A.7: a bus name that no row knows becomes `x.{vendor}.{name}`. Names that
 * cannot be a legal AEP type are normalised, never dropped. Pure.
 */

const MAX_NAME = 120

/**
 * D-01 The reference passes the bus name through; a shipped agent publishes names with hyphens
 * (`models-dev.refreshed`, `installation.update-available`), which no envelope may carry (AEP-0001 §6). So:
 * lower case, every other character becomes `_`, empty tokens fall away, and a single token gets the token
 * `event` before it, because a vendor type needs two after the vendor.
 */
export function vendorType(namespace: string, busType: string): string {
  const tokens = busType
    .slice(0, MAX_NAME)
    .toLowerCase()
    .replace(/[^a-z0-9_.]/g, "_")
    .split(".")
    .filter((token) => token !== "")
  if (tokens.length === 0) tokens.push("unnamed")
  // `x.{vendor}.control.*` is a command to the schema and may carry no seq (AEP-0001 §5.2).
  if (tokens.length === 1 || tokens[0] === "control") tokens.unshift("event")
  return `x.${namespace}.${tokens.join(".")}`
}
