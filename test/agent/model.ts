/**
 * The scripted model: an OpenAI-compatible server on loopback whose answers the last user message decides
 * (`script.ts`). It is also all the outside world the agent gets: every other path, such as a package registry's,
 * answers 404 at once, so that nothing waits for a network.
 */
import { type ChatMessage, findScript, parseScript, type Step } from "./script.ts"
import { brokenStream, chunkStream, hangingStream } from "./stream.ts"

export interface Model {
  /** Base of the chat API, to be put into the agent's provider. */
  url: string
  /** A package registry that knows no package. */
  registry: string
  /** Chat requests so far, titles and summaries left out. */
  requests: () => number
  stop: () => Promise<void>
}

interface ChatRequest {
  messages: ChatMessage[]
  tools?: unknown[]
}

/** Starts the model on a port of the caller's suite. Throws when the port is taken. */
export function startModel(port: number): Model {
  /** How often the error step of a script has failed, by script. */
  const failures = new Map<string, number>()
  let requests = 0
  let calls = 0
  const newCallId = () => `call_${String(++calls).padStart(4, "0")}`

  const nextStep = (request: ChatRequest): Step => {
    const place = findScript(request.messages)
    if (place === undefined) return say("ok.")
    const steps = parseScript(place.script)
    // Errors leave no answer behind, so the spent ones are counted here and not in the conversation.
    const spent = steps.filter((step) => step.kind === "error" && isSpent(place.script, step.times))
    const left = steps.filter((step) => !spent.includes(step))
    const step = left[place.answered]
    if (step === undefined) return say("done.")
    if (step.kind === "error") failures.set(place.script, (failures.get(place.script) ?? 0) + 1)
    return step
  }
  const isSpent = (script: string, times: number) => (failures.get(script) ?? 0) >= times

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    // A hanging answer is part of the language.
    idleTimeout: 0,
    fetch: async (request) => {
      if (!new URL(request.url).pathname.endsWith("/chat/completions")) {
        return Response.json({ error: "not found" }, { status: 404 })
      }
      const asked = (await request.json()) as ChatRequest
      // Without tools it is a title or a summary that is wanted.
      if (asked.tools === undefined || asked.tools.length === 0) return answer(say("A title"), newCallId)
      requests += 1
      return answer(nextStep(asked), newCallId)
    },
  })
  const base = `http://127.0.0.1:${server.port}`
  return {
    url: `${base}/v1`,
    registry: `${base}/registry/`,
    requests: () => requests,
    stop: () => server.stop(true),
  }
}

const say = (text: string): Step => ({ kind: "say", text, deltas: 1, finish: "stop" })

function answer(step: Step, newCallId: () => string): Response {
  const headers = { "content-type": "text/event-stream" }
  switch (step.kind) {
    case "error":
      return Response.json(
        { error: { message: `scripted ${step.status}`, type: "scripted", code: step.status } },
        { status: step.status, headers: step.headers },
      )
    case "hang":
      return new Response(hangingStream(), { headers })
    case "cut":
      return new Response(brokenStream(step.text), { headers })
    default:
      return new Response(chunkStream(step, newCallId), { headers })
  }
}
