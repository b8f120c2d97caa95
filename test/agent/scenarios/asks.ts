/** Asks and questions, settled on the agent's own side: allowed, rejected, answered, dismissed, aborted. */
import type { ServeScenario } from "../scenario.ts"
import { AGENT_MS, ASK, ASKED, begin, call, idle, START, touch } from "./steps.ts"

/** What stands in the log of an allowed ask, whether the file lies in one folder or in two. */
const allowed = [
  ...ASKED,
  "attention.answered once oob",
  "attention.resolved answered",
  "tool.completed bash",
  "run.finished",
]

const allow: ServeScenario["drive"] = async (agent) => {
  const main = await begin(agent, "allow", `${touch}\nSAY: made`)
  await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "once")
  await idle(agent, main)
  return { main }
}

const options = [
  { label: "red", description: "warm" },
  { label: "blue", description: "cold" },
]
const colour = call("question", { questions: [{ question: "Which colour?", header: "Colour", options }] })

/** See the titles. */
export const ASKS: readonly ServeScenario[] = [
  {
    mode: "serve",
    copies: "project",
    name: "permission-once",
    title: "an ask allowed in the agent's own way is answered out of band, then its tool completes",
    budgetMs: 10_000,
    drive: allow,
    expected: () => ({ main: allowed }),
  },
  {
    mode: "serve",
    copies: "both",
    name: "two-copies",
    title: "the file in the project's and the user's folder doubles no event",
    budgetMs: 10_000,
    drive: allow,
    expected: () => ({ main: allowed }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "permission-always",
    title: "after an ask allowed for always the next matching call raises no ask",
    budgetMs: 10_000,
    drive: async (agent) => {
      // A command no other scenario uses: the leave holds for the whole server.
      const print = call("bash", { command: "printf hi", description: "prints" })
      const main = await begin(agent, "always", `${print}\n${print}\nSAY: twice`)
      await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "always")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...ASKED,
        "attention.answered always oob",
        "attention.resolved answered",
        "tool.completed bash",
        "tool.requested bash",
        "tool.completed bash",
        "run.finished",
      ],
    }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "permission-reject",
    title: "an ask rejected in the agent's own way fails its tool and the run as rejected",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "reject", `${touch}\nSAY: made`)
      await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "reject")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...ASKED,
        "attention.answered reject oob",
        "attention.resolved answered",
        "tool.failed bash rejected",
        "run.failed rejected",
      ],
    }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "abort-ask",
    title: "an abort while an ask is open dismisses it, fails its tool as aborted and cancels the run",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "abort", `${touch}\nSAY: made`)
      await agent.ask(main, AGENT_MS)
      await agent.abort(main)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [...ASKED, "attention.resolved dismissed", "tool.failed bash aborted", "run.cancelled user"],
    }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "delete-ask",
    title: "deleting a session with an open ask closes ask, tool and run before the session ends",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "delete", `${touch}\nSAY: made`)
      await agent.ask(main, AGENT_MS)
      await agent.remove(main)
      return { main }
    },
    expected: () => ({
      main: [
        ...ASKED,
        "attention.resolved dismissed",
        "tool.failed bash aborted",
        "run.cancelled user",
        "session.ended normal",
      ],
    }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "question",
    title: "a question is a form beside its tool call, and its answer completes both",
    budgetMs: 10_000,
    on: ({ features }) => features.question,
    drive: async (agent) => {
      const main = await begin(agent, "question", `${colour}\nSAY: blue then`)
      await agent.answerQuestion(await agent.question(main, AGENT_MS), [["blue"]])
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...START,
        "tool.requested question",
        "attention.requested form 1:select",
        'attention.answered {"1":"2"} oob',
        "attention.resolved answered",
        "tool.completed question",
        "run.finished",
      ],
    }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "question-dismissed",
    title: "a question the user dismisses ends the run as rejected",
    budgetMs: 10_000,
    on: ({ features }) => features.question,
    drive: async (agent) => {
      const main = await begin(agent, "dismiss", `${colour}\nSAY: blue then`)
      await agent.rejectQuestion(await agent.question(main, AGENT_MS))
      await idle(agent, main)
      return { main }
    },
    expected: ({ features }) => ({
      main: [
        ...START,
        "tool.requested question",
        "attention.requested form 1:select",
        "attention.resolved dismissed",
        features.dismissal === "failed" ? "tool.failed question dismissed" : "tool.completed question",
        "run.failed rejected",
      ],
    }),
  },
]

/** What stands in the log when an agent rejects an ask by itself. */
export const SELF_REJECTED = [
  ...START,
  "tool.requested bash",
  ASK,
  "attention.answered reject oob by host",
  "attention.resolved answered",
  "tool.failed bash rejected",
  "run.failed rejected",
]
