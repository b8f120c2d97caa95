/** Turns that go well or fail inside: an answer, tools, todos, a sub-agent, a provider that recovers. */
import type { ServeScenario } from "../scenario.ts"
import { begin, call, childOf, idle, read, START } from "./steps.ts"

const todo = (id: string, content: string, status: string) => ({ id, content, status, priority: "high" })
const dug = [todo("1", "dig", "in_progress"), todo("2", "fill", "pending")]
const filled = [todo("1", "dig", "completed"), todo("2", "fill", "in_progress")]

/** See the titles. */
export const TURNS: readonly ServeScenario[] = [
  {
    mode: "serve",
    copies: "project",
    name: "answer",
    title: "an answer without a tool finishes the run",
    budgetMs: 10_000,
    drive: async (agent) => {
      // Without a title, so that the agent makes one up by a request of its own.
      const main = await agent.createSession()
      await agent.prompt(main, "THINK: let me see\nSAY*5: hello")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.finished"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "tool-success",
    title: "a tool that succeeds is requested and completed inside a finished run",
    budgetMs: 10_000,
    drive: async (agent, { project }) => {
      const main = await begin(agent, "read", `${read(`${project}/notes.txt`)}\nSAY: read`)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "tool.requested read", "tool.completed read", "run.finished"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "tool-error",
    title: "a tool that fails is told as failed and the run still finishes",
    budgetMs: 10_000,
    drive: async (agent, { project }) => {
      const main = await begin(agent, "read nothing", `${read(`${project}/missing.txt`)}\nSAY: gone`)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "tool.requested read", "tool.failed read error", "run.finished"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "todos",
    title: "a todo list written twice plans each task once and completes the done one",
    budgetMs: 10_000,
    drive: async (agent) => {
      const [first, second] = [call("todowrite", { todos: dug }), call("todowrite", { todos: filled })]
      const main = await begin(agent, "todos", `${first}\n${second}\nSAY: dug`)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...START,
        "tool.requested todowrite",
        "progress.task.planned task-1",
        "progress.task.planned task-2",
        "tool.completed todowrite",
        "tool.requested todowrite",
        "progress.task.completed task-1",
        "tool.completed todowrite",
        "run.finished",
      ],
    }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "subagent",
    title: "a sub-agent is a session of its own with its parent, and a delegation on the parent",
    budgetMs: 15_000,
    drive: async (agent, { project }) => {
      const prompt = `${read(`${project}/notes.txt`)}\nSAY: seen`
      const task = call("task", { description: "look", prompt, subagent_type: "general" })
      const main = await begin(agent, "delegate", `${task}\nSAY: thanks`)
      const child = await childOf(agent, main)
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
        "tool.requested read",
        "tool.completed read",
        "run.finished",
      ],
    }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "retry",
    title: "a provider that refuses once and then answers leaves one finished run",
    budgetMs: 15_000,
    drive: async (agent) => {
      const main = await begin(agent, "retry", "ERR: 429 times=1 retry-after-ms=50\nSAY: back")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.finished"] }),
  },
]
