/**
 * Questions of the real agents, answered over the protocol as forms: choices, several, own words, texts, dismissal, and what is
 * refused. Set-up as in `scenarios.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { type Commander, openCommander } from "../agent/commander.ts"
import { begin, call } from "../agent/scenarios/steps.ts"
import type { LoggedEvent } from "../agent/service.ts"
import { AGENTS, type AgentVersion } from "../agent/versions.ts"
import {
  asked,
  byCommand,
  decision,
  ended,
  respond,
  runEnd,
  soundLogs,
  story,
  until,
  WAIT_MS,
} from "./answers.ts"
import { openParts, type Parts } from "./stage.ts"

const START_MS = 120_000
const TEST_MS = 60_000

const colour = {
  question: "Which colour?",
  header: "Colour",
  options: [
    { label: "red", description: "warm" },
    { label: "blue", description: "cold" },
  ],
}
const sizes = {
  question: "Which sizes?",
  header: "Sizes",
  multiple: true,
  options: [
    { label: "S", description: "small" },
    { label: "M", description: "medium" },
    { label: "L", description: "large" },
  ],
}
/** Two choices that read alike: a text of that label names neither, and is what was said. */
const twins = {
  question: "Which one?",
  header: "Twins",
  options: [
    { label: "same", description: "the one" },
    { label: "Same", description: "the other" },
  ],
}
/** A label that must not be told as it is, and must reach the model as it is. */
const secret = {
  question: "Which key?",
  header: "Key",
  options: [{ label: "password=hunter2hunter2", description: "the old one" }],
}

for (const agent of AGENTS.filter(({ features }) => features.question)) {
  describe(`${agent.label} > questions`, () => questions(agent))
}

function questions(agent: AgentVersion): void {
  let parts: Parts
  let commander: Commander
  beforeAll(async () => {
    parts = await openParts(agent, "project")
    commander = await openCommander(parts.service().url, parts.sandbox)
  }, START_MS)
  afterAll(async () => {
    commander?.close()
    await parts?.close()
  })
  const service = () => parts.service()

  const ask = async (title: string, ...questions: object[]): Promise<LoggedEvent> => {
    const session = await begin(parts.served, title, `${call("question", { questions })}\nSAY: thanks`)
    return asked(service(), session)
  }
  /** What the agent was given, one list a question. */
  const given = async (session: string): Promise<unknown> => {
    const replied = await parts.served.bus.until(
      "reply",
      WAIT_MS,
      ({ type, properties }) => type === "question.replied" && properties.sessionID === session,
    )
    return replied.properties.answers
  }

  test(
    "a question is a form, and its answer goes to the agent by the labels it asked with",
    async () => {
      const request = await ask("one", colour)
      expect(request).toMatchObject({
        data: {
          kind: "form",
          respond_via: ["control", "oob"],
          options: [{ id: "reject" }],
          fields: [
            {
              id: "1",
              type: "select",
              label: "Colour: Which colour?",
              required: true,
              other: true,
              choices: [
                { id: "1", label: "red" },
                { id: "2", label: "blue" },
              ],
            },
          ],
        },
      })
      const command = respond(commander, request, { values: { 1: "2" } })
      expect(await decision(commander, command)).toBe("accepted")
      expect(await ended(service(), request)).toEqual(byCommand(command, { values: { 1: "2" } }))
      expect(await given(request.session)).toEqual([["blue"]])
      expect(await runEnd(service(), request.session)).toMatchObject({ type: "run.finished" })
      expect(story(service(), request.session)).toEqual([
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

  const forms: [string, object[], Record<string, unknown>, unknown, unknown][] = [
    [
      "several questions",
      [colour, sizes],
      { values: { 1: "1", 2: ["1", "3"] } },
      [["red"], ["S", "L"]],
      { 1: "1", 2: ["1", "3"] },
    ],
    ["one choice of several", [sizes], { values: { 1: "2" } }, [["M"]], { 1: ["2"] }],
    [
      "own words",
      [colour],
      { values: { 1: "green, like grass" } },
      [["green, like grass"]],
      { 1: "green, like grass" },
    ],
    [
      "own words beside choices",
      [sizes],
      { values: { 1: ["1", "XXL"] } },
      [["S", "XXL"]],
      { 1: ["1", "XXL"] },
    ],
    ["a text that is a label", [colour], { text: " BLUE " }, [["blue"]], { 1: "2" }],
    ["a text that is a choice's id", [colour], { text: "1" }, [["red"]], { 1: "1" }],
    ["a text of its own", [colour], { text: "no idea" }, [["no idea"]], { 1: "no idea" }],
    ["a text that is the label of two choices", [twins], { text: "SAME" }, [["SAME"]], { 1: "SAME" }],
    ["an option that is a choice", [colour], { option: "2" }, [["blue"]], { 1: "2" }],
  ]
  test.each(forms)(
    "answered with %s",
    async (name, questions, answer, labels, values) => {
      const request = await ask(`form ${name}`, ...questions)
      const command = respond(commander, request, answer)
      expect(await decision(commander, command)).toBe("accepted")
      expect(await ended(service(), request)).toMatchObject({
        how: "answered",
        answer: { values },
        cause: command,
      })
      expect(await given(request.session)).toEqual(labels)
      await runEnd(service(), request.session)
    },
    TEST_MS,
  )

  const bad: [string, object[], Record<string, unknown>, string][] = [
    ["a question is left out", [colour, sizes], { values: { 1: "1" } }, "invalid values"],
    ["a list is empty", [sizes], { values: { 1: [] } }, "invalid values"],
    ["one choice is wanted and a list comes", [colour], { values: { 1: ["1", "2"] } }, "invalid values"],
    ["a number comes", [colour], { values: { 1: 1 } }, "invalid values"],
    ["there is no such question", [colour], { values: { 1: "1", 9: "1" } }, "invalid values"],
    ["a text comes for several questions", [colour, sizes], { text: "red" }, "invalid form"],
    ["an option comes that is no choice", [colour], { option: "7" }, "invalid option"],
    ["a text says nothing", [colour], { text: "  " }, "invalid values"],
  ]
  test.each(bad)(
    "is invalid where %s, and stays open",
    async (name, questions, answer, expected) => {
      const request = await ask(`bad ${name}`, ...questions)
      expect(await decision(commander, respond(commander, request, answer))).toBe(expected)
      const good = Object.fromEntries(questions.map((_, index) => [String(index + 1), "1"]))
      const command = respond(commander, request, { values: good })
      expect(await decision(commander, command)).toBe("accepted")
      expect(await ended(service(), request)).toMatchObject({ how: "answered", cause: command })
      await runEnd(service(), request.session)
    },
    TEST_MS,
  )

  test(
    "a dismissal ends the run as the agent's own does",
    async () => {
      const request = await ask("dismissed", colour)
      const command = respond(commander, request, { option: "reject" })
      expect(await decision(commander, command)).toBe("accepted")
      expect(await ended(service(), request)).toEqual(byCommand(command, { option: "reject" }))
      expect(await runEnd(service(), request.session)).toMatchObject({
        type: "run.failed",
        data: { reason: "rejected" },
      })
    },
    TEST_MS,
  )

  test(
    "a label that is hidden in the record reaches the model as it was",
    async () => {
      const request = await ask("secret", secret)
      expect(JSON.stringify(request)).not.toContain("hunter2")
      const command = respond(commander, request, { values: { 1: "1" } })
      expect(await ended(service(), request)).toMatchObject({ how: "answered", cause: command })
      expect(await given(request.session)).toEqual([["password=hunter2hunter2"]])
      await runEnd(service(), request.session)
    },
    TEST_MS,
  )

  test(
    "answered in the agent's own dialog first, a later answer is refused",
    async () => {
      const request = await ask("local", colour)
      await parts.served.answerQuestion(await parts.served.question(request.session, WAIT_MS), [["red"]])
      expect(await ended(service(), request)).toMatchObject({
        how: "answered",
        via: "oob",
        answer: { values: { 1: "1" } },
      })
      const command = respond(commander, request, { values: { 1: "2" } })
      expect(await decision(commander, command)).toBe("refused answered")
      await runEnd(service(), request.session)
    },
    TEST_MS,
  )

  test(
    "after an abort a question is dismissed, and a later answer is refused",
    async () => {
      const request = await ask("aborted", colour)
      await parts.served.abort(request.session)
      expect(await ended(service(), request)).toMatchObject({ how: "dismissed" })
      const command = respond(commander, request, { values: { 1: "2" } })
      expect(await decision(commander, command)).toBe("refused withdrawn")
      await runEnd(service(), request.session)
    },
    TEST_MS,
  )

  test(
    "after a restart of the service the labels are known to the plugin still",
    async () => {
      const request = await ask("restart", colour, sizes)
      await service().stop()
      await parts.restart({})
      commander.close()
      commander = await openCommander(service().url, parts.sandbox)
      let command = ""
      await until("an agent that listens again", async () => {
        command = respond(commander, request, { values: { 1: "2", 2: ["3"] } })
        return (await decision(commander, command)) === "accepted"
      })
      expect(await ended(service(), request)).toMatchObject({ how: "answered", cause: command })
      expect(await given(request.session)).toEqual([["blue"], ["L"]])
      await runEnd(service(), request.session)
    },
    TEST_MS,
  )

  test("every log is sound", () => soundLogs(service()), TEST_MS)
}
