/**
 * Tool calls (truth rule 3): every `tool.requested` gets at most one terminal. The hooks tell of the start and of
 * success only; failures, refusals and aborts show in the call's message part (surface.md §3), so both are read.
 */

import type { ToolInput } from "../../shared/moments.ts"
import type { Draft } from "../map/draft.ts"
import { identifierOf, idOf } from "../map/identifier.ts"
import { type Json, objectOf, textOf } from "../map/members.ts"
import { mapMoment, toolCompleted, toolNameOf, toolRef } from "../map/moment.ts"
import { stopOf } from "../map/profile.ts"
import { startChild, stopChild } from "./delegation.ts"
import type { Scene } from "./scene.ts"
import { closeAsksOfCall } from "./settle.ts"
import { type OpenTool, remember } from "./state.ts"

/** The hook before a call. A call id met again while open is the same call. */
export function onToolBefore(scene: Scene, called: ToolInput, output: { args?: unknown }): void {
  const input = withId(called)
  if (scene.state.tools.has(input.callID)) return
  const draft = mapMoment({ kind: "tool.before", input, output }, context(scene))
  if (draft !== undefined) scene.emit(draft)
}

/** The hook after a call: it succeeded. */
export function onToolAfter(scene: Scene, called: ToolInput, output: unknown): void {
  const input = withId(called)
  const child = identifierOf(objectOf(objectOf(output).metadata).sessionId)
  complete(scene, input, toolCompleted(input, output, context(scene)), child)
}

/**
 * A tool part. `error` ends the call; `completed` only if the hook after it was lost; a running `task` names the
 * sub-agent's session. D-06 The annex maps no `tool.failed`; the part carries an honest one, joined on the call id.
 */
export function onToolPart(scene: Scene, part: Json): void {
  const call = idOf(part.callID)
  const name = textOf(part.tool)
  if (call === undefined || name === undefined) return
  const state = objectOf(part.state)
  const open = scene.state.tools.get(call)
  const input = { tool: open?.name ?? name, sessionID: scene.state.session, callID: call }
  switch (state.status) {
    case "running":
      if (open === undefined) tellStranger(scene, part, "running")
      else startChild(scene, open, identifierOf(objectOf(state.metadata).sessionId), agentType(state))
      return
    case "completed":
      if (open !== undefined || scene.state.abortedTools.has(call)) {
        complete(scene, input, toolCompleted(input, { output: state.output }, context(scene)), undefined)
      } else tellStranger(scene, part, "completed")
      return
    case "error":
      announce(scene, input, state)
      failOpen(scene, input, textOf(state.error) ?? "")
      return
  }
}

/**
 * A call of the run that no hook told of, though the model made it: Kilo 7.7.7 refuses a tool that the configuration
 * withholds without a hook. What the user's own shell runs belongs to no run.
 */
function announce(scene: Scene, input: ToolInput, state: Json): void {
  if (scene.state.run === undefined || scene.state.strangerCalls.get(input.callID) === "hook") return
  onToolBefore(scene, input, { args: state.input })
}

/** Calls whose end nobody told, when their run, session or instance ends. */
export function abortTools(scene: Scene): void {
  // They ended with the work, not with the wait for the verdict.
  const until = scene.state.run?.idleAt ?? scene.at
  for (const [call, open] of [...scene.state.tools]) {
    const input = { tool: open.name, sessionID: scene.state.session, callID: call }
    failAs(scene, input, open, "aborted", undefined, until)
  }
}

function complete(scene: Scene, input: ToolInput, draft: Draft, child: string | undefined): void {
  const open = scene.state.tools.get(input.callID)
  if (open === undefined) {
    tellLate(scene, input)
    return
  }
  closeAsksOfCall(scene, input.callID, "auto")
  startChild(scene, open, child, undefined)
  stopChild(scene, open, "completed")
  scene.emit(
    { ...draft, data: { ...draft.data, duration_ms: Math.max(0, scene.at - open.at) } },
    { cause: open.eventId },
  )
}

function failOpen(scene: Scene, input: ToolInput, error: string): void {
  const open = scene.state.tools.get(input.callID)
  if (open === undefined) return
  const how = stopOf(scene.profile, error)
  // Refused without a reply on the bus: another plugin's hook decided, and no person was asked.
  closeAsksOfCall(scene, input.callID, how === "rejected" ? "auto" : "dismissed")
  if (how !== "userSetting") {
    failAs(scene, input, open, how, error)
    return
  }
  // D-07 The annex keeps `tool.denied` to the vendors that announce it; here the refusal of a configured rule is
  // told only by the part's text, and nobody was asked (AEP-0002 §4.1).
  scene.emit(
    {
      type: "tool.denied",
      subject: toolNameOf(input.tool),
      data: { tool: toolRef(input), by: "user_setting" },
    },
    { cause: open.eventId },
  )
}

function failAs(
  scene: Scene,
  input: ToolInput,
  open: OpenTool,
  type: string,
  message: string | undefined,
  until = scene.at,
): void {
  stopChild(scene, open, type)
  scene.emit(
    {
      type: "tool.failed",
      subject: toolNameOf(input.tool),
      data: {
        tool: toolRef(input),
        error: { type, ...(message === undefined ? {} : { message }) },
        duration_ms: Math.max(0, until - open.at),
      },
    },
    { cause: open.eventId },
  )
}

/**
 * D-08 A call we had to call aborted ran after all: a late "yes" carried it out (surface.md §0.1). No second
 * terminal is legal (AEP-0002 §2.5), but saying nothing would hide that something was written.
 */
function tellLate(scene: Scene, input: ToolInput): void {
  const requested = scene.state.abortedTools.get(input.callID)
  if (requested === undefined) return
  scene.emit(
    {
      type: `x.${scene.profile.namespace}.tool.late`,
      severity: "warning",
      subject: toolNameOf(input.tool),
      data: { tool: toolRef(input), outcome: "completed" },
    },
    { cause: requested },
  )
}

/**
 * A call no hook announced: the user's own shell command, which is no tool call of the agent (truth rule 2). The
 * parts of an announced call go on after its hooks (surface.md §3) and say nothing new.
 */
function tellStranger(scene: Scene, part: Json, status: string): void {
  const call = idOf(part.callID)
  if (call === undefined || scene.state.status === undefined || scene.state.status === "idle") return
  const told = scene.state.strangerCalls.get(call)
  if (told === "hook" || told === status) return
  remember(scene.state.strangerCalls, call, status)
  scene.emit({
    type: `x.${scene.profile.namespace}.message.part.updated`,
    data: { part: "tool", tool: toolNameOf(part.tool), call_id: call, status },
  })
}

/** Calls are remembered, told and joined by an id that may stand in an event. */
function withId(called: ToolInput): ToolInput {
  return { ...called, callID: idOf(called.callID) ?? "" }
}

function agentType(state: Json): string | undefined {
  return identifierOf(objectOf(state.input).subagent_type)
}

function context(scene: Scene): {
  profile: Scene["profile"]
  digest: Scene["digest"]
  cut?: readonly string[]
} {
  const { profile, digest, cut } = scene
  return { profile, digest, ...(cut === undefined ? {} : { cut }) }
}
