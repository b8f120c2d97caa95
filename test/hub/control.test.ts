/**
 * The live checker's checks of control, against the real service: who may command at all, and what comes of commands
 * to sessions of nobody, of others, and of our own, which take answers and a cancel. The agent's side of it is `test/live`.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { AepEvent } from "../../shared/aep.ts"
import { suitePort } from "../ports.ts"
import { commandOf, eventOf, HELLO, newSession, Party } from "./client.ts"
import { conversationOf, Stage, TOKEN } from "./stage.ts"

const RESPOND = "control.attention.respond"
const CONTROL = { accepts: [RESPOND], ack_window_ms: 10_000 }
const OURS = "ses_ours"

let closed: Stage
let open: Stage
/** With the token. */
let party: Party
/** Without one, where that suffices to watch. */
let stranger: Party
beforeAll(async () => {
  closed = await Stage.open(suitePort("hub", 6), { AEP_TOKEN: TOKEN })
  open = await Stage.open(suitePort("hub", 7), { AEP_AUTH: "control" })
  party = new Party(closed.url, TOKEN)
  stranger = new Party(open.url)
  for (const stage of [closed, open]) await stage.converse(conversationOf("1.18.33-tool-success", OURS))
})
afterAll(() => Promise.all([closed.close(), open.close()]))

const respondTo = (session: string): AepEvent =>
  commandOf(session, RESPOND, { subject: "A1", data: { answer: { option: "live-check-probe" } } })

describe("without the token", () => {
  test("control-auth-gate: where all is closed the socket is refused", async () => {
    const answer = await new Party(closed.url).ask("/socket", {
      headers: { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
    })
    expect([answer.status, (await answer.json()).error]).toEqual([401, "unauthorized"])
    await expect(new Party(closed.url).open()).rejects.toThrow()
  })

  test("control-auth-gate: where watching is open a command reaches neither owner nor history, and is refused", async () => {
    const session = newSession()
    const owner = await stranger.owner(session, CONTROL)
    const reader = await stranger.stream({})
    const sender = await stranger.greeted()
    for (const target of [session, OURS, newSession()]) {
      const command = respondTo(target)
      expect(await sender.ask(command)).toEqual({
        type: "error",
        code: "unauthorized",
        cause: command.id,
        detail: expect.any(String),
      })
    }
    const marker = eventOf(newSession(), "session.started")
    await stranger.told([marker])
    expect(await owner.settled()).toEqual([])
    expect((await reader.event()).data).toBe(JSON.stringify(marker))
    const held = (await stranger.held({ from: "all" })).texts.join("\n")
    expect(held).not.toContain("control.")
    expect(open.logged(OURS).join("\n")).not.toContain("control.")
    await Promise.all([owner.close(), sender.close(), reader.cancel()])
  })

  test("control-auth-gate: the token that the service made for itself opens what is closed to strangers", async () => {
    const session = newSession()
    const owner = await stranger.owner(session, CONTROL)
    const sender = await new Party(open.url, open.madeToken).greeted()
    const command = respondTo(session)
    sender.send(command)
    expect(await owner.next()).toEqual(command)
    expect(await sender.settled()).toEqual([])
    await Promise.all([owner.close(), sender.close()])
  })

  test("control-auth-gate: no command rides on POST, whoever sends it", async () => {
    for (const sender of [stranger, party]) {
      const answer = await sender.post([respondTo(OURS)])
      expect([answer.status, (await answer.json()).error]).toEqual([400, "invalid-event"])
    }
  })
})

test("control-behalf-refusal: a session that was only posted has no route, and keeps no trace of the command", async () => {
  const session = newSession()
  for (const seq of [0, 1]) {
    const event = eventOf(session, seq === 0 ? "session.started" : "progress.status", { seq, data: {} })
    const answer = await party.ask("/events", {
      method: "POST",
      headers: { "aep-version": "0.1", "content-type": "application/json" },
      body: JSON.stringify(event),
    })
    expect(answer.status).toBe(202)
  }
  const sender = await party.greeted()
  const command = commandOf(session, "control.pause", { data: { reason: "probe" } })
  expect(await sender.ask(command)).toMatchObject({ type: "error", code: "no-route", cause: command.id })
  const { events } = await party.held({ filter: { session }, from: [{ session, epoch: 0, seq: 0 }] })
  expect(events.map(({ seq }) => seq)).toEqual([1])
  await sender.close()
})

describe("to a session that another owns", () => {
  test("control-ack: a declared command and the owner's decision reach their readers, byte for byte, in order", async () => {
    const session = newSession()
    const owner = await party.owner(session, CONTROL)
    const reader = await party.stream({ filter: { session } })
    const sender = await party.greeted()
    const command = respondTo(session)
    sender.send(command)
    expect(await owner.nextText()).toBe(JSON.stringify(command))
    const accepted = eventOf(session, "control.accepted", { seq: 1, cause: command.id, data: {} })
    owner.send(accepted)
    const texts = [(await reader.event()).data, (await reader.event()).data]
    expect(texts).toEqual([command, accepted].map((event) => JSON.stringify(event)))
    expect(await sender.settled()).toEqual([])
    await Promise.all([owner.close(), sender.close(), reader.cancel()])
  })

  test("control-nack-unsupported: a type it did not declare is refused on its behalf", async () => {
    const session = newSession()
    const owner = await party.owner(session, CONTROL)
    const sender = await party.greeted()
    const command = commandOf(session, "control.pause")
    expect(await sender.ask(command)).toMatchObject({ code: "unsupported", cause: command.id })
    expect(await owner.settled()).toEqual([])
    await Promise.all([owner.close(), sender.close()])
  })

  test("control-dedupe: a command that comes twice goes to the owner twice, and a decision repeated goes out again", async () => {
    const session = newSession()
    const owner = await party.owner(session, CONTROL)
    const reader = await party.stream({ filter: { session, type: "control.accepted" } })
    const sender = await party.greeted()
    const command = respondTo(session)
    const accepted = eventOf(session, "control.accepted", { seq: 1, cause: command.id, data: {} })
    for (const _ of [1, 2]) {
      sender.send(command)
      expect(await owner.next()).toEqual(command)
      owner.send(accepted)
      expect((await reader.event()).data).toBe(JSON.stringify(accepted))
    }
    const held = await party.held({ filter: { session }, from: "all" })
    expect(held.events.map(({ type }) => type)).toEqual(["session.started", RESPOND, "control.accepted"])
    await Promise.all([owner.close(), sender.close(), reader.cancel()])
  })
})

describe("to a session of ours", () => {
  /** Sends commands and returns the answers; readers, history and log stay as they were. */
  async function refused(...commands: AepEvent[]): Promise<unknown[]> {
    const before = closed.logged(OURS)
    const reader = await party.stream({})
    const sender = await party.greeted()
    sender.send(...commands)
    const answers = (await sender.settled()).map((text) => JSON.parse(text))
    const marker = eventOf(newSession(), "session.started")
    await party.told([marker])
    expect((await reader.event()).data).toBe(JSON.stringify(marker))
    const held = await party.held({ filter: { session: OURS }, from: "all" })
    expect(held.texts).toEqual(before)
    expect(closed.logged(OURS)).toEqual(before)
    await Promise.all([sender.close(), reader.cancel()])
    return answers
  }
  const refusalOf = ({ id }: AepEvent) => ({
    type: "error",
    code: "unsupported",
    cause: id,
    detail: expect.any(String),
  })

  test("the roster shows it with the commands that it takes", async () => {
    const reader = await party.greeted(HELLO)
    const { entries } = await reader.ask({ type: "roster", id: "q" })
    expect(entries).toContainEqual({
      session: OURS,
      agent: "opencode",
      instance: `of-${OURS}`,
      control: { accepts: [RESPOND, "control.cancel"], ack_window_ms: 10_000 },
    })
    await reader.close()
  })

  test("control-nack-unsupported: a pause is refused as unsupported", async () => {
    const command = commandOf(OURS, "control.pause")
    expect(await refused(command)).toEqual([refusalOf(command)])
  })

  /** Sends a command twice: it is refused in the session's record, once, and told again with the same bytes. */
  async function rejectedOnce(command: AepEvent, data: Record<string, unknown>): Promise<void> {
    const reader = await party.stream({ filter: { session: OURS, type: "control.rejected" } })
    const sender = await party.greeted()
    sender.send(command)
    const first = (await reader.event()).data
    expect(JSON.parse(first)).toMatchObject({ cause: command.id, data })
    sender.send(command)
    expect((await reader.event()).data).toBe(first)
    expect(await sender.settled()).toEqual([])
    expect(closed.logged(OURS).filter((line) => line.includes(`"cause":"${command.id}"`))).toEqual([first])
    await Promise.all([sender.close(), reader.cancel()])
  }

  test("control-ack: an answer to what was never asked is decided in its record, once", async () => {
    await rejectedOnce(respondTo(OURS), { reason: "invalid", why: "subject" })
  })

  test("control-cancel: a cancel of a run that is over is refused in its record, once", async () => {
    const data = { scope: "run", reason: "probe" }
    const command = commandOf(OURS, "control.cancel", { run: "r1", capture: "redacted", data })
    await rejectedOnce(command, { reason: "refused" })
  })
})
