/** `opencode-aep pending` as a process, against the real service as a process: what it lists, follows, and leaves out. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { bus, ControlHouse } from "./cli-control-house.ts"

const house = new ControlHouse()
beforeAll(() => house.open(suitePort("hub", 8)))
afterAll(() => house.close())

const ask = (id: string, session: string, more: Record<string, unknown> = {}) =>
  bus("permission.asked", {
    id,
    sessionID: session,
    permission: "bash",
    patterns: ["rm *"],
    metadata: { command: "rm -rf build" },
    always: ["rm *"],
    ...more,
  })
const replied = (id: string, session: string) =>
  bus("permission.replied", { sessionID: session, requestID: id, reply: "once" })
const created = (id: string, parentID?: string) =>
  bus("session.created", {
    sessionID: id,
    info: { id, version: "1", ...(parentID === undefined ? {} : { parentID }) },
  })
/** The id of the session's request, as it is logged. */
const requestOf = (session: string) =>
  house.logged(session).find(({ type }) => type === "attention.requested")?.id ?? ""

test("nothing waits: that is said, and is no failure", async () => {
  const { code, said, complained } = await house.run(["pending"])
  expect([code, said, complained]).toEqual([0, "", "opencode-aep: nothing waits\n"])
})

test("a request is shown with all that is needed to decide, and with the call that answers it", async () => {
  await house.tell(created("ses_a"), ask("per_a", "ses_a"))
  const { code, said } = await house.run(["pending"])
  expect(code).toBe(0)
  const lines = said.trim().split("\n")
  expect(lines[0]).toMatch(/^ses_a {2}opencode {2}permission {2}30 min left$/)
  expect(said).toContain("rm -rf build")
  expect(said).toContain("until the agent restarts: rm *")
  expect(said).toContain("and all other asks of this session")
  expect(lines.at(-1)).toBe(`  $ opencode-aep respond ${requestOf("ses_a")} once`)
  await house.tell(replied("per_a", "ses_a"))
  expect((await house.run(["pending"])).said).toBe("")
})

test("a sub-agent's request names the way to it, and a question its fields and choices", async () => {
  await house.tell(
    created("ses_root"),
    created("ses_child", "ses_root"),
    ask("per_child", "ses_child"),
    created("ses_q"),
    bus("question.asked", {
      id: "que_1",
      sessionID: "ses_q",
      questions: [
        { question: "Which colour?", header: "Colour", options: [{ label: "red" }, { label: "blue" }] },
        { question: "Which sizes?", header: "Sizes", multiple: true, options: [{ label: "S" }] },
      ],
    }),
  )
  const { said } = await house.run(["pending"])
  expect(said).toContain("  a sub-agent: ses_root > ses_child\n")
  expect(said).toMatch(
    / {2}1 {2}Colour: Which colour\? {2}\(one, or own words\)\n {4}1 {2}red\n {4}2 {2}blue\n/,
  )
  expect(said).toMatch(/ {2}2 {2}Sizes: Which sizes\? {2}\(several, or own words\)\n/)
  expect(said).toContain(`$ opencode-aep respond ${requestOf("ses_q")} --value 1=1 --value 2=1\n`)
  const only = await house.run(["pending", "--session", "ses_q"])
  expect(only.said).not.toContain("ses_child")
  const json = await house.run(["pending", "--session", "ses_q", "--json"])
  expect(
    json.said
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([house.logged("ses_q").find(({ type }) => type === "attention.requested")])
  await house.tell(
    replied("per_child", "ses_child"),
    bus("question.rejected", { sessionID: "ses_q", requestID: "que_1" }),
  )
})

test("text from outside cannot move the cursor or forge a line", async () => {
  const command = "echo \u001b[2J\u202e evil\r\nses_fake  opencode  permission"
  await house.tell(created("ses_evil"), ask("per_evil", "ses_evil", { metadata: { command } }))
  const { said } = await house.run(["pending"])
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly those must not come out
  expect(said).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
  expect(said.split("\n").filter((line) => line.startsWith("ses_"))).toHaveLength(1)
  await house.tell(replied("per_evil", "ses_evil"))
})

test("--watch goes on with what comes and how it ends, until it is interrupted", async () => {
  const child = house.start(["pending", "--watch"])
  await waitFor("the first look", 10_000, () => child.stderr().includes("nothing waits now"))
  await house.tell(created("ses_w"), ask("per_w", "ses_w"))
  await waitFor("request", 10_000, () => child.stdout().includes("opencode-aep respond"))
  await house.tell(replied("per_w", "ses_w"))
  const end = `${requestOf("ses_w")}  answered: once, at the agent\n`
  await waitFor("end", 10_000, () => child.stdout().includes(end))
  process.kill(child.pid, "SIGINT")
  expect(await child.exited).toBe(0)
})

test("without the token, and without a service, it says what to do", async () => {
  const closed = await house.run(["pending"], { AEP_TOKEN: "another-token-0123456789" })
  expect([closed.code, closed.complained]).toEqual([2, expect.stringContaining("set AEP_TOKEN")])
  const nobody = await house.run(["pending", "--url", `http://127.0.0.1:${suitePort("hub", 6)}`])
  expect([nobody.code, nobody.complained]).toEqual([2, expect.stringContaining("bun run service")])
})

test("inside an agent it may look, and help has an example", async () => {
  expect((await house.run(["pending"], { OPENCODE: "1" })).code).toBe(0)
  const help = await house.run(["pending", "--help"])
  expect([help.code, help.said]).toEqual([0, expect.stringContaining("$ opencode-aep pending --watch")])
})
