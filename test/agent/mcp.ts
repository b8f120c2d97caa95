/**
 * A Model Context Protocol server of one tool, `echo`, over standard input and output: as much of the protocol as an
 * agent needs to list and call it. Started by the agent under test, from `setup.ts`.
 */
import { createInterface } from "node:readline"

interface Request {
  id?: number | string
  method: string
  params?: { protocolVersion?: string; arguments?: { text?: unknown } }
}

const ECHO = {
  name: "echo",
  description: "Says what it is told.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
}

function answer({ method, params }: Request): unknown {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion ?? "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "tiny", version: "1.0.0" },
      }
    case "tools/list":
      return { tools: [ECHO] }
    case "tools/call":
      return { content: [{ type: "text", text: String(params?.arguments?.text) }] }
    default:
      return {}
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request
  // A notification wants no answer.
  if (request.id === undefined) continue
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: request.id, result: answer(request) })}\n`)
}
