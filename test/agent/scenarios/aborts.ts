/** What a user's abort cuts short, and a "yes" that comes after it. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { ServeScenario } from "../scenario.ts"
import { DISPOSED, NO_CURL, UNREACHABLE } from "../setup.ts"
import { waitFor } from "../wait.ts"
import {
  AGENT_MS,
  ASKED,
  answering,
  asks,
  begin,
  call,
  childOf,
  idle,
  retrying,
  SERVE,
  START,
  touch,
} from "./steps.ts"

/** The service judges a run 500 ms after idle; what comes later than this comes after the verdict. */
const JUDGED_MS = 1_000

/** See the titles. */
export const ABORTS: readonly ServeScenario[] = [
  {
    ...SERVE,
    name: "abort-tool",
    title: "an abort while a command runs cancels the run, and the call ends as the agent calls it",
    setup: NO_CURL,
    drive: async (agent, { project }) => {
      const command = "echo > begun.txt; sleep 30"
      const main = await begin(agent, "abort", call("bash", { command, description: "sleeps" }))
      await waitFor("start of the command", AGENT_MS, () => existsSync(join(project, "begun.txt")))
      await agent.abort(main)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      // All three call the hook after it: "User aborted the command" is its output.
      main: [...START, "tool.requested bash", "tool.completed bash", "run.cancelled user"],
    }),
  },
  {
    ...SERVE,
    name: "abort-parent",
    title: "an abort of a session whose sub-agent works cancels both, and tells that the sub-agent stopped",
    drive: async (agent) => {
      const task = call("task", { description: "wait", prompt: "HANG:", subagent_type: "general" })
      const main = await begin(agent, "abort", `${task}\nHANG:`)
      const child = await childOf(agent, main)
      await answering(agent, child)
      await agent.abort(main)
      await idle(agent, main)
      return { main, child }
    },
    expected: ({ features }) => ({
      main: [
        ...START,
        "tool.requested task",
        "delegation.subagent.started child",
        "delegation.subagent.stopped child",
        // 1.0 calls the hook after it, with what the sub-agent had said.
        features.legacy ? "tool.completed task" : "tool.failed task aborted",
        "run.cancelled user",
      ],
      child: ["session.started of main", "run.started agent", "run.cancelled user"],
    }),
  },
  {
    ...SERVE,
    name: "abort-retry",
    title: "an abort while the agent waits to try again cancels the run",
    drive: async (agent) => {
      const main = await begin(agent, "abort", "ERR: 429 retry-after-ms=20000")
      await retrying(agent, main)
      await agent.abort(main)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.cancelled user"] }),
  },
  {
    ...SERVE,
    name: "unreachable",
    title: "a provider that cannot be reached is tried again until the user's abort cancels the run",
    setup: UNREACHABLE,
    // 1.0 does not try again; see `unreachable-legacy`.
    on: ({ features }) => !features.legacy,
    drive: async (agent) => {
      const main = await begin(agent, "unreachable", "SAY: never")
      await retrying(agent, main)
      await agent.abort(main)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.cancelled user"] }),
  },
  {
    ...SERVE,
    name: "unreachable-legacy",
    title: "a provider that cannot be reached fails the run at once on 1.0",
    setup: UNREACHABLE,
    on: ({ features }) => features.legacy,
    drive: async (agent) => {
      const main = await begin(agent, "unreachable", "SAY: never")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.failed UnknownError"] }),
  },
  {
    ...SERVE,
    name: "late-yes",
    title: "a yes after the abort carries the write out, and the record warns of it",
    budgetMs: 15_000,
    drive: async (agent, { project }) => {
      const file = join(project, "late.txt")
      const main = await begin(agent, "late", call("write", { filePath: file, content: "late\n" }))
      const ask = await agent.ask(main, AGENT_MS)
      await agent.abort(main)
      await idle(agent, main)
      await agent.quiet(JUDGED_MS)
      await agent.answerAsk(main, ask, "once")
      await waitFor("late write", AGENT_MS, () => existsSync(file))
      return { main }
    },
    expected: ({ features }) => ({
      main: [
        ...START,
        "tool.requested write",
        asks(features.legacy ? "write" : "edit"),
        "attention.resolved dismissed",
        "tool.failed write aborted",
        "run.cancelled user",
        "warning permission.replied",
        "warning tool.late",
      ],
    }),
  },
  {
    ...SERVE,
    name: "dispose-ask",
    title:
      "the end of the plugin's instance closes what is open as shut down, and the instance's own session",
    setup: DISPOSED,
    drive: async (agent) => {
      const main = await begin(agent, "dispose", `${touch}\nSAY: made`)
      await agent.ask(main, AGENT_MS)
      await agent.call("POST", "/instance/dispose")
      return { main }
    },
    expected: () => ({
      main: [...ASKED, "attention.resolved dismissed", "tool.failed bash aborted", "run.cancelled shutdown"],
      "instance of main": ["session.started", "session.ended normal"],
    }),
  },
]
