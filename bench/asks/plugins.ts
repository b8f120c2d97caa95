/** Plugins that all ask at once: the plugin's own core, each with an agent's client that notes when an answer reaches it. */
import { type Core, createCore } from "../../plugin/src/core.ts"
import { PACE } from "../../plugin/src/pace.ts"

/** One instance, its sessions and asks. */
export interface Plugin {
  core: Core
  /** Opens asks, so many in each of so many sessions; their ids. */
  ask(sessions: number, each: number): { session: string; ask: string }[]
  end(): Promise<void>
}

/** Starts one that speaks to the service. `onAnswer` gets the vendor's id of an ask the moment the agent is told. */
export function startPlugin(name: string, url: string, key: string, onAnswer: (ask: string) => void): Plugin {
  const tell = (type: string, properties: Record<string, unknown>) =>
    void core.take("event", { id: "evt", type, properties }, undefined)
  const client = {
    postSessionIdPermissionsPermissionId: async ({
      path,
    }: {
      path: { id: string; permissionID: string }
    }) => {
      onAnswer(path.permissionID)
      // The echo comes before the route returns, as with the real agent.
      tell("permission.replied", { sessionID: path.id, requestID: path.permissionID, reply: "once" })
      return { data: true, response: { status: 200 } }
    },
  }
  const context = { directory: `/bench/${name}`, client }
  const core = createCore(context, { off: false, stream: false, url, key }, { env: {}, argv: [] }, PACE)
  return {
    core,
    ask(sessions, each) {
      const asked: { session: string; ask: string }[] = []
      for (let of = 0; of < sessions; of += 1) {
        const session = `ses_${name}_${of}`
        tell("session.created", { sessionID: session, info: { id: session, version: "1" } })
        for (let nth = 0; nth < each; nth += 1) {
          const ask = `per_${name}_${of}_${nth}`
          tell("permission.asked", {
            id: ask,
            sessionID: session,
            permission: "bash",
            patterns: [`make target-${nth}`],
            metadata: { command: `make target-${nth} && echo the answer of ${ask}` },
            always: ["make *"],
          })
          asked.push({ session, ask })
        }
      }
      return asked
    },
    end: () => core.end(),
  }
}
