/**
 * Permission asks of the real agents, answered over the protocol: every surface, every option, texts, races, several asks at
 * once, asks of sub-agents. Set-up as in `scenarios.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Commander, openCommander } from "../agent/commander.ts"
import { begin, call, childOf } from "../agent/scenarios/steps.ts"
import type { LoggedEvent } from "../agent/service.ts"
import type { Setup } from "../agent/setup.ts"
import { waitFor } from "../agent/wait.ts"
import {
  asked,
  byCommand,
  decision,
  ended,
  respond,
  runEnd,
  SURFACES,
  type Surface,
  soundLogs,
  story,
  WAIT_MS,
} from "./answers.ts"
import { openParts, type Parts } from "./stage.ts"

const START_MS = 120_000
const TEST_MS = 90_000

/** A project where everything that can be asked about is. */
const CAREFUL: Setup = {
  name: "careful",
  permission: { bash: "ask", edit: "ask", external_directory: "ask", task: "allow" },
}

/** A project whose sub-agents may delegate further, as none may unless it is told so; 1.0 knows no depth. */
const deepSetup = ({ features }: Surface["agent"]): Setup => ({
  name: "deep",
  more: features.legacy ? {} : { subagent_depth: 2 },
  permission: { bash: "ask", edit: "ask", task: "allow" },
  files: {
    "agent/deep.md":
      "---\ndescription: Delegates.\nmode: subagent\ntools:\n  task: true\n---\nDo what you are told.\n",
  },
})

for (const surface of SURFACES) describe(`${surface.name} > asks`, () => asks(surface))

function asks(surface: Surface): void {
  const { agent, allow, refuse } = surface
  let parts: Parts
  let commander: Commander
  beforeAll(async () => {
    parts = await openParts(agent, "project", {}, surface.env)
    commander = await openCommander(parts.service().url, parts.sandbox)
  }, START_MS)
  afterAll(async () => {
    commander?.close()
    await parts?.close()
  })

  let made = 0
  /** A call that writes a file of its own, and the file. */
  const writing = (): { line: string; file: string; isThere: () => boolean } => {
    made += 1
    const file = join(parts.sandbox.project, `made-${made}.txt`)
    const line = call("bash", { command: `echo hi > made-${made}.txt`, description: "makes a file" })
    return { line, file, isThere: () => existsSync(file) }
  }
  const service = () => parts.service()

  test(
    `${allow} is carried out, and the record says whose answer it was`,
    async () => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, "allow", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      expect(request).toMatchObject({
        subject: "bash",
        severity: "notice",
        data: {
          kind: "permission",
          respond_via: surface.hasDialog ? ["control", "oob"] : ["control"],
          options: surface.hasDialog
            ? [{ id: "once" }, { id: "always" }, { id: "reject" }]
            : [{ id: "allow" }, { id: "deny" }],
        },
      })
      expect(String(request.data?.prompt)).toContain("echo hi > made-")
      expect(isThere()).toBe(false)
      const command = respond(commander, request, { option: allow })
      expect(await decision(commander, command)).toBe("accepted")
      expect(await ended(service(), request)).toEqual(byCommand(command, { option: allow }))
      expect(await runEnd(service(), session)).toMatchObject({ type: "run.finished" })
      expect(isThere()).toBe(true)
      expect(story(service(), session)).toEqual([
        "attention.requested",
        "control.accepted",
        "attention.answered",
        "attention.resolved",
        "tool.completed",
        "run.finished",
      ])
    },
    TEST_MS,
  )

  test(
    `${refuse} stops the run, and nothing is written`,
    async () => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, "refuse", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      const command = respond(commander, request, { option: refuse })
      expect(await ended(service(), request)).toEqual(byCommand(command, { option: refuse }))
      expect(await runEnd(service(), session)).toMatchObject({
        type: "run.failed",
        data: { reason: "rejected" },
      })
      expect(isThere()).toBe(false)
    },
    TEST_MS,
  )

  test(
    "a refusal with a reason: the record keeps it, and the model reads it where the agent carries it",
    async () => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, "reason", `${line}\nSAY: another way then`)
      const request = await asked(service(), session)
      const command = respond(commander, request, { option: refuse, text: "use the make target" })
      expect(await ended(service(), request)).toEqual(
        byCommand(command, { option: refuse, text: "use the make target" }),
      )
      const end = await runEnd(service(), session)
      expect(isThere()).toBe(false)
      const messages = JSON.stringify(await parts.served.call("GET", `/session/${session}/message`))
      expect(messages.includes("use the make target")).toBe(surface.carriesReason)
      expect(end.type).toBe(surface.carriesReason ? "run.finished" : "run.failed")
    },
    TEST_MS,
  )

  if (surface.hasDialog) {
    test(
      "always is carried out, and the next call alike asks nothing",
      async () => {
        const line = call("bash", { command: "printf always", description: "prints" })
        const session = await begin(parts.served, "always", `${line}\n${line}\nSAY: twice`)
        const request = await asked(service(), session)
        const command = respond(commander, request, { option: "always" })
        expect(await ended(service(), request)).toEqual(byCommand(command, { option: "always" }))
        expect(await runEnd(service(), session)).toMatchObject({ type: "run.finished" })
        expect(
          service()
            .events(session)
            .filter(({ type }) => type === "attention.requested"),
        ).toHaveLength(1)
      },
      TEST_MS,
    )
  }

  const refused = { option: refuse }
  const texts: [string, Record<string, unknown>, string, Record<string, unknown> | undefined][] = [
    ["an id", { text: allow }, "accepted", { option: allow }],
    ["an id in capitals with spaces", { text: `  ${allow.toUpperCase()} ` }, "accepted", { option: allow }],
    ["a label", { text: surface.hasDialog ? "allow ONCE" : "ALLOW" }, "accepted", { option: allow }],
    ["nothing", { text: "" }, "invalid text", undefined],
    ["spaces", { text: "   " }, "invalid text", undefined],
    ["yes", { text: "yes" }, "invalid text", undefined],
    ["allow all", { text: "allow all" }, "invalid text", undefined],
    [
      "a sentence that allows",
      { text: "yes, always allow this" },
      "accepted",
      { ...refused, text: "yes, always allow this" },
    ],
    ["a reason", { text: "not on a friday" }, "accepted", { ...refused, text: "not on a friday" }],
    ["an option with a text", { option: allow, text: "go on" }, "accepted", { option: allow }],
    ["an option that is not offered", { option: "maybe" }, "invalid option", undefined],
    ["values", { values: { 1: "1" } }, "invalid values", undefined],
    ["no answer", {}, "invalid answer", undefined],
  ]
  test.each(texts)(
    "the answer %s",
    async (name, answer, expected, applied) => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, `text ${name}`, `${line}\nSAY: made`)
      const request = await asked(service(), session)
      const command = respond(commander, request, answer)
      expect(await decision(commander, command)).toBe(expected)
      if (applied === undefined) {
        expect(isThere()).toBe(false)
        // Nothing happened to the request: it can be answered still.
        const second = respond(commander, request, { option: refuse })
        expect(await ended(service(), request)).toEqual(byCommand(second, { option: refuse }))
      } else expect(await ended(service(), request)).toEqual(byCommand(command, applied))
      await runEnd(service(), session)
      expect(isThere()).toBe(applied?.option === allow)
    },
    TEST_MS,
  )

  if (surface.hasDialog) {
    test(
      "answered at the terminal first: the late command is refused, and the record says who it was",
      async () => {
        const { line, isThere } = writing()
        const session = await begin(parts.served, "local first", `${line}\nSAY: made`)
        const request = await asked(service(), session)
        await parts.served.answerAsk(session, await parts.served.ask(session, WAIT_MS), "once")
        expect(await ended(service(), request)).toEqual({
          how: "answered",
          answer: { option: "once" },
          via: "oob",
          by: undefined,
          cause: request.id,
        })
        const command = respond(commander, request, { option: "reject" })
        expect(await decision(commander, command)).toBe("refused answered")
        await runEnd(service(), session)
        expect(isThere()).toBe(true)
      },
      TEST_MS,
    )

    test(
      "answered from elsewhere first: the agent's own dialog has nothing left to answer",
      async () => {
        const { line, isThere } = writing()
        const session = await begin(parts.served, "remote first", `${line}\nSAY: made`)
        const request = await asked(service(), session)
        const command = respond(commander, request, { option: "reject" })
        expect(await ended(service(), request)).toEqual(byCommand(command, { option: "reject" }))
        const ask = await parts.served.ask(session, WAIT_MS)
        // 1.0 answers 200 to whatever it knows no more, and does nothing.
        const late = parts.served.answerAsk(session, ask, "once")
        if (agent.features.legacy) await late
        else expect(late).rejects.toThrow("404")
        await runEnd(service(), session)
        expect(isThere()).toBe(false)
      },
      TEST_MS,
    )

    test(
      "answered at both ends at once: one of the two is applied, and the record names that one",
      async () => {
        for (let nth = 0; nth < 5; nth += 1) {
          const { line, isThere } = writing()
          const session = await begin(parts.served, `both ${nth}`, `${line}\nSAY: made`)
          const request = await asked(service(), session)
          const ask = await parts.served.ask(session, WAIT_MS)
          const command = respond(commander, request, { option: "reject" })
          const local = await parts.served.answerAsk(session, ask, "once").then(
            () => "taken",
            () => "refused",
          )
          const end = await ended(service(), request)
          const said = await decision(commander, command)
          await runEnd(service(), session)
          const isRemote = end.via === "control"
          expect(end.answer).toEqual({ option: isRemote ? "reject" : "once" })
          expect(said).toBe(isRemote ? "accepted" : "refused answered")
          if (!agent.features.legacy) expect(local).toBe(isRemote ? "refused" : "taken")
          expect(isThere()).toBe(!isRemote)
        }
      },
      TEST_MS,
    )
  }

  test(
    "two commands at once: one is applied, the other is told that it was too late",
    async () => {
      const { line, isThere } = writing()
      const session = await begin(parts.served, "two commands", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      const [first, second] = [
        respond(commander, request, { option: allow }),
        respond(commander, request, { option: refuse }),
      ]
      expect(await decision(commander, first)).toBe("accepted")
      expect(await decision(commander, second)).toMatch(/^(busy underway|refused answered)$/)
      expect(await ended(service(), request)).toEqual(byCommand(first, { option: allow }))
      await runEnd(service(), session)
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )

  test(
    "a command sent twice is decided once, and both decisions are the same bytes",
    async () => {
      const { line } = writing()
      const session = await begin(parts.served, "twice", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      const command = respond(commander, request, { option: allow })
      respond(commander, request, { option: allow }, { id: command })
      await commander.ack(command)
      respond(commander, request, { option: allow }, { id: command })
      await waitFor("repeated decision", WAIT_MS, () => commander.acks(command).length >= 2)
      expect(new Set(commander.acks(command)).size).toBe(1)
      await runEnd(service(), session)
      const decisions = service()
        .events(session)
        .filter(({ cause, type }) => cause === command && type.startsWith("control."))
      expect(decisions.map(({ type }) => type)).toEqual(
        ["control.attention.respond", "control.accepted"].slice(1),
      )
    },
    TEST_MS,
  )

  test(
    "a request that nobody made, and one of another session, are no target",
    async () => {
      const { line } = writing()
      const session = await begin(parts.served, "wrong target", `${line}\nSAY: made`)
      const request = await asked(service(), session)
      const other = await begin(parts.served, "neighbour", "SAY: hello")
      await runEnd(service(), other)
      const nobody = respond(commander, request, { option: allow }, { subject: "01NOBODY" })
      expect(await decision(commander, nobody)).toBe("invalid subject")
      const elsewhere = respond(commander, request, { option: allow }, { session: other })
      expect(await decision(commander, elsewhere)).toBe("invalid subject")
      const last = respond(commander, request, { option: refuse })
      expect(await ended(service(), request)).toEqual(byCommand(last, { option: refuse }))
      await runEnd(service(), session)
    },
    TEST_MS,
  )

  test(
    "five sessions ask at once, and each gets its own answer",
    async () => {
      const all = await Promise.all(
        [0, 1, 2, 3, 4].map(async (nth) => {
          const { line, isThere } = writing()
          const session = await begin(parts.served, `five ${nth}`, `${line}\nSAY: made`)
          return { session, isThere, isAllowed: nth % 2 === 0 }
        }),
      )
      const requests = await Promise.all(all.map(({ session }) => asked(service(), session)))
      const commands = requests.map((request, nth) =>
        respond(commander, request, { option: all[nth]?.isAllowed === true ? allow : refuse }),
      )
      for (const [nth, request] of requests.entries()) {
        const option = all[nth]?.isAllowed === true ? allow : refuse
        expect(await ended(service(), request)).toEqual(byCommand(commands[nth] ?? "", { option }))
      }
      for (const { session, isThere, isAllowed } of all) {
        await runEnd(service(), session)
        expect(isThere()).toBe(isAllowed)
      }
    },
    TEST_MS,
  )

  test(
    "three asks of one session, one refused: the others end as the agent ends them",
    async () => {
      const files = [writing(), writing(), writing()]
      const [a, b, c] = files.map(({ line }) => line.replace("RUN: ", ""))
      const session = await begin(parts.served, "three", `RUN: ${a}\nAND: ${b}\nAND: ${c}\nSAY: made`)
      const requests = await Promise.all([1, 2, 3].map((nth) => asked(service(), session, nth)))
      const [first, second, third] = requests
      if (first === undefined || second === undefined || third === undefined)
        throw new Error("three were made")
      const command = respond(commander, second, { option: refuse })
      expect(await ended(service(), second)).toEqual(byCommand(command, { option: refuse }))
      if (agent.features.legacy) {
        // 1.0 refuses the one alone.
        for (const request of [first, third]) {
          const one = respond(commander, request, { option: allow })
          expect(await ended(service(), request)).toEqual(byCommand(one, { option: allow }))
        }
      } else {
        expect(labelOf(second, "reject")).toContain("all other asks of this session")
        for (const request of [first, third])
          expect(await ended(service(), request)).toMatchObject({ how: "auto" })
        expect(await decision(commander, respond(commander, first, { option: allow }))).toBe(
          "refused answered",
        )
      }
      await runEnd(service(), session)
      const written = files.filter(({ isThere }) => isThere()).length
      expect(written).toBe(agent.features.legacy ? 2 : 0)
    },
    TEST_MS,
  )

  if (!agent.features.legacy) {
    test(
      "one call that asks twice is two requests, and each is answered for itself",
      async () => {
        const careful = parts.sandbox.other(CAREFUL)
        const served = await parts.served.at(careful)
        const file = join(parts.sandbox.outside, "written.txt")
        const line = call("write", { filePath: file, content: "new\n" })
        const session = await begin(served, "asks twice", `${line}\nSAY: written`)
        const outside = await asked(service(), session, 1)
        expect(outside.subject).toBe("external_directory")
        respond(commander, outside, { option: "once" })
        const edit = await asked(service(), session, 2)
        expect(edit.subject).toBe("edit")
        expect(String(edit.data?.prompt)).toContain("(tool: write)")
        expect(edit.cause).toBe(outside.cause ?? "")
        // The leave for the one is none for the other.
        expect(existsSync(file)).toBe(false)
        const again = respond(commander, outside, { option: "once" })
        expect(await decision(commander, again)).toBe("refused answered")
        expect(existsSync(file)).toBe(false)
        respond(commander, edit, { option: "once" })
        expect(await runEnd(service(), session)).toMatchObject({ type: "run.finished" })
        expect(readFileSync(file, "utf8")).toBe("new\n")
      },
      TEST_MS,
    )
  }

  test(
    "a sub-agent's ask is raised in its own session, names root and path, and is answered there",
    async () => {
      const { line, isThere } = writing()
      const prompt = `${line}\nSAY: made`
      const task = call("task", { description: "make", prompt, subagent_type: "general" })
      const main = await begin(parts.served, "delegate", `${task}\nSAY: thanks`)
      const child = await childOf(parts.served, main)
      const request = await asked(service(), child)
      const name = agent.agent
      expect(request).toMatchObject({
        session: child,
        [`${name}root`]: main,
        [`${name}path`]: `${main}/${child}`,
      })
      const command = respond(commander, request, { option: allow })
      expect(await ended(service(), request)).toEqual(byCommand(command, { option: allow }))
      expect(await runEnd(service(), main)).toMatchObject({ type: "run.finished" })
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )

  test(
    "a grandchild's ask is raised in its own session, and the whole way down to it is named",
    async () => {
      const deep = parts.sandbox.other(deepSetup(agent))
      const served = await parts.served.at(deep)
      const file = join(deep.project, "deep.txt")
      const line = call("bash", { command: "echo hi > deep.txt", description: "makes a file" })
      const delegate = (subagent_type: string, prompt: string) =>
        `${call("task", { description: "make", prompt, subagent_type })}\nSAY: thanks`
      const main = await begin(served, "deep", delegate("deep", delegate("general", `${line}\nSAY: made`)))
      const child = await childOf(served, main)
      const grandchild = await childOf(served, child)
      const request = await asked(service(), grandchild)
      expect(request).toMatchObject({
        session: grandchild,
        [`${agent.agent}root`]: main,
        [`${agent.agent}path`]: `${main}/${child}/${grandchild}`,
      })
      expect(existsSync(file)).toBe(false)
      const command = respond(commander, request, { option: allow })
      expect(await ended(service(), request)).toEqual(byCommand(command, { option: allow }))
      expect(await runEnd(service(), main)).toMatchObject({ type: "run.finished" })
      expect(existsSync(file)).toBe(true)
    },
    TEST_MS,
  )

  test(
    "an ask of a session the plugin never met is shown, with its parent once that is known",
    async () => {
      // The agent's store is the only place that knows these: they were made before the agent that asks now.
      const { line, isThere } = writing()
      const session = await begin(parts.served, "resumed", "SAY: one")
      await runEnd(service(), session)
      await parts.served.prompt(session, `${line}\nSAY: made`)
      const request = await asked(service(), session)
      const command = respond(commander, request, { option: allow })
      expect(await ended(service(), request)).toEqual(byCommand(command, { option: allow }))
      await runEnd(service(), session, 2)
      expect(isThere()).toBe(true)
    },
    TEST_MS,
  )

  test("every log is sound", () => soundLogs(service()), TEST_MS)
}

function labelOf({ data }: LoggedEvent, option: string): string {
  const options = (data?.options ?? []) as { id: string; label: string }[]
  return options.find(({ id }) => id === option)?.label ?? ""
}
