/** The two endpoints that are measured, each in a fresh process: the real service, and the bare publish floor. */
import { type Server, startMeasured } from "../server.ts"

/** Opens both endpoints; the floor does not look. */
export const BENCH_TOKEN = "bench-token-0123456789abcdef"

/** What is measured. */
export type EndpointName = "service" | "floor"

/** An endpoint that listens. */
export interface Endpoint extends Server {
  name: EndpointName
}

/** Starts an endpoint and waits until it listens. */
export async function startEndpoint(name: EndpointName, port: number): Promise<Endpoint> {
  const bare = name === "floor" ? { bare: "bench/fanout/floor.ts" } : {}
  const server = await startMeasured({ name, port, ...bare, env: { AEP_TOKEN: BENCH_TOKEN } })
  return { ...server, name }
}
