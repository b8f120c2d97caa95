/**
 * Calls of the agent's own client, in the agent's own process: bounded in time, and one verdict on what came of each. The client
 * is the agent's and its shape not ours: whatever is missing in it makes a call fail, and nothing else.
 */
import { asFields, isFields } from "./fields.ts"
import { after } from "./timer.ts"

/** `gone`: the agent knows no such thing (404). `slow`: it was told, and has not answered in time. */
export type Called = "done" | "gone" | "failed" | "slow"

/** Calls of one client. Each settles within the bound and never rejects. */
export interface AgentClient {
  /** Stops what a session works on. */
  abort(session: string): Promise<Called>
  /** Answers a permission ask over the session's route, which all versions have. */
  permission(session: string, ask: string, response: string): Promise<Called>
  /** Posts to a route of which the client has no member. */
  post(url: string, path: Record<string, string>, body: Record<string, unknown>): Promise<Called>
  /** What the agent knows of a session; undefined when it does not say. */
  session(id: string): Promise<Record<string, unknown> | undefined>
}

/**
 * `client` is read anew with each call, since it is the agent's. The directory goes along with each: on 1.0.185 the client names
 * none, and what is meant for another directory than the process's own is answered with 200 and done nowhere.
 */
export function createClient(client: () => unknown, directory: string, callMs: number): AgentClient {
  const query = directory === "" ? {} : { query: { directory } }
  const call = async (owner: unknown, member: string, argument: object): Promise<unknown> => {
    const method: unknown = isFields(owner) ? owner[member] : undefined
    if (typeof method !== "function") throw new TypeError(`the client has no ${member}`)
    return bounded(method.call(owner, { ...argument, ...query }), callMs)
  }

  const told = async (owner: unknown, member: string, argument: object): Promise<Called> => {
    try {
      const answer = await call(owner, member, argument)
      if (answer === SLOW) return "slow"
      const { error, response } = asFields(answer)
      if (asFields(response).status === 404) return "gone"
      return error === undefined ? "done" : "failed"
    } catch {
      // It threw, or is not what it was: the agent was not told, as far as anybody knows.
      return "failed"
    }
  }

  return {
    abort: (session) => told(asFields(client()).session, "abort", { path: { id: session } }),
    permission: (id, permissionID, response) =>
      told(client(), "postSessionIdPermissionsPermissionId", {
        path: { id, permissionID },
        body: { response },
      }),
    post: (url, path, body) =>
      told(asFields(client())._client, "post", {
        url,
        path,
        body,
        headers: { "content-type": "application/json" },
      }),
    async session(id) {
      try {
        const answer = await call(asFields(client()).session, "get", { path: { id } })
        const { data } = asFields(answer)
        return isFields(data) ? data : undefined
      } catch {
        return undefined
      }
    },
  }
}

const SLOW = Symbol("slow")

function bounded(work: unknown, ms: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const cancel = after(
      ms,
      () => resolve(SLOW),
      () => undefined,
    )
    Promise.resolve(work).then(resolve, reject).finally(cancel)
  })
}
