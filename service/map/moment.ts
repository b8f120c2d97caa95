/**
 * The mapping: one moment of the agent -> one event draft, or none. Pure and memoryless; reproduces every pin of
 * the official OpenCode and Kilo Code tables (AEP-0002 A.7, A.8). What needs memory (which run, which request, what
 * was seen before) is added by the session rules, which call the rows here.
 */
import type { MomentBody } from "../../shared/moments.ts"
import { askDraft, readAsk } from "./attention.ts"
import { mapBusEvent } from "./bus.ts"
import type { Draft } from "./draft.ts"
import { identifierOf, idOf } from "./identifier.ts"
import { objectOf } from "./members.ts"
import type { Profile } from "./profile.ts"

export interface MapContext {
  profile: Profile
  /** Digest of original content (AEP-0003 §9.3). */
  digest: (value: unknown) => string
  /** Dotted paths the plugin had to cut; a digest over cut content would be a lie and is left out. */
  cut?: readonly string[]
}

/** Maps one moment. `undefined` where the annex deliberately says nothing. */
export function mapMoment(moment: MomentBody, context: MapContext): Draft | undefined {
  switch (moment.kind) {
    case "bus":
      return mapBusEvent(moment.event.type, objectOf(moment.event.properties), context.profile)
    case "tool.before":
      return toolRequested(moment.input, objectOf(moment.output).args, context)
    case "tool.after":
      return toolCompleted(moment.input, moment.output, context)
    case "permission.ask": {
      const ask = readAsk(moment.permission)
      return ask && askDraft(ask, context.profile.hookOptions, ["control"])
    }
    case "chat.message":
    case "delivery":
    case "dispose":
      return undefined
    default:
      return moment satisfies never
  }
}

/** The session a moment belongs to; absent for moments of the instance as a whole. */
export function sessionOf(moment: MomentBody): string | undefined {
  switch (moment.kind) {
    case "bus": {
      const properties = objectOf(moment.event.properties)
      const info = objectOf(properties.info)
      return (
        text(properties.sessionID) ??
        text(info.sessionID) ??
        text(objectOf(properties.part).sessionID) ??
        ownId(moment.event.type, info)
      )
    }
    case "tool.before":
    case "tool.after":
    case "chat.message":
      return text(objectOf(moment.input).sessionID)
    case "permission.ask":
      return text(moment.permission.sessionID)
    case "delivery":
      return text(moment.session)
    case "dispose":
      return undefined
    default:
      return moment satisfies never
  }
}

/** `info.id` names a session only on session events; on others it is a message, and a stranger's on the rest. */
function ownId(type: string, info: Record<string, unknown>): string | undefined {
  return type.startsWith("session.") ? text(info.id) : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

/** A call about to run. Arguments ride as a digest at metadata, redacted and verbatim above (A.7). */
function toolRequested(input: { tool: string; callID: string }, args: unknown, context: MapContext): Draft {
  const isObject = args !== null && typeof args === "object" && !Array.isArray(args)
  return {
    type: "tool.requested",
    subject: toolNameOf(input.tool),
    data: {
      tool: toolRef(input),
      ...(args === undefined || isCut(context, "output.args") ? {} : { args_digest: context.digest(args) }),
      ...(isObject ? { args_redacted: args, args } : {}),
    },
  }
}

/**
 * A call that came back. The digest covers `output.output` alone, as the fixtures pin it; tools of an MCP server have
 * no such member, but a list of content (surface.md §3), which is then the result.
 */
export function toolCompleted(
  input: { tool: string; callID: string },
  output: unknown,
  context: MapContext,
): Draft {
  const { output: text, content } = objectOf(output)
  const result = text === undefined ? content : text
  const told = typeof result === "string" ? result : Array.isArray(result) ? { content: result } : undefined
  const cut = isCut(context, text === undefined ? "output.content" : "output.output")
  return {
    type: "tool.completed",
    subject: toolNameOf(input.tool),
    data: {
      tool: toolRef(input),
      ...(result === undefined || cut ? {} : { result_digest: context.digest(result) }),
      ...(told === undefined ? {} : { result_redacted: told, result: told }),
    },
  }
}

/** The pairing key of a call (AEP-0002 §5.2 `tool_ref`). */
export function toolRef(input: { tool: string; callID: string }): { name: string; call_id: string } {
  return { name: toolNameOf(input.tool), call_id: idOf(input.callID) ?? "" }
}

/** A tool's name; models invent some, and a sentence is none. */
export function toolNameOf(value: unknown): string {
  return identifierOf(value) ?? "unnamed"
}

function isCut(context: MapContext, path: string): boolean {
  return context.cut?.some((cut) => cut === path || cut.startsWith(`${path}.`)) ?? false
}
