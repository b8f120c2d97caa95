/**
 * The way to the service: finds the target, derives the credential, keeps both until told to forget. One request
 * at a time is the caller's business.
 */
import { type Explicit, resolveTarget, type Target } from "./config.ts"
import { doorCredential } from "./credential.ts"
import { readPluginFile } from "./plugin-file.ts"
import { type Outcome, postMoments } from "./post.ts"

/** A way to the service. */
export interface Link {
  /** Sends a body; `absent` = there is no target, nothing was sent. Never rejects. */
  send(body: string): Promise<Outcome | { kind: "absent" }>
  /** Read the configuration anew before the next request. */
  forget(): void
  /** Gives up the request in flight and sends none any more. */
  abandon(): void
}

interface Way {
  target: Target
  credential: string
}

/** A link that finds its target by what options and environment say, and by `plugin.json` in their home. */
export function createLink(explicit: Explicit, requestMs: number): Link {
  let way: Way | undefined
  let abandoned = false
  let current: AbortController | undefined

  const find = async (): Promise<Way | undefined> => {
    const file = explicit.home === undefined ? undefined : await readPluginFile(explicit.home, requestMs)
    const target = resolveTarget(explicit, file)
    return target === undefined ? undefined : { target, credential: await doorCredential(target.key) }
  }

  return {
    async send(body) {
      try {
        way ??= await find()
      } catch {
        // No WebCrypto, or a key it will not take: as good as no service.
        return { kind: "absent" }
      }
      if (way === undefined) return { kind: "absent" }
      if (abandoned) return { kind: "failed" }
      const controller = new AbortController()
      AbortSignal.timeout(requestMs).addEventListener("abort", () => controller.abort(), { once: true })
      current = controller
      return postMoments(way.target, way.credential, body, controller.signal)
    },
    forget() {
      way = undefined
    },
    abandon() {
      // A request left pending would keep a process alive that ends by itself.
      abandoned = true
      current?.abort()
    },
  }
}
