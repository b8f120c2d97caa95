/**
 * The way to the service: finds the target, derives what opens it and what its decisions are proven by, keeps both until told
 * to forget. One batch and one poll at a time are the caller's business.
 */
import type { DownMessage } from "../../shared/moments.ts"
import { type Explicit, resolveTarget, type Target } from "./config.ts"
import { doorCredential, isProven, proofKey } from "./credential.ts"
import { readPluginFile } from "./plugin-file.ts"
import { type Polled, pollDown } from "./poll.ts"
import { type Outcome, postMoments } from "./post.ts"

/** There is no target: nothing was sent. */
interface Absent {
  kind: "absent"
}

/** What a poll brought: decisions proven to be the service's, for this instance and this very poll. */
export type Proven =
  | { kind: "answered"; messages: DownMessage[]; unproved: number; answerable: boolean }
  | Exclude<Polled, { kind: "answered" }>
  | Absent

/** A way to the service. */
export interface Link {
  /** Sends a body. Never rejects. */
  send(body: string): Promise<Outcome | Absent>
  /** Waits for decisions at most `pollMs`, or until `answerable` is not so. Never rejects. */
  poll(instance: string, answerable: boolean): Promise<Proven>
  /** Read the configuration anew before the next request. */
  forget(): void
  /** Gives up the poll in flight and waits for no other. */
  hangUp(): void
  /** Gives up every request in flight and sends none any more. */
  abandon(): void
}

interface Way {
  target: Target
  credential: string
  proof: CryptoKey
}

/** A link that finds its target by what options and environment say, and by `plugin.json` in their home. */
export function createLink(explicit: Explicit, requestMs: number, pollMs: number): Link {
  let way: Way | undefined
  let abandoned = false
  let hungUp = false
  let sending: AbortController | undefined
  let polling: AbortController | undefined

  const find = async (): Promise<Way | undefined> => {
    const file = explicit.home === undefined ? undefined : await readPluginFile(explicit.home, requestMs)
    const target = resolveTarget(explicit, file)
    if (target === undefined) return undefined
    return { target, credential: await doorCredential(target.key), proof: await proofKey(target.key) }
  }

  const known = async (): Promise<Way | undefined> => {
    try {
      way ??= await find()
      return way
    } catch {
      // No WebCrypto, or a key it will not take: as good as no service.
      return undefined
    }
  }

  return {
    async send(body) {
      const found = await known()
      if (found === undefined) return { kind: "absent" }
      if (abandoned) return { kind: "failed" }
      sending = bounded(requestMs)
      return postMoments(found.target, found.credential, body, sending.signal)
    },
    async poll(instance, answerable) {
      const found = await known()
      if (found === undefined) return { kind: "absent" }
      if (hungUp) return { kind: "failed" }
      polling = bounded(pollMs)
      const nonce = crypto.randomUUID()
      const poll = { instance, nonce, answerable, signal: polling.signal }
      const polled = await pollDown(found.target, found.credential, poll)
      if (polled.kind !== "answered") return polled
      const messages = await prove(polled.messages, found.proof, nonce, instance)
      return { ...polled, messages, unproved: polled.messages.length - messages.length }
    },
    forget() {
      way = undefined
    },
    hangUp() {
      hungUp = true
      polling?.abort()
    },
    abandon() {
      // A request left pending would keep a process alive that ends by itself.
      abandoned = true
      hungUp = true
      sending?.abort()
      polling?.abort()
    },
  }
}

/** Keeps what is proven; nothing else is looked into, for whoever owns the port may have written it. */
async function prove(
  messages: readonly DownMessage[],
  key: CryptoKey,
  nonce: string,
  instance: string,
): Promise<DownMessage[]> {
  const proven: DownMessage[] = []
  for (const message of messages) {
    const { request, decision, proof } = message
    if (await isProven(key, proof, [nonce, instance, request, decision])) proven.push(message)
  }
  return proven
}

function bounded(ms: number): AbortController {
  const controller = new AbortController()
  AbortSignal.timeout(ms).addEventListener("abort", () => controller.abort(), { once: true })
  return controller
}
