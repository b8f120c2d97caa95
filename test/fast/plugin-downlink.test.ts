/**
 * The road down, against a real server that may be anybody: a decision acts only when it is proven to be the service's, for this
 * instance and this poll, once, and only while it still applies (design §3). The agent's client is an object of the test.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { type Core, createCore } from "../../plugin/src/core.ts"
import type { Pace } from "../../plugin/src/pace.ts"
import type { DownMessage } from "../../shared/moments.ts"
import { QUICK } from "./plugin-answers-house.ts"
import { busEvent, idle } from "./plugin-fixtures.ts"
import { type Peer, type Poll, startPeer } from "./plugin-peer.ts"

const KEY = "test-key"
const S = "ses_1"
const RUN = "msg_1"
const TEXT = JSON.stringify({ kind: "cancel", session: S, run: RUN })

let peer: Peer
let cores: Core[]
/** Sessions that the agent was told to stop, in order. */
let aborted: unknown[]
let abort: (call: unknown) => unknown

beforeEach(() => {
  peer = startPeer(0)
  cores = []
  aborted = []
  abort = (call) => {
    aborted.push(call)
    return Promise.resolve({ data: true })
  }
})
afterEach(async () => {
  await Promise.all(cores.map((core) => core.end()))
  await peer.stop()
})

/** A core that is at work on a prompt, and its first poll. */
async function working(
  pace: Partial<Pace> = {},
  client: unknown = { session: { abort: (call: unknown) => abort(call) } },
) {
  const said = { off: false, stream: false, url: peer.url, key: KEY }
  const core = createCore(
    { directory: "/project", client },
    said,
    { env: {}, argv: [] },
    { ...QUICK, ...pace },
  )
  cores.push(core)
  core.take("chat.message", { sessionID: S }, { message: { id: RUN, role: "user" }, parts: [] })
  return { core, poll: await nextPoll() }
}

/** The poll that is open now. */
async function nextPoll(): Promise<Poll> {
  const open = () => peer.polls.find(({ isOpen }) => isOpen)
  await peer.until(() => open() !== undefined)
  const poll = open()
  if (poll === undefined) throw new Error("no poll is open")
  return poll
}

const instanceOf = ({ path }: Poll): string => path.split("/")[3] ?? ""

interface Signing {
  key?: string
  nonce?: string
  instance?: string
  request?: string
  decision?: string
}

/** A message as the service would make it for a poll; what is given instead is what an attacker may know. */
function messageFor(poll: Poll, signing: Signing = {}): DownMessage {
  const {
    key = KEY,
    nonce = poll.nonce,
    instance = instanceOf(poll),
    request = "R1",
    decision = TEXT,
  } = signing
  const proofKey = createHmac("sha256", key).update("proof/1").digest()
  const proof = createHmac("sha256", proofKey)
    .update([nonce, instance, request, decision].join("\0"))
    .digest("hex")
  return { request, decision, proof }
}

const answer = (poll: Poll, ...messages: unknown[]): void =>
  poll.answer(Response.json({ messages, answerable: false }))

const deliveries = (): unknown[] =>
  peer.applied.flatMap((moment) => (moment.kind === "delivery" ? [[moment.request, moment.status]] : []))

const reported = (count: number): Promise<void> => peer.until(() => deliveries().length >= count)

describe("a poll", () => {
  test("begins once the service took a batch, with a nonce of its own and the door credential", async () => {
    const { poll } = await working()
    expect(peer.applied).toHaveLength(1)
    expect(poll.path).toBe(`/opencode/instances/${peer.arrivals[0]?.batch.instance.id}/down`)
    expect(poll.nonce).toMatch(/^[0-9a-f-]{36}$/)
    expect(poll.authorization).toBe(`Bearer ${createHmac("sha256", KEY).update("door/1").digest("hex")}`)
  })

  test("does not begin while the service takes nothing", async () => {
    peer.misbehave(() => new Response("", { status: 500 }))
    const said = { off: false, stream: false, url: peer.url, key: KEY }
    const core = createCore(
      { directory: "/project" },
      said,
      { env: {}, argv: [] },
      { ...QUICK, backoffFirstMs: 1 },
    )
    cores.push(core)
    core.take("event", idle(), undefined)
    await peer.until(() => peer.arrivals.length === 3)
    expect(peer.polls).toEqual([])
  })

  test("is one at a time, and the next has another nonce", async () => {
    const { poll } = await working()
    answer(poll)
    const second = await nextPoll()
    expect(peer.polls.filter(({ isOpen }) => isOpen)).toEqual([second])
    expect(second.nonce).not.toBe(poll.nonce)
  })

  const failures: [string, () => Response][] = [
    ["500", () => new Response("no", { status: 500 })],
    ["404", () => Response.json({ error: "unknown-instance" }, { status: 404 })],
    ["401", () => new Response("", { status: 401 })],
    ["a redirect", () => Response.redirect("http://127.0.0.1:9/")],
    ["no JSON", () => new Response("<html>")],
    ["no object", () => Response.json([])],
    ["no messages", () => Response.json({ answerable: true })],
    ["messages that are no list", () => Response.json({ messages: {} })],
    ["too much", () => new Response("x".repeat(300 * 1024))],
    ["too many messages", () => Response.json({ messages: Array(1001).fill({}) })],
  ]
  test.each(failures)(
    "answered with %s is followed by another, and a decision is still taken",
    async (_, response) => {
      const { poll } = await working()
      poll.answer(response())
      const next = await nextPoll()
      answer(next, messageFor(next))
      await reported(1)
      expect(deliveries()).toEqual([["R1", "done"]])
    },
  )

  test("that failed is tried again as soon as the service takes a batch, however long the rest", async () => {
    const { core, poll } = await working({ pollBackoffMs: 60_000, backoffMostMs: 60_000 })
    poll.answer(Response.json({ error: "unknown-instance" }, { status: 404 }))
    core.take("event", busEvent("session.compacted", { sessionID: S }), undefined)
    const next = await nextPoll()
    answer(next, messageFor(next))
    await reported(1)
    expect(deliveries()).toEqual([["R1", "done"]])
  })

  test("that is never answered is given up after its bound", async () => {
    const { poll } = await working({ pollMs: 30 })
    await peer.until(() => peer.polls.length >= 2)
    expect(poll.isOpen).toBe(false)
  })

  test("ends with the instance, and no other follows", async () => {
    const { core, poll } = await working()
    await core.end()
    await peer.until(() => !poll.isOpen)
    expect(peer.polls).toHaveLength(1)
    expect(peer.applied.at(-1)?.kind).toBe("dispose")
  })
})

describe("a proven decision", () => {
  test("is carried out by the agent's own client, and what came of it goes up", async () => {
    const { poll } = await working()
    answer(poll, messageFor(poll))
    await reported(1)
    // The directory goes along: 1.0.185 would look for the session in the process's own.
    expect(aborted).toEqual([{ path: { id: S }, query: { directory: "/project" } }])
    expect(deliveries()).toEqual([["R1", "done"]])
  })

  test("that comes again is reported again and not carried out again", async () => {
    const { poll } = await working()
    answer(poll, messageFor(poll))
    await reported(1)
    const second = await nextPoll()
    answer(second, messageFor(second))
    await reported(2)
    expect(aborted).toHaveLength(1)
    expect(deliveries()).toEqual([
      ["R1", "done"],
      ["R1", "done"],
    ])
  })

  test("that comes again while it is carried out changes nothing", async () => {
    let finish = (): void => undefined
    abort = (call) => {
      aborted.push(call)
      return new Promise((resolve) => {
        finish = () => resolve({ data: true })
      })
    }
    const { poll } = await working({ callMs: 5_000 })
    answer(poll, messageFor(poll))
    const second = await nextPoll()
    answer(second, messageFor(second))
    await nextPoll()
    expect(aborted).toHaveLength(1)
    finish()
    await reported(1)
    expect(deliveries()).toEqual([["R1", "done"]])
  })

  const clients: [string, unknown][] = [
    ["no client", null],
    ["a client without sessions", {}],
    ["a client that cannot stop", { session: {} }],
    [
      "a client that throws",
      {
        session: {
          abort: () => {
            throw new Error("broken")
          },
        },
      },
    ],
    ["a client that fails", { session: { abort: () => Promise.reject(new Error("broken")) } }],
    ["a client that says no", { session: { abort: () => Promise.resolve({ error: { name: "NotFound" } }) } }],
    ["a client that hangs", { session: { abort: () => new Promise(() => undefined) } }],
  ]
  test.each(clients)("with %s has failed, and is told so", async (_, client) => {
    const { poll } = await working({}, client)
    answer(poll, messageFor(poll))
    await reported(1)
    expect(deliveries()).toEqual([["R1", "failed"]])
  })
})

describe("a decision that no longer applies", () => {
  const stale: [string, (core: Core) => void, string][] = [
    ["the run went idle", (core) => core.take("event", idle(S), undefined), TEXT],
    [
      "the session was deleted",
      (core) => core.take("event", busEvent("session.deleted", { info: { id: S } }), undefined),
      TEXT,
    ],
    [
      "another prompt is worked on",
      (core) => {
        core.take("event", idle(S), undefined)
        core.take("chat.message", { sessionID: S }, { message: { id: "msg_2", role: "user" }, parts: [] })
      },
      TEXT,
    ],
    ["it names another run", () => undefined, JSON.stringify({ kind: "cancel", session: S, run: "msg_0" })],
    [
      "it names a session never seen",
      () => undefined,
      JSON.stringify({ kind: "cancel", session: "ses_2", run: RUN }),
    ],
  ]
  test.each(stale)("since %s is stale, and the agent is left alone", async (_, happen, decision) => {
    const { core, poll } = await working()
    happen(core)
    answer(poll, messageFor(poll, { decision }))
    await reported(1)
    expect(deliveries()).toEqual([["R1", "stale"]])
    expect(aborted).toEqual([])
  })

  test("does not stop being meant when a second prompt waits behind the first", async () => {
    const { core, poll } = await working()
    core.take("chat.message", { sessionID: S }, { message: { id: "msg_2", role: "user" }, parts: [] })
    answer(poll, messageFor(poll))
    await reported(1)
    expect(deliveries()).toEqual([["R1", "done"]])
  })
})

describe("an attacker on the road", () => {
  /** What somebody who has the port, or sits in the middle, can answer. */
  const attacks: [string, (poll: Poll, earlier: DownMessage, other: Poll) => unknown][] = [
    ["no proof", (poll) => ({ ...messageFor(poll), proof: undefined })],
    ["an empty proof", (poll) => ({ ...messageFor(poll), proof: "" })],
    ["a proof of zeros", (poll) => ({ ...messageFor(poll), proof: "0".repeat(64) })],
    ["a proof in capitals", (poll) => ({ ...messageFor(poll), proof: messageFor(poll).proof.toUpperCase() })],
    ["a proof and more", (poll) => ({ ...messageFor(poll), proof: `${messageFor(poll).proof}00` })],
    ["half a proof", (poll) => ({ ...messageFor(poll), proof: messageFor(poll).proof.slice(0, 32) })],
    ["the key of another home", (poll) => messageFor(poll, { key: "other-key" })],
    ["the door credential as key", (poll) => messageFor(poll, { key: poll.authorization?.slice(7) ?? "" })],
    ["an earlier answer", (_, earlier) => earlier],
    ["an earlier answer under another name", (_, earlier) => ({ ...earlier, request: "R2" })],
    ["another request's proof", (poll) => ({ ...messageFor(poll), request: "R2" })],
    ["another instance's proof", (poll) => messageFor(poll, { instance: "i-other" })],
    ["another poll's proof", (poll, _, other) => messageFor(poll, { nonce: other.nonce })],
    [
      "another session in the decision",
      (poll) => ({
        ...messageFor(poll),
        decision: JSON.stringify({ kind: "cancel", session: "ses_2", run: RUN }),
      }),
    ],
    ["a space in the decision", (poll) => ({ ...messageFor(poll), decision: `${TEXT} ` })],
    [
      "the border moved between request and decision",
      (poll) => ({ ...messageFor(poll), request: `R1\0${TEXT}`, decision: "" }),
    ],
    ["a request of other characters", (poll) => messageFor(poll, { request: "R 1" })],
    ["a request that is too long", (poll) => messageFor(poll, { request: "R".repeat(65) })],
    [
      "an object as decision",
      (poll) => ({ ...messageFor(poll), decision: { kind: "cancel", session: S, run: RUN } }),
    ],
    ["null", () => null],
    ["a list", () => []],
  ]
  test.each(attacks)("with %s moves nothing, and learns nothing", async (_, attack) => {
    const { poll: first } = await working()
    // Something that was said truly once, and can be said again by whoever heard it.
    const earlier = messageFor(first, {
      decision: JSON.stringify({ kind: "cancel", session: "ses_9", run: RUN }),
    })
    const replayable = messageFor(first)
    answer(first)
    const second = await nextPoll()
    answer(second, attack(second, replayable, first), attack(second, earlier, first))
    const third = await nextPoll()
    answer(
      third,
      messageFor(third, {
        request: "TRUE",
        decision: JSON.stringify({ kind: "cancel", session: S, run: "msg_0" }),
      }),
    )
    await reported(1)
    expect(deliveries()).toEqual([["TRUE", "stale"]])
    expect(aborted).toEqual([])
  })

  const unknown: [string, string][] = [
    ["of no JSON", "cancel"],
    ["of another kind", JSON.stringify({ kind: "answer", session: S, run: RUN })],
    ["without a session", JSON.stringify({ kind: "cancel", run: RUN })],
    ["without a run", JSON.stringify({ kind: "cancel", session: S })],
    ["with a run that is no text", JSON.stringify({ kind: "cancel", session: S, run: 1 })],
  ]
  test.each(unknown)(
    "cannot be told from a newer service by a proven decision %s: nothing is done",
    async (_, decision) => {
      const { poll } = await working()
      answer(poll, messageFor(poll, { decision }))
      const next = await nextPoll()
      answer(next, messageFor(next, { request: "R2" }))
      await reported(1)
      expect(deliveries()).toEqual([["R2", "done"]])
    },
  )
})
