/**
 * A client's hello judged (AEP-0003 §4): the version, the role, and who it says to be. Capabilities never decide over anything
 * but what the roster shows and what commands are accepted; unknown ones are passed over. Pure.
 */
import { AEP_VERSION } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"

/** What a connection is here for. */
export type Role = "emitter" | "consumer" | "both"

/** A hello that was understood; blocks verbatim. */
export interface Hello {
  role: Role
  agent: string | undefined
  instance: string | undefined
  control: Record<string, unknown> | undefined
  emits: unknown
}

/** The verdict; a refused hello ends the connection. */
export type ReadHello =
  | { kind: "hello"; hello: Hello }
  | { kind: "refused"; code: "version-unsupported" | "invalid-hello"; detail: string }

const ROLES: readonly Role[] = ["emitter", "consumer", "both"]

/** Characters of what the roster repeats for each claim: the names and the two blocks. */
const MAX_RECORD = 16_384

/** Judges the members of a hello. A consumer needs none but `versions`; whoever emits says as which agent. */
export function readHello(members: Readonly<Record<string, unknown>>): ReadHello {
  const { versions, role = "consumer", identity = {}, capabilities = {} } = members
  if (!Array.isArray(versions) || !versions.includes(AEP_VERSION)) {
    return refused("version-unsupported", `versions: this endpoint speaks ${AEP_VERSION}`)
  }
  const known = ROLES.find((each) => each === role)
  if (known === undefined) return refused("invalid-hello", `role: give one of ${ROLES.join(", ")}`)
  if (!isObject(identity)) return refused("invalid-hello", "identity: give {agent, instance}")
  const agent = nameOf(identity.agent)
  if (known !== "consumer" && agent === undefined) {
    return refused("invalid-hello", "identity.agent: whoever emits names its agent")
  }
  const { control, emits } = isObject(capabilities) ? capabilities : {}
  const hello: Hello = {
    role: known,
    agent,
    instance: nameOf(identity.instance),
    control: isObject(control) ? control : undefined,
    emits,
  }
  if (JSON.stringify(hello).length > MAX_RECORD) {
    return refused(
      "invalid-hello",
      `identity, capabilities.control, capabilities.emits: at most ${MAX_RECORD} characters together`,
    )
  }
  return { kind: "hello", hello }
}

function nameOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

function refused(code: "version-unsupported" | "invalid-hello", detail: string): ReadHello {
  return { kind: "refused", code, detail }
}
