/** Stands where the agent stands: loads the drop-in, calls its hooks with one recorded turn, and disposes. */
const dropIn = "../../plugin/opencode-aep.js"
const { OpencodeAep } = await import(dropIn)

const sessionID = "ses_smoke"
const call = { tool: "bash", sessionID, callID: "call_1" }
const args = { command: "echo secret-of-the-user" }
const bus = (type: string, properties: Record<string, unknown>) => ({ event: { type, properties } })
const user = { id: "msg_1", role: "user", sessionID, time: { created: Date.now() } }
const answer = {
  id: "msg_2",
  parentID: "msg_1",
  role: "assistant",
  sessionID,
  mode: "build",
  cost: 0,
  time: {},
}
const info = { id: sessionID, version: "1.18.33", title: "secret-of-the-user", time: { created: Date.now() } }

const hooks = await OpencodeAep({ directory: "/home/dev/project", worktree: "/home/dev/project" })
await hooks.event(bus("session.created", { sessionID, info }))
await hooks["chat.message"](
  { sessionID },
  { message: user, parts: [{ type: "text", text: "please, secret-of-the-user" }] },
)
await hooks.event(bus("message.updated", { sessionID, info: user }))
await hooks.event(bus("session.status", { sessionID, status: { type: "busy" } }))
await hooks.event(bus("message.updated", { sessionID, info: answer }))
await hooks["tool.execute.before"]({ ...call }, { args })
await hooks.event(
  bus("permission.asked", {
    id: "per_1",
    sessionID,
    permission: "bash",
    patterns: [args.command],
    metadata: args,
    always: [],
    tool: { messageID: "msg_2", callID: "call_1" },
  }),
)
await hooks.event(bus("permission.replied", { sessionID, requestID: "per_1", reply: "once" }))
await hooks["tool.execute.after"](
  { ...call, args },
  { title: "", output: "secret-of-the-user", metadata: {} },
)
await hooks.event(
  bus("message.updated", { sessionID, info: { ...answer, finish: "stop", time: { completed: 1 } } }),
)
await hooks.event(bus("session.status", { sessionID, status: { type: "idle" } }))
await hooks.event(bus("session.idle", { sessionID }))
await hooks.dispose()

export {}
