/**
 * `opencode-aep cancel` as a process, against the real service as a process: what goes down to the plugin (played here, down
 * to the proof), what comes of it, and every exit code.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { bus, ControlHouse, ran } from "./cli-control-house.ts"

const S = "ses_cancel"
const house = new ControlHouse()
beforeAll(async () => {
  await house.open(suitePort("hub", 9))
  await house.tell(
    bus("session.created", { sessionID: S, info: { id: S, version: "1" } }),
    {
      kind: "chat.message",
      input: { sessionID: S },
      output: { message: { id: "msg_1", role: "user" }, parts: [] },
    },
    bus("session.status", { sessionID: S, status: { type: "busy" } }),
  )
})
afterAll(() => house.close())

const find = (type: string) => house.logged(S).find((event) => event.type === type)

test("a cancel reaches the plugin with its proof, is accepted when it was carried out, and ends the run in the record", async () => {
  const coming = house.decision()
  const child = house.start(["cancel", S])
  const { request, decision } = await coming
  expect(decision).toEqual({ kind: "cancel", session: S, run: "msg_1" })
  await house.tell(
    { kind: "delivery", request, status: "done" },
    bus("session.error", { sessionID: S, error: { name: "MessageAbortedError" } }),
    bus("session.idle", { sessionID: S }),
  )
  expect(await ran(child)).toEqual({
    code: 0,
    said: `accepted: the agent was told to stop ${S}\n`,
    complained: "",
  })
  const ended = await waitFor("end of the run", 5_000, () => find("run.cancelled"))
  expect(ended).toMatchObject({
    run: "msg_1",
    cause: find("control.accepted")?.cause,
    data: { by: "control" },
  })
})

test("a cancel of a session without an open run is refused, and says what to do", async () => {
  const { code, complained } = await house.run(["cancel", S])
  expect([code, complained]).toEqual([3, expect.stringContaining("rejected (refused)")])
  expect(complained).toContain("opencode-aep tail")
})

test("with --json the decision is told as received", async () => {
  const { code, said } = await house.run(["cancel", S, "--json"])
  expect(code).toBe(3)
  expect(house.logged(S)).toContainEqual(JSON.parse(said))
})

test("a cancel of a session that nobody speaks for is refused by the endpoint", async () => {
  const { code, complained } = await house.run(["cancel", "ses_nobody"])
  expect([code, complained]).toEqual([
    3,
    expect.stringContaining("no agent that runs now speaks for ses_nobody"),
  ])
})

test("without the right token nothing is commanded", async () => {
  const { code, complained } = await house.run(["cancel", S], { AEP_TOKEN: "another-token-0123456789" })
  expect([code, complained]).toEqual([2, expect.stringContaining("does not take the token")])
})

test("without a service there is one line that says what to do", async () => {
  const nowhere = `http://127.0.0.1:${suitePort("hub", 6)}`
  const { code, complained } = await house.run(["cancel", "--url", nowhere, S])
  expect([code, complained]).toEqual([2, expect.stringContaining("bun run service")])
})

test.each(["OPENCODE", "AGENT"])("inside an agent (%s is set) it does not run", async (name) => {
  const { code, complained } = await house.run(["cancel", S], { [name]: "1" })
  expect([code, complained]).toEqual([2, expect.stringContaining("does not run inside an agent")])
})

test("a wrong call is a usage error, and help has an example", async () => {
  expect((await house.run(["cancel"])).code).toBe(2)
  const help = await house.run(["cancel", "--help"])
  expect([help.code, help.said]).toEqual([0, expect.stringContaining("$ opencode-aep cancel ses_1234")])
})
