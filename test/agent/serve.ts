/**
 * Starts and ends `serve`: the agent as a server, which is steered by a client (`client.ts`) and prints its log.
 */
import { startChild } from "./child.ts"
import { type Client, callAgent, connect } from "./client.ts"
import type { Sandbox } from "./sandbox.ts"
import { waitFor } from "./wait.ts"

/** A first start unpacks, migrates its database and loads the plugin. */
const START_MS = 60_000

export interface Served extends Client {
  url: string
  pid: number
  /** Ends the agent; what it printed. */
  stop: () => Promise<string>
}

/** Starts the server on a port of the caller's suite and waits until it answers and the plugin is loaded. */
export async function startServe(sandbox: Sandbox, port: number): Promise<Served> {
  const child = startChild({
    command: [sandbox.binary, "serve", "--port", String(port), "--hostname", "127.0.0.1", "--print-logs"],
    cwd: sandbox.project,
    env: sandbox.env,
  })
  const url = `http://127.0.0.1:${port}`
  const output = () => `${child.stdout()}\n${child.stderr()}`.trim().slice(-4_000)
  const isUp = () => {
    if (!child.isRunning()) throw new Error(`${sandbox.agent.label} ended at its start\n${output()}`)
    return child.stdout().includes("listening on")
  }
  try {
    // Not by trying: a request that comes a moment too early is accepted and never answered (1.18.33).
    await waitFor(`start of ${sandbox.agent.label}`, START_MS, isUp, output)
    // The first request of a directory loads the plugin.
    await callAgent(url, sandbox, "GET", "/session", undefined, START_MS)
    const client = await connect(url, sandbox)
    return {
      ...client,
      url,
      pid: child.pid,
      stop: async () => {
        client.close()
        await child.stop()
        return output()
      },
    }
  } catch (error) {
    await child.stop()
    throw error
  }
}
