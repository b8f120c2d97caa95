/** What it means that a service did not open a stream, and what to do: for every command that reads one. Pure. */
import type { ServiceAddress } from "./connection.ts"
import type { Failure } from "./tail.ts"
import { visible } from "./visible.ts"

/** One line; `command` is the one that was called. */
export function explainFailure({ base, token }: ServiceAddress, failure: Failure, command: string): string {
  const address = visible(base)
  if (failure.kind === "unreachable") {
    return `no service answers at ${address} (${failure.code}); next: start it with bun run service, or give --url or --home`
  }
  const { status, error, detail } = failure
  const words = detail === "" ? visible(error) : visible(detail)
  const told = words === "" ? `status ${status}` : words
  if (status === 401) {
    const what = token === undefined ? "takes a token, and none was found" : "takes another token"
    return `the service at ${address} ${what}; next: set AEP_TOKEN, or give its folder with --home`
  }
  if (status === 400) return `the service refused the call: ${told}; next: opencode-aep help ${command}`
  if (status === 503) return `the service at ${address} has no room: ${told}; next: the same call in a moment`
  return `${address} did not open a stream (${told}); next: check --url, it takes the address of the service`
}
