/** Small moments as the agent hands them to its hooks, for the plugin's tests. */

/** A bus event with an id, as OpenCode 1.18 gives it. */
export function busEvent(type: string, properties: Record<string, unknown>) {
  return { id: "evt_1", type, properties }
}

/** An event nothing is trimmed of and every version knows. */
export function idle(sessionID = "ses_1") {
  return busEvent("session.idle", { sessionID })
}

/** The first argument of `tool.execute.before`. */
export function toolInput(callID = "call_1") {
  return { tool: "bash", sessionID: "ses_1", callID }
}

/** A tool part in one of its states. */
export function toolPart(state: Record<string, unknown>, id = "prt_1") {
  return busEvent("message.part.updated", {
    sessionID: "ses_1",
    part: { type: "tool", tool: "bash", callID: "call_1", id, messageID: "msg_1", sessionID: "ses_1", state },
    time: 1,
  })
}
