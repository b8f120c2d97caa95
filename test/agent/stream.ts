/** The bytes of the model's answers: chat completion chunks as server-sent events, whole, cut or never coming. */
import { setTimeout as pause } from "node:timers/promises"
import type { Step } from "./script.ts"

type Whole = Extract<Step, { kind: "calls" | "say" }>

const frame = (data: unknown) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

const chunk = (delta: unknown, finish: string | null = null, usage?: unknown) =>
  frame({
    id: "chatcmpl-scripted",
    object: "chat.completion.chunk",
    created: 1,
    model: "m1",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
  })

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** A whole answer: reasoning, then text or calls, then the reason it ends and its usage. */
export function chunkStream(step: Whole, newCallId: () => string): ReadableStream<Uint8Array> {
  return streamOf([chunk({ role: "assistant", content: "" }), ...body(step, newCallId), frame("[DONE]")])
}

function body(step: Whole, newCallId: () => string): string[] {
  const thought = step.thought === undefined ? [] : [chunk({ reasoning_content: step.thought })]
  if (step.kind === "say") {
    const parts = Array.from({ length: step.deltas }, (_, index) => deltaOf(step.text, index, step.deltas))
    return [...thought, ...parts.map((content) => chunk({ content })), chunk({}, step.finish, USAGE)]
  }
  const calls = step.calls.map(({ tool, args }, index) => ({
    index,
    id: newCallId(),
    type: "function",
    function: { name: tool, arguments: JSON.stringify(args) },
  }))
  return [...thought, ...calls.map((call) => chunk({ tool_calls: [call] })), chunk({}, "tool_calls", USAGE)]
}

function deltaOf(text: string, index: number, deltas: number): string {
  return deltas === 1 ? text : `${index === 0 ? "" : " "}${text} ${index + 1}`
}

/** Until then the head and the delta are with the agent; an earlier drop would look like no answer at all. */
const BEFORE_CUT_MS = 50

/** One delta, then the connection drops without an end. */
export function brokenStream(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(encode(chunk({ role: "assistant", content: text })))
    },
    pull: async (controller) => {
      await pause(BEFORE_CUT_MS)
      controller.error(new Error("scripted cut"))
    },
  })
}

/** The head of an answer and nothing after it. */
export function hangingStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(encode(chunk({ role: "assistant", content: "" }))),
  })
}

const encode = (text: string) => new TextEncoder().encode(text)

function streamOf(frames: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      for (const each of frames) controller.enqueue(encode(each))
      controller.close()
    },
  })
}
