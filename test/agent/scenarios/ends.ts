/** Ends other than well, and what is no turn at all: errors, aborts, deletes, copies, compaction, a user's shell. */
import type { ServeScenario } from "../scenario.ts"
import { AGENT_MS, answering, begin, idle, START } from "./steps.ts"

/** See the titles. */
export const ENDS: readonly ServeScenario[] = [
  {
    mode: "serve",
    copies: "project",
    name: "error-401",
    title: "a provider that refuses the key fails the run with the error's name",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "refused", "ERR: 401")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.failed APIError"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "finish-length",
    title: "an answer cut short by its length fails the run",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "length", "LENGTH: and then")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.failed length"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "abort-streaming",
    title: "an abort while the model answers cancels the run",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "abort", "HANG:")
      await answering(agent, main)
      await agent.abort(main)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.cancelled user"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "delete",
    title: "deleting a session ends it as normal, after its run",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "delete", "SAY: hello")
      await idle(agent, main)
      await agent.remove(main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.finished", "session.ended normal"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "two-turns",
    title: "a second prompt opens a second run in the same session",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "twice", "SAY: one")
      await idle(agent, main)
      await agent.prompt(main, "SAY: two")
      await idle(agent, main, 2)
      return { main }
    },
    expected: () => ({ main: [...START, "run.finished", "run.started user", "run.finished"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "fork",
    title: "a fork is a session, and the history it copies opens no run",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "fork", "SAY: one")
      await idle(agent, main)
      return { main, fork: await agent.fork(main) }
    },
    expected: () => ({ main: [...START, "run.finished"], fork: ["session.started"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "compaction",
    title: "a compaction is told once and opens no run",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await begin(agent, "compact", "SAY: one")
      await idle(agent, main)
      await agent.summarize(main)
      await agent.bus.until(
        `compaction of ${main}`,
        AGENT_MS,
        ({ type, properties }) => type === "session.compacted" && properties.sessionID === main,
      )
      await idle(agent, main, 2)
      return { main }
    },
    expected: () => ({ main: [...START, "run.finished", "session.compacted"] }),
  },
  {
    mode: "serve",
    copies: "project",
    name: "shell",
    title: "a command of the user's own shell is no run",
    budgetMs: 10_000,
    drive: async (agent) => {
      const main = await agent.createSession("shell")
      await agent.shell(main, "echo mine")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: ["session.started"] }),
  },
]
