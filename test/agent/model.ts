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
  /** Base of a chat API where nobody listens. */
  closedUrl: string
  /** A port for an agent that wants one beside the server's. */
  sparePort: number
  /** A page of the web, as plain text. */
  page: string
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

/** Other ports of the model's suite, so far after the model's own. */
const AFTER = { spare: 7, closed: 8 }

/** Starts the model on a port of the caller's suite. Throws when the port is taken. */
export function startModel(port: number): Model {
  /** How often a step that fails has failed, by its place and script. */
  const failures = new Map<string, number>()
  let requests = 0
  let calls = 0
  const newCallId = () => `call_${String(++calls).padStart(4, "0")}`

  const nextStep = (request: ChatRequest): Step => {
    const place = findScript(request.messages)
    if (place === undefined) return say("ok.")
    const steps = parseScript(place.script)
    const keyOf = (step: Step) => `${steps.indexOf(step)} ${place.script}`
    const failed = (step: Step) => failures.get(keyOf(step)) ?? 0
    // Failures leave no answer behind, so the spent ones are counted here and not in the conversation.
    const left = steps.filter((step) => !("times" in step) || failed(step) < step.times)
    const step = left[place.answered]
    if (step === undefined) return say("done.")
    if ("times" in step) failures.set(keyOf(step), failed(step) + 1)
    return step
  }

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    // A hanging answer is part of the language, and so is one that drops: no error to be shown.
    idleTimeout: 0,
    development: false,
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === "/page") return new Response("a page\n")
      if (!pathname.endsWith("/chat/completions")) {
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
    closedUrl: `http://127.0.0.1:${port + AFTER.closed}/v1`,
    sparePort: port + AFTER.spare,
    page: `${base}/page`,
    registry: `${base}/registry/`,
    requests: () => requests,
    stop: () => server.stop(true),
  }
}

const say = (text: string): Step => ({ kind: "say", text, deltas: 1, finish: "stop" })

/** A connection an answer: on one used before, the agent's own runtime sends the request of a cut answer again. */
const ALONE = { connection: "close" }

function answer(step: Step, newCallId: () => string): Response {
  const headers = { ...ALONE, "content-type": "text/event-stream" }
  switch (step.kind) {
    case "error":
      return Response.json(
        { error: { message: step.message, type: "scripted", code: step.status } },
        { status: step.status, headers: { ...ALONE, ...step.headers } },
      )
    case "hang":
      return new Response(hangingStream(), { headers })
    case "cut":
      return new Response(brokenStream(step.text), { headers })
    default:
      return new Response(chunkStream(step, newCallId), { headers })
  }
}
