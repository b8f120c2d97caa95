/** What the user's configuration decides by itself, and asks that come side by side or are refused with a word. */
import type { ServeScenario } from "../scenario.ts"
import { NO_CURL, NO_SHELL } from "../setup.ts"
import {
  AGENT_MS,
  ASK,
  ASKED,
  allow,
  and,
  answered,
  asks,
  begin,
  call,
  childOf,
  idle,
  SERVE,
  START,
  touch,
} from "./steps.ts"

const curl = call("bash", { command: "curl http://127.0.0.1:9/", description: "fetches" })
const shell = (command: string) => ({ command, description: "prints" })
const two = `${call("bash", shell("echo one > one.txt"))}\n${and("bash", shell("echo two > two.txt"))}\nSAY: both`
const TWO_ASKED = [...START, "tool.requested bash", "tool.requested bash", ASK, ASK]

/** See the titles. */
export const RULES: readonly ServeScenario[] = [
  {
    ...SERVE,
    name: "denied-pattern",
    title:
      "a command that a rule of the configuration refuses is denied by the user's setting, and nobody is asked",
    setup: NO_CURL,
    drive: async (agent) => {
      const main = await begin(agent, "deny", `${curl}\nSAY: kept`)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [...START, "tool.requested bash", "tool.denied bash user_setting", "run.finished"],
    }),
  },
  {
    ...SERVE,
    name: "denied-tool",
    title:
      "a tool the configuration withholds is called in vain: as a tool for invalid calls, or failed under its name",
    setup: NO_SHELL,
    drive: async (agent) => {
      const main = await begin(agent, "withhold", `${curl}\nSAY: kept`)
      await idle(agent, main)
      return { main }
    },
    expected: ({ features }) => ({
      main: [
        ...START,
        ...(features.hasInvalid
          ? ["tool.requested invalid", "tool.completed invalid"]
          : ["tool.requested bash", "tool.failed bash error"]),
        "run.finished",
      ],
    }),
  },
  {
    ...SERVE,
    name: "reject-message",
    title: "an ask rejected with a word for the model fails its tool, and the run goes on to its end",
    // 1.0 has no such word.
    on: ({ features }) => !features.legacy,
    drive: async (agent) => {
      const main = await begin(agent, "reject", `${touch}\nSAY: not then`)
      await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "reject", "write nothing")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [...ASKED, ...answered("reject"), "tool.failed bash rejected", "run.finished"],
    }),
  },
  {
    ...SERVE,
    name: "parallel-reject",
    isParallel: true,
    title: "one of two open asks rejected takes the other one along, which nobody answered",
    // On 1.0 each ask is its own; see the next one.
    on: ({ features }) => !features.legacy,
    drive: async (agent) => {
      const main = await begin(agent, "parallel", two)
      await agent.ask(main, AGENT_MS, 2)
      await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "reject")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...TWO_ASKED,
        ...answered("reject"),
        "attention.resolved auto",
        "tool.failed bash rejected",
        "tool.failed bash rejected",
        "run.failed rejected",
      ],
    }),
  },
  {
    ...SERVE,
    name: "parallel-reject-alone",
    isParallel: true,
    title: "one of two open asks rejected on 1.0 leaves the other one open, and the run ends as rejected",
    on: ({ features }) => features.legacy,
    drive: async (agent) => {
      const main = await begin(agent, "parallel", two)
      const second = await agent.ask(main, AGENT_MS, 2)
      await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "reject")
      // Of this session: the server has failed calls of other scenarios behind it.
      const isFailed = (part: unknown) => {
        const text = JSON.stringify(part ?? {})
        return text.includes('"status":"error"') && text.includes(main)
      }
      await agent.bus.until(
        `failed call in ${main}`,
        AGENT_MS,
        ({ type, properties }) => type === "message.part.updated" && isFailed(properties.part),
      )
      await agent.answerAsk(main, second, "once")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...TWO_ASKED,
        ...answered("reject"),
        "tool.failed bash rejected",
        ...answered("once"),
        "tool.completed bash",
        "run.failed rejected",
      ],
    }),
  },
  {
    ...SERVE,
    name: "subagent-asks",
    title: "the ask of a sub-agent stands in the sub-agent's own session",
    budgetMs: 15_000,
    drive: async (agent) => {
      const prompt = `${touch}\nSAY: made`
      const task = call("task", { description: "make", prompt, subagent_type: "general" })
      const main = await begin(agent, "delegate an ask", `${task}\nSAY: thanks`)
      const child = await childOf(agent, main)
      await allow(agent, child, 1)
      await idle(agent, main)
      return { main, child }
    },
    expected: () => ({
      main: [
        ...START,
        "tool.requested task",
        "delegation.subagent.started child",
        "delegation.subagent.stopped child",
        "tool.completed task",
        "run.finished",
      ],
      child: [
        "session.started of main",
        "run.started agent",
        "tool.requested bash",
        ASK,
        ...answered("once"),
        "tool.completed bash",
        "run.finished",
      ],
    }),
  },
  {
    ...SERVE,
    name: "doom-loop",
    isParallel: true,
    title:
      "the third call alike in one answer is asked about by the loop's own rule, and is carried out meanwhile",
    drive: async (agent, { project }) => {
      const same = { filePath: `${project}/notes.txt` }
      const main = await begin(
        agent,
        "again",
        `${call("read", same)}\n${and("read", same)}\n${and("read", same)}\nSAY: read`,
      )
      const ask = await agent.ask(main, AGENT_MS)
      // The ask holds the loop and none of the calls.
      await agent.quiet(500)
      await agent.answerAsk(main, ask, "once")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...START,
        "tool.requested read",
        "tool.completed read",
        "tool.requested read",
        "tool.completed read",
        "tool.requested read",
        "tool.completed read",
        asks("doom_loop"),
        ...answered("once"),
        "run.finished",
      ],
    }),
  },
]
